import APNsProtocol
import Logging
import NIOCore
import NIOPosix
import PipelineCore
import TLSTransport

/// What a lane tells its shard; called on the shard's thread, after the lane's own state has changed.
protocol GatewayLaneDelegate: AnyObject {
    /// An event settled something; the entries are readable in the lane's log during the call.
    func lane(_ lane: GatewayLane, settled verdict: LaneVerdict)
    /// Asks for one new connection out of the process's budget; nil if granted, else when to ask again.
    func laneMayConnect(now: MonotonicTime) -> MonotonicTime?
    func laneConnected(_ lane: GatewayLane)
    /// A connection came to its end, or none came about.
    func laneDisconnected(_ lane: GatewayLane, reason: DisconnectReason)
    /// The gateway answered with an error response. Returns whether its word on tokens is trusted.
    func lane(_ lane: GatewayLane, answered response: ErrorResponse) -> Bool
}

/// Carries out what a ``LaneStateMachine`` decides: connects, writes, reads. Decides nothing itself.
///
/// Lives on its shard's event loop.
final class GatewayLane {
    /// Where and as whom the lane connects.
    struct Endpoint {
        var gateways: [HostPort]
        var tls: TLSContext
        var connectTimeout: TimeAmount
    }

    let sender: Int32
    let number: Int
    var machine: LaneStateMachine

    private let eventLoop: any EventLoop
    private let endpoint: Endpoint
    private let logger: Logger
    private unowned let delegate: any GatewayLaneDelegate
    private var channel: (any Channel)?
    /// Counts attempts, so that what an abandoned connection still reports is told apart, and gateways take turns.
    private var attempt: Int
    private var isPumping = false
    /// The connection is on its way out: it may still bring an answer, but takes nothing more.
    private var isEnding = false

    /// TLS records written before the channel is asked again whether it takes more: 256 KiB.
    private static let runsPerFlush = 16

    init(
        sender: Int32,
        number: Int,
        limits: LaneLimits,
        endpoint: Endpoint,
        eventLoop: any EventLoop,
        logger: Logger,
        delegate: any GatewayLaneDelegate
    ) {
        self.sender = sender
        self.number = number
        self.endpoint = endpoint
        self.eventLoop = eventLoop
        self.delegate = delegate
        var logger = logger
        logger[metadataKey: "lane"] = .stringConvertible(number)
        self.logger = logger
        machine = LaneStateMachine(limits: limits)
        attempt = number
    }

    private var now: MonotonicTime { MonotonicTime(nanoseconds: NIODeadline.now().uptimeNanoseconds) }

    // MARK: Driven by the shard

    /// Sends what may be sent, or connects if that is what it takes.
    func pump(now: MonotonicTime) {
        if let channel {
            write(to: channel)
        } else if machine.wantsConnection(now: now) {
            if let later = delegate.laneMayConnect(now: now) {
                machine.postpone(until: later)
            } else {
                connect()
            }
        }
    }

    /// Lets time pass: silence settles, waits end.
    func tick(now: MonotonicTime) {
        if let due = machine.presumesAt, due <= now {
            report(machine.presume(now: now))
        }
        if machine.waitingCount > 0 { pump(now: now) }
    }

    /// Closes the connection in order; what is in flight keeps its unknown fate.
    func close() {
        let open = channel
        channel = nil
        if machine.phase == .open || machine.phase == .connecting {
            attempt += 1
            delegate.laneDisconnected(self, reason: .closedHere)
            report(machine.ended(.closedHere, now: now, random: .random(in: .min ... .max)))
        }
        open?.close(mode: .all, promise: nil)
    }

    // MARK: Connecting

