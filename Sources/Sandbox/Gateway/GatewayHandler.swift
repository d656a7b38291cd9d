import APNsProtocol
import Logging
import NIOCore

/// The shell around a ``GatewaySession``: hands it what is read and does what it says. What is read comes through a
/// ``ReadingGate``, which this handler puts in front of itself.
///
/// Belongs to the channel's event loop, as its mint does.
final class GatewayHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let service: PushService
    private let topic: PushService.Topic
    private let mint: TokenMint
    private let logger: Logger
    private let gate: ReadingGate
    private var session: GatewaySession

    init(service: PushService, topic: PushService.Topic, logger: Logger) {
        self.service = service
        self.topic = topic
        self.logger = logger
        mint = service.mint(for: topic)
        gate = ReadingGate(topic: topic)
        session = GatewaySession(limits: service.gatewayLimits)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        do {
            try context.pipeline.syncOperations.addHandler(gate, position: .before(self))
        } catch {
            // The channel was closed by a handler in front of this one.
            context.close(promise: nil)
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var buffer = unwrapInboundIn(data)
        let now = service.now
        let action = buffer.withUnsafeReadableBytes { bytes in
            topic.withLedger { session.receive(bytes, mint: mint, ledger: &$0, now: now) }
        }
        switch action {
        case .read:
            break
        case .finish(let answer, 0):
            finish(context, answer)
        case .finish(let answer, let delayMilliseconds):
            _ = context.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(delayMilliseconds)) {
                self.finish(context, answer)
            }
        case .reset:
            context.triggerUserOutboundEvent(ConnectionReset(), promise: nil)
        case .stall(let takenBytes, let stall):
            buffer.moveReaderIndex(forwardBy: takenBytes)
            gate.begin(stall, rest: buffer)
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        // A provider that has nothing more to send may still wait for an answer that is held back.
        if event as? ChannelEvent == .inputClosed, !session.isFinished || session.isSilent {
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
