import APNsProtocol
import NIOCore
import PipelineCore

@testable import Sender

/// One connection between a lane and a gateway: our buffers, the wire, the peer that reads, and answers on their way
/// back.
///
/// Bytes are acknowledged when the gateway has read them, or, in worlds with a receive buffer, when the peer's kernel
/// has them. A kernel that holds them for longer than the window would make every presumption a guess, and is not part
/// of a punctual world: there what delays reading delays their arrival.
final class SimulatedConnection: GatewayConnection {
    private static let handshakeBytes: UInt64 = 1500
    /// Bytes that TLS adds to a record.
    private static let recordBytes: UInt64 = 22
    /// The time after which TCP gives up on a peer that acknowledges nothing.
    private static let tcpPatience = VirtualTime.seconds(900)

    let worker: SimulatedWorker
    private let gateway: SimulatedGateway
    private let loop: SimulatedEventLoop
    /// Unowned, since the lane holds its connection, and the auditor holds every lane that ever had one.
    private unowned let lane: GatewayLane
    private let attempt: Int
    /// The gateway reads nothing: it did not want our certificate.
    private let isRefused: Bool
    /// Written and not flushed.
    private var buffered: [ByteBuffer] = []
    /// On the wire, or in our kernel while the peer does not read.
    private var onTheWay: [Flight] = []
    private var isMoving = false
    /// Acknowledged by the peer's kernel, and not read.
    private var received: [Flight] = []
    private var isReading = false
    /// Nothing passes in either direction any more, and neither side is told.
    private var isVoid = false
    private var decoder = GatewayFrameDecoder(limits: GatewayLimits())
    private var lastAccepted: UInt32 = 0
    /// The token that the gateway called invalid, or the record whose content it refused.
    private var refusedToken: Int?
    private var refusedRecord: Int?
    private(set) var writtenBytes = handshakeBytes
    private var acknowledgedBytes = handshakeBytes
    /// The worker has closed it, or knows that it has ended.
    private(set) var isAbandoned = false
    /// The gateway takes nothing more.
    private var isOver = false
    private var wasFull = false

    init(
        gateway: SimulatedGateway,
        worker: SimulatedWorker,
        loop: SimulatedEventLoop,
        lane: GatewayLane,
        attempt: Int,
        isRefused: Bool
    ) {
        self.gateway = gateway
        self.worker = worker
        self.loop = loop
        self.lane = lane
        self.attempt = attempt
        self.isRefused = isRefused
    }

    private var world: World { gateway.world }

    /// One TLS record.
    private struct Flight {
        var bytes: ByteBuffer
        /// Position of its end in the stream.
        var end: UInt64
        var writtenAt: VirtualTime
        /// The reason that the worker had no right to write.
        var objection: String?
        /// Levers that the worker had read.
        var controls: AppControls
    }

    // MARK: The worker's side

    var isWritable: Bool { writtenBytes - acknowledgedBytes < UInt64(world.plan.options.buffer) }
    var tellsAcknowledgements: Bool { world.plan.options.tellsAcknowledgements }
    var acknowledged: UInt64? { acknowledgedBytes }

    func write(_ bytes: ByteBuffer) {
        buffered.append(bytes)
    }

    func writeAndFlush(_ bytes: ByteBuffer, whenFlushed: (() -> Void)?) {
        buffered.append(bytes)
        let objection = world.auditor.objection(toWritingBy: worker)
        for bytes in buffered {
            writtenBytes += UInt64(bytes.readableBytes) + Self.recordBytes
            onTheWay.append(
                Flight(
                    bytes: bytes,
                    end: writtenBytes,
                    writtenAt: world.clock.now,
                    objection: objection,
                    controls: worker.controls
                )
            )
        }
        buffered = []
        wasFull = !isWritable
        move()
        guard let whenFlushed else { return }
        loop.deliver(after: 0) { [self] in
            if !isAbandoned { whenFlushed() }
        }
    }

    /// Closes our side. Bytes on their way still arrive.
    func close() {
        guard !isAbandoned else { return }
        isAbandoned = true
        gateway.closed(self)
    }

    // MARK: The wire

