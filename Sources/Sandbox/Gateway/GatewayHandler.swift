import APNsProtocol
import Logging
import NIOCore

/// The shell around a ``GatewaySession``: hands it what is read and does what it says.
///
/// Belongs to the channel's event loop, as its mint does.
final class GatewayHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let service: PushService
    private let topic: PushService.Topic
    private let mint: TokenMint
    private let logger: Logger
    private var session: GatewaySession

    init(service: PushService, topic: PushService.Topic, logger: Logger) {
        self.service = service
        self.topic = topic
        self.logger = logger
        mint = service.mint(for: topic)
        session = GatewaySession(limits: service.gatewayLimits)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let buffer = unwrapInboundIn(data)
        let now = service.now
        let action = buffer.withUnsafeReadableBytes { bytes in
            topic.withLedger { session.receive(bytes, mint: mint, ledger: &$0, now: now) }
        }
        guard case .finish(let answer, let delayMilliseconds) = action else { return }
        guard delayMilliseconds > 0 else {
            finish(context, answer)
            return
        }
        _ = context.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(delayMilliseconds)) {
            self.finish(context, answer)
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        // A provider that has nothing more to send may still wait for an answer that is held back.
        if event as? ChannelEvent == .inputClosed, !session.isFinished {
            context.close(mode: .output, promise: nil)
        }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        logger.debug("gateway connection failed", metadata: ["topic": "\(topic.name)", "error": "\(error)"])
        context.close(promise: nil)
    }

    private func finish(_ context: ChannelHandlerContext, _ answer: ErrorResponse?) {
        if let answer {
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: answer.encoded)), promise: nil)
        }
        context.close(mode: .output, promise: nil)
    }
}
