import APNsProtocol
import NIOCore
import TLSTransport

/// One connection of a gateway: takes notifications in the gateway's manner and enters them into its ledger.
///
/// Belongs to the channel's event loop.
final class GatewayConnection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let gateway: Gateway
    private let manner: GatewayManner
    private var decoder = GatewayFrameDecoder(limits: GatewayLimits())
    private var isFinished = false
    private var deadline: Scheduled<Void>?
    private var pacing: Scheduled<Void>?
    /// Bytes read that a slow gateway has to work off before it reads on.
    private var unpaidBytes = 0

    /// Longest time that the peer takes to close after it was answered.
    private static let linger = TimeAmount.seconds(2)

    init(gateway: Gateway, manner: GatewayManner) {
        self.gateway = gateway
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
        }
        if event as? ChannelEvent == .inputClosed { context.close(promise: nil) }
        context.fireUserInboundEventTriggered(event)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isFinished, manner != .readsNothing else { return }
        let buffer = unwrapInboundIn(data)
        unpaidBytes += buffer.readableBytes
        let now = SharedLedger.now
        var isPoisoned = false
        let outcome = buffer.withUnsafeReadableBytes { bytes in
            gateway.ledger.with { ledger in
                decoder.decode(bytes) { notification in
                    guard let (device, kind) = DeviceToken.read(notification.token),
                        let number = NumberedPayload.read(notification.payload)
                    else { return .processingError }
                    switch kind {
                    case .good:
                        ledger.accept(record: number, device: device, now: now)
                        return nil
                    case .poison:
                        isPoisoned = true
                        return .unknown
                    case .invalid, .malformed:
                        return .invalidToken
                    }
                }
            }
        }
        guard case .failed(let answer, _) = outcome else { return }
        if isPoisoned {
            gateway.count { $0.poisoned += 1 }
            finish(context, nil)
        } else {
            if answer.status == .invalidToken { gateway.count { $0.refused += 1 } }
            finish(context, answer)
        }
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

    /// Says the last word; reading goes on until the peer closes, so that no reset overtakes it.
    private func finish(_ context: ChannelHandlerContext, _ answer: ErrorResponse?) {
        isFinished = true
        if let answer { context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: answer.encoded)), promise: nil) }
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
