import NIOCore
import NIOHTTP1

/// Keeps a connection of a port with a page within ``PortLimits``: the handler before its ``PageHandler``.
///
/// A whole head, the end of a request and every part of an answer count as words; bytes that are no whole head do not.
final class PortGuard: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private let connections: PortConnections
    private let idleTimeout: TimeAmount
    /// Nil before the channel is active, and after its end.
    private var id: PortConnections.ID?
    private var quietSince = NIODeadline.uptimeNanoseconds(0)
    private var timer: Scheduled<Void>?

    init(_ connections: PortConnections, idleTimeout: TimeAmount = PortLimits.idleTimeout) {
        self.connections = connections
        self.idleTimeout = idleTimeout
    }

    func handlerAdded(context: ChannelHandlerContext) {
        if context.channel.isActive { begin(context) }
    }

    func handlerRemoved(context: ChannelHandlerContext) { end() }

    func channelActive(context: ChannelHandlerContext) {
        begin(context)
        context.fireChannelActive()
    }

    func channelInactive(context: ChannelHandlerContext) {
        end()
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head, .end: spoke(context)
        case .body: break
        }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        spoke(context)
        context.write(data, promise: promise)
    }

    /// From now on the connection may be quiet for as long as it likes: it follows events, of which there may be none.
    /// One that does not read them is ended by its ``EventSubscriber``.
    func allowQuiet() {
        timer?.cancel()
        timer = nil
    }

    private func begin(_ context: ChannelHandlerContext) {
        guard id == nil else { return }
        quietSince = context.eventLoop.now
        id = connections.add(now: quietSince) { context.close(promise: nil) }
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
            if quietSince + idleTimeout <= context.eventLoop.now {
                context.close(promise: nil)
            } else {
                watch(context)
            }
        }
    }
}

@available(*, unavailable)
extension PortGuard: Sendable {}
