import NIOCore

/// Keeps a connection of the operations endpoint within ``OperationsLimits``: the first handler of its channel.
///
/// Closes the connection when it is quiet for too long, when the head of a request is too long, and when others need
/// its place.
final class ConnectionGuard: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = IOData
    typealias OutboundOut = IOData

    private let connections: OperationsConnections
    private let idleTimeout: TimeAmount
    private var meter: RequestHeadMeter
    /// Nil before the channel is active, and after its end.
    private var id: ConnectionTable.ID?
    private var quietSince = NIODeadline.uptimeNanoseconds(0)
    private var timer: Scheduled<Void>?
    /// Something was answered: another answer might stand in the middle of that one.
    private var hasAnswered = false
    private var isRefused = false

    private static let refusal =
        "HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"

    init(
        _ connections: OperationsConnections,
        idleTimeout: TimeAmount = OperationsLimits.idleTimeout,
        headBytes: Int = OperationsLimits.headBytes
    ) {
        self.connections = connections
        self.idleTimeout = idleTimeout
        meter = RequestHeadMeter(limitBytes: headBytes)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        if context.channel.isActive { begin(context) }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        end()
    }

    func channelActive(context: ChannelHandlerContext) {
        begin(context)
        context.fireChannelActive()
    }

    func channelInactive(context: ChannelHandlerContext) {
        end()
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isRefused else { return }
        let reading = meter.readPiece(unwrapInboundIn(data).readableBytesView)
        if reading.heads > 0 { spoke(context) }
        guard !reading.isTooLong else { return refuse(context) }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        hasAnswered = true
        spoke(context)
        context.write(data, promise: promise)
    }

    private func begin(_ context: ChannelHandlerContext) {
        guard id == nil else { return }
        quietSince = context.eventLoop.now
        id = connections.add(context.channel, now: quietSince)
        watch(context)
    }

    private func end() {
        timer?.cancel()
        timer = nil
        if let id { connections.remove(id) }
        id = nil
    }

    private func spoke(_ context: ChannelHandlerContext) {
        guard let id else { return }
        quietSince = context.eventLoop.now
        connections.spoke(id, now: quietSince)
    }

    /// Looks again when the connection will have been quiet for too long, should it stay so.
    private func watch(_ context: ChannelHandlerContext) {
        timer = context.eventLoop.assumeIsolated().scheduleTask(deadline: quietSince + idleTimeout) { [weak self] in
            guard let self else { return }
            if self.quietSince + self.idleTimeout <= context.eventLoop.now {
                context.close(promise: nil)
            } else {
                self.watch(context)
            }
        }
    }

    private func refuse(_ context: ChannelHandlerContext) {
        isRefused = true
        if !hasAnswered {
            context.writeAndFlush(wrapOutboundOut(.byteBuffer(ByteBuffer(string: Self.refusal))), promise: nil)
        }
        context.close(promise: nil)
    }
}

@available(*, unavailable)
extension ConnectionGuard: Sendable {}
