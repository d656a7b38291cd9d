import BelfrySupport
import NIOCore
import NIOPosix
import PipelineCore
import TLSTransport

/// One connection to the feedback service, read only when it is asked to.
///
/// From the end of the handshake on the socket is read once per ``listen()``. Two things come without being asked for:
/// what came in one segment with the end of the handshake, and, when the peer has ended the stream, what the socket's
/// buffer still holds. Runs on `eventLoop`; used once.
final class FeedbackConnection {
    /// Address, bundle and environment of a list.
    struct Source: Sendable {
        var environment: String
        var bundleID: String
        var address: HostPort
        /// Leads to the address; nil: connections go there by themselves.
        var proxy: ProxySettings?
        /// Asked for each connection: certificates are exchanged while the role runs.
        var tls: @Sendable () -> TLSContext
    }

    /// Events of the connection, in this order. None of them comes from inside ``connect(timeout:)`` or ``listen()``.
    struct Events {
        /// The handshake is over.
        var opened: () -> Void
        /// Never empty.
        var received: (ByteBuffer) -> Void
        /// Once. No error: the service has said that it has told everything.
        var ended: ((any Error)?) -> Void
    }

    private let source: Source
    private let eventLoop: any EventLoop
    private let events: Events
    private var channel: (any Channel)?
    private var isClosed = false
    private var hasEnded = false

    init(source: Source, eventLoop: any EventLoop, events: Events) {
        self.source = source
        self.eventLoop = eventLoop
        self.events = events
    }

    /// - Parameter timeout: of the connecting alone; the caller that waits for the handshake closes.
    func connect(timeout: TimeAmount) {
        let tls = source.tls()
        let bootstrap = ClientBootstrap(group: eventLoop)
            .channelOption(.autoRead, value: true)
            .channelOption(.socketOption(.so_rcvbuf), value: SocketOptionValue(HarvestLimits.socketBufferBytes))
            .channelOption(.maxMessagesPerRead, value: 1)
            .channelOption(
                .recvAllocator,
                value: FixedSizeRecvByteBufferAllocator(capacity: HarvestLimits.socketReadBytes)
            )
        let addresses = ServiceAddresses([source.address], through: source.proxy, eventLoop: eventLoop)
        addresses.connect(bootstrap, turn: 0, timeout: timeout) { [self] result in
            switch result {
            case .success(let connected): self.connected(connected, tls)
            case .failure(let error): ended(error)
            }
        }
    }

    /// Reads the socket once.
    func listen() {
        channel?.read()
    }

    /// Ends it at once: nothing more is read, no word is said.
    func close() {
        isClosed = true
        guard let channel else { return }
        // In front of the TLS handler, which would read on for a while to end politely.
        guard let tls = try? channel.pipeline.syncOperations.context(handlerType: TLSHandler.self) else {
            return channel.close(promise: nil)
        }
        tls.close(promise: nil)
    }

    // MARK: From the channel

    private func connected(_ connected: ServiceAddresses.Connected, _ tls: TLSContext) {
        guard !isClosed else {
            connected.channel.close(promise: nil)
            return ended(nil)
        }
        channel = connected.channel
        do {
            try connected.beginTLS(tls, FeedbackChannelHandler(connection: self))
        } catch {
            ended(error)
        }
    }

    fileprivate func handshakeCompleted(_ channel: any Channel) {
        self.channel = channel
        guard !isClosed else { return close() }
        channel.setOption(.autoRead, value: false).assumeIsolated().whenSuccess { [self] in
            // Not before it is known what came in one segment with the handshake's end.
            eventLoop.assumeIsolated().execute { [self] in
                if !hasEnded { events.opened() }
            }
        }
    }

    fileprivate func received(_ bytes: ByteBuffer) {
        if !hasEnded, bytes.readableBytes > 0 { events.received(bytes) }
    }

    fileprivate func ended(_ error: (any Error)?) {
        guard !hasEnded else { return }
        hasEnded = true
        channel = nil
        events.ended(error)
    }
}

/// The end of a feedback connection's pipeline.
private final class FeedbackChannelHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let connection: FeedbackConnection
    private var error: (any Error)?

    init(connection: FeedbackConnection) {
        self.connection = connection
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is TLSHandshakeCompleted { connection.handshakeCompleted(context.channel) }
        if event as? ChannelEvent == .inputClosed { context.close(promise: nil) }
        context.fireUserInboundEventTriggered(event)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        connection.received(unwrapInboundIn(data))
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if self.error == nil { self.error = error }
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        connection.ended(error)
        context.fireChannelInactive()
    }
}
