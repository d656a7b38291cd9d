import NIOCore
import TLSTransport

/// One connection of a gateway: reads in the gateway's manner, and writes what its session answers.
///
/// Belongs to the channel's event loop.
final class GatewayConnection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let gateway: Gateway
    private let manner: GatewayManner
    private let session: any GatewaySession
    private var output = ByteBuffer()
    private var isFinished = false
    private var deadline: Scheduled<Void>?
    private var pacing: Scheduled<Void>?
    /// Bytes read that a slow gateway has to work off before it reads on.
    private var unpaidBytes = 0

    /// Longest time that the peer takes to close after it was answered.
    private static let linger = TimeAmount.seconds(2)

    init(gateway: Gateway, session: any GatewaySession, manner: GatewayManner) {
        self.gateway = gateway
        self.session = session
        self.manner = manner
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is TLSHandshakeCompleted {
            switch manner {
            case .readsNothing, .slow:
                try? context.channel.syncOptions?.setOption(.autoRead, value: false)
                readLater(context)
            case .works, .closed, .refusesCertificates: break
            }
            session.begin(output: &output)
            flush(context)
        }
        if event as? ChannelEvent == .inputClosed { context.close(promise: nil) }
        context.fireUserInboundEventTriggered(event)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isFinished, manner != .readsNothing else { return }
        let buffer = unwrapInboundIn(data)
        unpaidBytes += buffer.readableBytes
        let turn = session.receive(buffer, now: SharedLedger.now, output: &output)
        if turn.refused > 0 || turn.poisoned > 0 {
            gateway.count {
                $0.refused += turn.refused
                $0.poisoned += turn.poisoned
            }
        }
        flush(context)
        if turn.isOver { finish(context) }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        readLater(context)
        context.fireChannelReadComplete()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        deadline?.cancel()
        pacing?.cancel()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        deadline?.cancel()
        pacing?.cancel()
    }

    private func flush(_ context: ChannelHandlerContext) {
        guard output.readableBytes > 0 else { return }
        context.writeAndFlush(wrapOutboundOut(output), promise: nil)
        // Keeps its memory, unless the socket still holds it.
        output.clear()
    }

    /// Ends behind the last word; reading goes on until the peer closes, so that no reset overtakes it.
    private func finish(_ context: ChannelHandlerContext) {
        isFinished = true
        context.close(mode: .output, promise: nil)
        deadline = context.eventLoop.assumeIsolated().scheduleTask(in: Self.linger) { context.close(promise: nil) }
    }

    /// A slow gateway reads its share of what all connections may.
    private func readLater(_ context: ChannelHandlerContext) {
        guard case .slow(let bytesPerSecond) = manner, pacing == nil else { return }
        let share = max(1, bytesPerSecond / max(1, gateway.counts.open))
        let delay = TimeAmount.milliseconds(Int64(max(1, unpaidBytes * 1000 / share)))
        unpaidBytes = 0
        pacing = context.eventLoop.assumeIsolated().scheduleTask(in: delay) {
            self.pacing = nil
            context.read()
        }
    }
}
