import HTTP2Transport
import Logging
import NIOCore
import TLSTransport

/// The shell around an ``APISession``: waits for the handshake, hands the session what is read, and writes what it
/// says, once for all that the socket had.
///
/// A client that does not read is written no more; what is said to it then counts in the session.
///
/// Belongs to the channel's event loop.
final class APIHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let service: PushService
    private let keys: ProviderKeyRing
    private let logger: Logger
    private var session: APISession?
    private var output = ByteBuffer()
    private var isRefused = false
    private var isClosing = false
    private var isWriting = false
    private var deadline: Scheduled<Void>?

    init(service: PushService, keys: ProviderKeyRing, logger: Logger) {
        self.service = service
        self.keys = keys
        self.logger = logger
    }

    func handlerAdded(context: ChannelHandlerContext) {
        service.countConnections {
            $0.open += 1
            $0.total += 1
        }
        let service = service
        context.channel.closeFuture.whenComplete { _ in service.countConnections { $0.open -= 1 } }
        deadline = context.eventLoop.assumeIsolated().scheduleTask(in: SandboxLimits.handshake) {
            self.refuse(context, reason: "the handshake took too long")
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        deadline?.cancel()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if let handshake = event as? TLSHandshakeCompleted {
            begin(context, handshake)
        } else if event as? ChannelEvent == .inputClosed {
            // Everything is answered.
            close(context)
        }
        context.fireUserInboundEventTriggered(event)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isClosing else { return }
        session?.receive(unwrapInboundIn(data), now: time(context))
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        write(context)
        context.fireChannelReadComplete()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        write(context)
        context.fireChannelWritabilityChanged()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if session == nil {
            refuse(context, reason: "\(error)")
        } else {
            logger.debug("provider API connection failed", metadata: ["error": "\(error)"])
            context.close(promise: nil)
        }
    }

    private func time(_ context: ChannelHandlerContext) -> APISession.Time {
        APISession.Time(clock: context.eventLoop.now, unixSeconds: service.now)
    }

    private func begin(_ context: ChannelHandlerContext, _ handshake: TLSHandshakeCompleted) {
        deadline?.cancel()
        let session = APISession(
            service: service,
            certificate: handshake.peer,
            keys: keys.keys(),
            isHTTP2: handshake.applicationProtocol == "h2",
            seed: .random(in: 0 ... .max)
        )
        guard admit(context, to: session.certificateTopic) else {
            refuse(context, reason: "a fault: the topic has enough connections")
            return
        }
        self.session = session
        write(context)
    }

    private func admit(_ context: ChannelHandlerContext, to topic: PushService.Topic?) -> Bool {
        guard let topic else { return true }
        guard topic.withLedger({ $0.faults.admitConnection() }) else { return false }
        context.channel.closeFuture.whenComplete { _ in topic.withLedger { $0.faults.releaseConnection() } }
        return true
    }

    private func write(_ context: ChannelHandlerContext) {
        // Writing can change the writability, which calls this again.
        guard let session, !isWriting, !isClosing else { return }
        isWriting = true
        defer { isWriting = false }
        while context.channel.isWritable {
            session.takeOutput(into: &output)
            guard output.readableBytes > 0 else { break }
            context.writeAndFlush(wrapOutboundOut(output), promise: nil)
            // Keeps its memory, unless the socket still holds it.
            output.clear()
        }
        if session.isFinished { finish(context, session) }
    }

    private func finish(_ context: ChannelHandlerContext, _ session: APISession) {
        if let failure = session.failure {
            service.countConnections { $0.refused += isRefused ? 0 : 1 }
            isRefused = true
            logger.info("connection refused", metadata: ["reason": "\(failure)"])
        }
        close(context)
    }

    private func close(_ context: ChannelHandlerContext) {
        guard !isClosing else { return }
        isClosing = true
        context.close(mode: .output, promise: nil)
    }

    private func refuse(_ context: ChannelHandlerContext, reason: String) {
        guard !isRefused else { return }
        isRefused = true
        isClosing = true
        service.countConnections { $0.refused += 1 }
        logger.info("connection refused", metadata: ["reason": "\(reason)"])
        context.close(promise: nil)
    }
}
