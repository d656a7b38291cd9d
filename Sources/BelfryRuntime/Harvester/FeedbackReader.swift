import APNsProtocol
import Foundation
import KafkaClient
import Logging
import NIOCore
import NIOPosix
import PushSchemas
import TLSTransport

/// Reads one topic's feedback list, once, into push.feedback.
///
/// The list is cleared by reading ([13]), so what was read must be safe before more is: the next bytes are taken from the
/// socket only when the broker has acknowledged every tuple of the last. (When the service has closed, the last of it comes
/// at once, at most what the socket's buffer holds.) Runs on `eventLoop`; used once.
final class FeedbackReader {
    /// Where the list is, and whose.
    struct Source: Sendable {
        var environment: String
        var bundleID: String
        var address: HostPort
        var tls: TLSContext
        var connectTimeout: TimeAmount
    }

    /// What one reading brought.
    struct Reading: Equatable, Sendable {
        var tuples = 0
        /// The stream ended inside a tuple: so many bytes of it are lost with the connection.
        var cutBytes = 0
    }

    /// Most bytes taken from the socket before what they hold is acknowledged, and the size asked for the socket's buffer (of
    /// which the kernel makes twice that): what lies there is gone from the list, and lost with this process.
    static let readLimitBytes = 64 << 10
    /// How long the service may say nothing while it is listened to: a reading that hangs would keep its topic's lease, and
    /// with it every other harvester, for ever.
    private static let silenceLimit = TimeAmount.seconds(60)

    private let source: Source
    private let eventLoop: any EventLoop
    private let publish: (FeedbackTuple, _ acknowledged: @escaping () -> Void) -> Void
    private let promise: EventLoopPromise<Reading>
    private var decoder = FeedbackDecoder()
    private var reading = Reading()
    private var unacknowledged = 0
    private var channel: (any Channel)?
    private var ending: Result<Void, any Error>?
    private var silence: Scheduled<Void>?

    /// - Parameter publish: publishes a tuple, however often it takes, and calls back on the event loop when the broker has
    ///   acknowledged it.
    init(
        source: Source,
        eventLoop: any EventLoop,
        publish: @escaping (FeedbackTuple, _ acknowledged: @escaping () -> Void) -> Void
    ) {
        self.source = source
        self.eventLoop = eventLoop
        self.publish = publish
        promise = eventLoop.makePromise()
    }

    /// Connects, reads to the end, and succeeds when everything that was read is acknowledged; fails when the service
    /// cannot be reached or refuses the certificate.
    func read() -> EventLoopFuture<Reading> {
        let reader = NIOLoopBound(self, eventLoop: eventLoop)
        let tls = source.tls
        let host = source.address.host
        ClientBootstrap(group: eventLoop)
            .connectTimeout(source.connectTimeout)
            .channelOption(.autoRead, value: true)
            .channelOption(.socketOption(.so_rcvbuf), value: SocketOptionValue(Self.readLimitBytes))
            .channelOption(.maxMessagesPerRead, value: 1)
            .channelOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: Self.readLimitBytes))
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandlers([
                        TLSHandler(context: tls, serverName: host), FeedbackChannelHandler(reader: reader.value),
                    ])
                }
            }
            .connect(host: host, port: source.address.port)
            .assumeIsolated()
            .whenComplete { result in
                switch result {
                case .success(let channel): reader.value.connected(channel)
                case .failure(let error): reader.value.ended(error)
                }
            }
        return promise.futureResult
    }

    private func connected(_ channel: any Channel) {
        // Open already if the handshake was quicker.
        guard self.channel == nil else { return }
        self.channel = channel
        limitSilence(to: source.connectTimeout)
    }

    /// The handshake is over: from now on every read is asked for.
    func opened(_ channel: any Channel) {
        self.channel = channel
        channel.setOption(.autoRead, value: false).assumeIsolated().whenSuccess { [self] in
            // Not before it is known whether tuples came in one segment with the handshake's end.
            eventLoop.assumeIsolated().execute { [self] in
                if unacknowledged == 0, ending == nil { listen() }
            }
        }
    }

    private func listen() {
        channel?.read()
        limitSilence(to: Self.silenceLimit)
    }

    private func limitSilence(to limit: TimeAmount) {
        silence?.cancel()
        guard ending == nil else { return }
        silence = eventLoop.assumeIsolated().scheduleTask(in: limit) { [weak self] in
            guard let self else { return }
            let channel = channel
            ended(FeedbackSilence(limit: limit))
            channel?.close(mode: .all, promise: nil)
        }
    }

    func received(_ bytes: ByteBuffer) {
        silence?.cancel()
        var tuples: [FeedbackTuple] = []
        bytes.withUnsafeReadableBytes { decoder.decode($0) { tuples.append($0) } }
        reading.tuples += tuples.count
        unacknowledged += tuples.count
        for tuple in tuples {
            publish(tuple) { [weak self] in self?.acknowledged() }
        }
        if tuples.isEmpty { listen() }
    }

    func ended(_ error: (any Error)?) {
        guard ending == nil else { return }
        silence?.cancel()
        reading.cutBytes = decoder.endOfStream()
        ending = error.map { .failure($0) } ?? .success(())
        finishIfAcknowledged()
    }

    private func acknowledged() {
        unacknowledged -= 1
        guard unacknowledged == 0 else { return }
        listen()
        finishIfAcknowledged()
    }

    private func finishIfAcknowledged() {
        guard let ending, unacknowledged == 0 else { return }
        switch ending {
        // What was read before the connection broke is safe; the rest of the list is the next reading's, or lost with it.
        case .failure(let error) where reading.tuples == 0: promise.fail(error)
        case .success, .failure: promise.succeed(reading)
        }
    }
}

/// The service took the connection but neither wrote nor closed it.
struct FeedbackSilence: Error, CustomStringConvertible {
    let limit: TimeAmount

    var description: String { "the feedback service said nothing for \(limit.nanoseconds / 1_000_000_000) s" }
}

/// The end of a feedback connection's pipeline.
final class FeedbackChannelHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let reader: FeedbackReader
    private var error: (any Error)?

    init(reader: FeedbackReader) {
        self.reader = reader
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is TLSHandshakeCompleted { reader.opened(context.channel) }
        if event as? ChannelEvent == .inputClosed { context.close(promise: nil) }
        context.fireUserInboundEventTriggered(event)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        reader.received(unwrapInboundIn(data))
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if self.error == nil { self.error = error }
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        reader.ended(error)
        context.fireChannelInactive()
    }
}