    private func move() {
        guard !isMoving, !isVoid, let first = onTheWay.first else { return }
        isMoving = true
        let delay = delaysArrival ? stall + gateway.readingTime(first.bytes.readableBytes) : 0
        world.clock.after(delay + world.dice.time(1...30)) { [weak self] in self?.arrive() }
    }

    /// A gateway that is kept from reading keeps the bytes from arriving.
    private var delaysArrival: Bool { world.plan.options.receiveBuffer == 0 || world.plan.options.isPunctual }
    private var stall: VirtualTime { gateway.stalledUntil > gateway.now ? gateway.stalledUntil - gateway.now : 0 }

    private func arrive() {
        isMoving = false
        guard !isVoid, let next = onTheWay.first else { return }
        guard !delaysArrival || gateway.stalledUntil <= gateway.now else { return move() }
        let limit = world.plan.options.receiveBuffer
        if limit > 0, !received.isEmpty,
            received.reduce(next.bytes.readableBytes, { $0 + $1.bytes.readableBytes }) > limit
        {
            // The window is closed; it opens with the next reading.
            return
        }
        onTheWay.removeFirst()
        acknowledgedBytes = next.end
        if limit > 0 {
            received.append(next)
            readReceived()
        } else if !isRefused {
            read(next)
        }
        if wasFull, isWritable, !isAbandoned {
            wasFull = false
            loop.deliver(after: 0) { [self] in
                if !isAbandoned { lane.connectionWritable(attempt: attempt) }
            }
        }
        move()
    }

    /// The gateway takes what its kernel has, after a while.
    private func readReceived() {
        guard !isReading, !isVoid, let first = received.first else { return }
        isReading = true
        let window = Int(world.plan.options.window / .milliseconds(1))
        let delay = delaysArrival ? 0 : stall + gateway.readingTime(first.bytes.readableBytes)
        world.clock.after(delay + world.dice.time(0...max(1, window / 16))) { [weak self] in
            guard let self else { return }
            isReading = false
            guard !isVoid, !received.isEmpty else { return }
            guard delaysArrival || gateway.stalledUntil <= gateway.now else { return readReceived() }
            // A punctual gateway takes all that there is, or what its kernel acknowledged could lie there for long.
            var left = delaysArrival ? received.count : 1
            while left > 0, !received.isEmpty {
                left -= 1
                let next = received.removeFirst()
                if !isRefused { read(next) }
            }
            move()
            readReceived()
        }
    }

    /// A router in between has forgotten the connection. TCP takes long to find out.
    func loseTouch() {
        guard !isVoid, !isOver else { return }
        // A punctual gateway has read everything that its kernel acknowledged.
        if world.plan.options.isPunctual, !isRefused { for next in received { read(next) } }
        received = []
        // An answer to that arrives, too.
        guard !isOver else { return }
        isVoid = true
        watchSilence()
    }

    private func watchSilence() {
        let acknowledged = acknowledgedBytes
        let isWaiting = writtenBytes > acknowledged
        loop.deliver(after: Self.tcpPatience) { [weak self] in
            guard let self, !isAbandoned else { return }
            if isWaiting { fail(SimulatedFailure(reason: "timed out")) } else { watchSilence() }
        }
    }

    /// The network or a host in between ends the connection: a part of what is on its way is still read.
    func cut() {
        guard !isOver || !isAbandoned, !isVoid else { return }
        if !isRefused { for next in received { read(next) } }
        received = []
        if gateway.stalledUntil <= gateway.now, !isRefused {
            for next in onTheWay.prefix(world.dice.pick(0...onTheWay.count)) { read(next) }
        }
        onTheWay = []
        isOver = true
        gateway.closed(self)
        loop.deliver(after: world.dice.time(0...40)) { [self] in
            fail(world.dice.chance(50) ? SimulatedFailure(reason: "reset") : nil)
        }
    }

    /// The gateway says goodbye and reads nothing more, though its kernel goes on acknowledging. The end of the stream
    /// comes later, when the worker waits for it no longer at the latest.
    func sayGoodbye() {
        guard !isOver, !isVoid else { return }
        isOver = true
        world.note(.refused, gateway.topic, 0, "gateway \(gateway.topic) says goodbye to \(worker.name)")
        loop.deliver(after: world.dice.time(1...40)) { [self] in
            guard !isAbandoned, !isVoid else { return }
            lane.connectionEnding(attempt: attempt, error: nil)
            let error = world.dice.chance(50) ? SimulatedFailure(reason: "reset") : nil
            loop.deliver(after: world.dice.time(0...3000)) { [self] in fail(error) }
        }
    }

