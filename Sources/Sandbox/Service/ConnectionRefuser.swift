import Logging
import NIOCore

/// Serves a connection that is refused before TLS: with a reset, or with an alert for the first message.
///
/// Belongs to the channel's event loop.
final class ConnectionRefuser: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The manner in which the connection is refused.
    enum Manner: String {
        case reset
        case alert
    }

    /// A record of TLS 1.2, as every version understands: alert, fatal, handshake_failure (RFC 8446 §5.1, §6.2).
    static let handshakeFailure: [UInt8] = [21, 3, 3, 0, 2, 2, 40]

    private let service: PushService
    private let manner: Manner
    private let logger: Logger
    private var isDone = false
    private var deadline: Scheduled<Void>?

    init(_ manner: Manner, service: PushService, logger: Logger) {
        self.manner = manner
        self.service = service
        self.logger = logger
    }

    func handlerAdded(context: ChannelHandlerContext) {
        service.countConnections {
            $0.open += 1
            $0.total += 1
            $0.refused += 1
        }
        let service = service
        context.channel.closeFuture.whenComplete { _ in service.countConnections { $0.open -= 1 } }
        logger.info("connection refused", metadata: ["reason": "a fault: \(manner)"])
        if context.channel.isActive { begin(context) }
    }

    func channelActive(context: ChannelHandlerContext) {
        begin(context)
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard manner == .alert, !isDone else { return }
        isDone = true
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: Self.handshakeFailure)), promise: nil)
        context.close(mode: .output, promise: nil)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event as? ChannelEvent == .inputClosed { context.close(promise: nil) }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        deadline?.cancel()
    }

    private func begin(_ context: ChannelHandlerContext) {
        switch manner {
        case .reset:
            context.triggerUserOutboundEvent(ConnectionReset(), promise: nil)
        case .alert:
            deadline = context.eventLoop.assumeIsolated().scheduleTask(in: SandboxLimits.handshake) {
                context.close(promise: nil)
            }
        }
    }
}