    private func connect() {
        attempt += 1
        let current = attempt
        let gateway = endpoint.gateways[current % endpoint.gateways.count]
        let tls = endpoint.tls
        machine.connecting()
        let lane = NIOLoopBound(self, eventLoop: eventLoop)
        ClientBootstrap(group: eventLoop)
            .connectTimeout(endpoint.connectTimeout)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelOption(.socketOption(.so_keepalive), value: 1)
            .channelOption(.allowRemoteHalfClosure, value: true)
            .channelOption(.writeBufferWaterMark, value: .init(low: 256 * 1024, high: 1024 * 1024))
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandlers([
                        TLSHandler(context: tls, serverName: gateway.host),
                        GatewayChannelHandler(lane: lane.value, attempt: current),
                    ])
                }
            }
            .connect(host: gateway.host, port: gateway.port)
            .assumeIsolated()
            .whenComplete { result in
                switch result {
                case .success(let channel): lane.value.limitHandshake(of: channel, attempt: current)
                case .failure(let error): lane.value.connectionEnded(attempt: current, error: error)
                }
            }
    }

    /// A peer that takes the connection but never finishes the handshake is a failure as well.
    private func limitHandshake(of channel: any Channel, attempt: Int) {
        guard attempt == self.attempt, machine.phase == .connecting else { return }
        eventLoop.assumeIsolated().scheduleTask(in: endpoint.connectTimeout) { [self] in
            if attempt == self.attempt, machine.phase == .connecting { channel.close(mode: .all, promise: nil) }
        }
    }

    // MARK: Reported by the channel

    func connectionOpened(attempt: Int, channel: any Channel) {
        guard attempt == self.attempt, machine.phase == .connecting else {
            return channel.close(mode: .all, promise: nil)
        }
        self.channel = channel
        isEnding = false
        machine.opened()
        delegate.laneConnected(self)
        write(to: channel)
    }

    /// The connection has failed or was closed by the peer: nothing more is written, for it would not arrive; what it still
    /// brings counts.
    func connectionEnding(attempt: Int) {
        if attempt == self.attempt { isEnding = true }
    }

    func connectionAnswered(attempt: Int, response: ErrorResponse) {
        guard attempt == self.attempt, channel != nil else { return }
        let answered = channel
        channel = nil
        self.attempt += 1
        let isTrusted = delegate.lane(self, answered: response)
        delegate.laneDisconnected(self, reason: response.status == .shutdown ? .shutdown : .errorResponse)
        report(
            machine.answered(
                response,
                now: now,
                random: .random(in: .min ... .max),
                trustsTokenVerdicts: isTrusted
            )
        )
        // The gateway closes after an answer; what it would still read of ours is discarded by it.
        answered?.close(mode: .all, promise: nil)
        pump(now: now)
    }

    func connectionEnded(attempt: Int, error: (any Error)?) {
        guard attempt == self.attempt else { return }
        let wasOpen = channel != nil
        channel = nil
        self.attempt += 1
        let refused = (error as? TLSError)?.isCertificateRefused ?? false
        let reason: DisconnectReason =
            refused ? .certificateRefused : !wasOpen ? .connectFailed : error == nil ? .endOfStream : .failure
        delegate.laneDisconnected(self, reason: reason)
        logger.warning(
            "connection to the gateway ended",
            metadata: [
                "gateway": .stringConvertible(endpoint.gateways[attempt % endpoint.gateways.count]),
                "error": .string(error.map { "\($0)" } ?? "end of stream"),
                "certificate-refused": .stringConvertible(refused),
                "unsettled": .stringConvertible(machine.inFlightCount),
            ]
        )
        report(
            machine.ended(refused ? .certificateRefused : .failed, now: now, random: .random(in: .min ... .max))
        )
        pump(now: now)
    }

    func connectionWritable(attempt: Int) {
        guard attempt == self.attempt, let channel else { return }
        write(to: channel)
    }

    // MARK: Writing

    /// Hands whole TLS records to the channel while it takes them.
    private func write(to channel: any Channel) {
        // A flush can complete, and a write can fail, before the call returns: one pump at a time.
        guard !isPumping, !isEnding else { return }
        isPumping = true
        defer { isPumping = false }
        while self.channel === channel, !isEnding, channel.isWritable, writeGroup(to: channel) {}
    }

    /// Writes and flushes a limited number of records, so that the channel can say in between that it is full; their window
    /// of silence begins when they have left. False if there was nothing to write.
    private func writeGroup(to channel: any Channel) -> Bool {
        // One run behind, so that the promise hangs on the last one.
        var last: ByteBuffer?
        var runs = 0
        while runs < Self.runsPerFlush, let run = machine.nextRun() {
            if let last { channel.write(last, promise: nil) }
            var buffer = channel.allocator.buffer(capacity: run.count)
            buffer.writeBytes(run)
            last = buffer
            runs += 1
        }
        guard let last else { return false }
        let end = machine.sentEnd
        let current = attempt
        let promise = eventLoop.makePromise(of: Void.self)
        promise.futureResult.assumeIsolated().whenSuccess { [self] in
            if current == attempt { machine.flushed(upTo: end, now: now) }
        }
        channel.writeAndFlush(last, promise: promise)
        return true
    }

    private func report(_ verdict: LaneVerdict) {
        delegate.lane(self, settled: verdict)
        machine.evictSettled()
    }
}