    /// The process at our end is gone; what its kernel has leaves it.
    func abandon() {
        isAbandoned = true
        gateway.closed(self)
    }

    /// The lane is told that the connection has ended.
    func fail(_ error: (any Error)?) {
        guard !isAbandoned else { return }
        isAbandoned = true
        isOver = true
        gateway.closed(self)
        let reason = error.map { "\($0)" } ?? "end of stream"
        world.note(.disconnected, worker.number, gateway.topic, "\(worker.name) lost \(gateway.topic): \(reason)")
        world.auditor.failed(lane)
        lane.connectionEnding(attempt: attempt, error: error)
        lane.connectionEnded(attempt: attempt, error: error)
    }

    // MARK: The gateway's side

    private func read(_ flight: Flight) {
        guard !isOver else { return }
        var accepted: [(token: Int, record: Int)] = []
        var last = lastAccepted
        var isPoisoned = false
        let outcome = flight.bytes.withUnsafeReadableBytes { bytes in
            decoder.decode(bytes) { view in
                let token = World.token(view.token)
                if gateway.isPoisoned(World.record(view.payload), token) {
                    isPoisoned = true
                    return .processingError
                }
                if let status = gateway.refusal(ofRecord: World.record(view.payload)) {
                    world.auditor.refusedForGood(record: World.record(view.payload), token: token)
                    refusedRecord = World.record(view.payload)
                    return status
                }
                if let status = gateway.judge(token) {
                    world.auditor.refused(record: World.record(view.payload), token: token)
                    refusedToken = token
                    return status
                }
                world.auditor.checkBadge(in: view.payload, record: World.record(view.payload), token: token)
                accepted.append((token, World.record(view.payload)))
                last = view.identifier
                return nil
            }
        }
        lastAccepted = last
        for (token, record) in accepted {
            if let objection = flight.objection { world.auditor.check(false, 3, objection) }
            world.auditor.checkLevers(flight.controls, record: record, token: token, in: worker.lane)
            world.auditor.accepted(
                record: record,
                token: token,
                from: worker,
                isGivenUp: isAbandoned,
                writtenAt: flight.writtenAt
            )
        }
        if isPoisoned { return hangUp() }
        if let refusal = gateway.nextRefusal, !refusal.names, !decoder.hasFailed {
            gateway.nextRefusal = nil
            return answer(ErrorResponse(status: refusal.status, identifier: 0))
        }
        guard case .failed(let response, _) = outcome else { return }
        isOver = true
        if response.status == .missingDeviceToken, gateway.now < gateway.silencesSentinelsUntil { return }
        answer(response)
    }

    /// The gateway closes without a word.
    private func hangUp() {
        isOver = true
        world.note(.refused, gateway.topic, 0, "gateway \(gateway.topic) hangs up on \(worker.name)")
        loop.deliver(after: world.dice.time(1...40)) { [self] in
            if !isVoid { fail(nil) }
        }
    }

    /// Status 10: the last one that was taken is named.
    func shutDown() {
        guard !isOver, !isVoid else { return }
        answer(ErrorResponse(status: .shutdown, identifier: lastAccepted))
    }

    private func answer(_ response: ErrorResponse) {
        isOver = true
        world.note(
            .refused,
            gateway.topic,
            Int(response.status.rawValue),
            "gateway \(gateway.topic) answers \(response.status) about \(response.identifier) to \(worker.name)"
        )
        let delay = gateway.answerDelay()
        let isLost = world.dice.chance(5)
        loop.deliver(after: delay) { [self] in
            guard !isAbandoned, !isVoid else { return }
            if isLost { return fail(SimulatedFailure(reason: "reset")) }
            isAbandoned = true
            gateway.closed(self)
            world.note(.answered, worker.number, Int(response.identifier), "\(worker.name) reads the answer")
            world.auditor.answered(lane)
            if let refusedToken { world.auditor.refusalRead(token: refusedToken) }
            if let refusedRecord { world.auditor.contentRefusalRead(of: refusedRecord, by: worker) }
            lane.connectionAnswered(attempt: attempt, response: response)
        }
    }
}
