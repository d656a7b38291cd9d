import NIOCore
import NIOHTTP1

/// Keeps a connection of a port within ``PortLimits``: the handler behind the decoder of HTTP/1 requests, which refuses
/// long heads.
///
/// Closes the connection when it is quiet for too long, when a request is too long, and when others need its place. A
/// whole head, the end of a request and every part of an answer count as words; bytes that are no whole head do not.
final class PortGuard: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private let connections: PortConnections
    /// Nil before the channel is active, and after its end.
    private var id: PortConnections.ID?
    private var quietSince = NIODeadline.uptimeNanoseconds(0)
    private var timer: Scheduled<Void>?
    /// Requests that are not answered as a whole.
    private var unanswered = 0
    /// Of the last request.
    private var version = HTTPVersion.http1_1
    /// The client wants no answer after those that are due.
    private var isLast = false
    /// The answer is a stream of events.
    private var isFollowing = false
    /// Of the body that is being read.
    private var bodyBytes = 0

    init(_ connections: PortConnections) { self.connections = connections }

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
        // Its answer would stand in the middle of the stream.
        guard !isFollowing else { return context.close(promise: nil) }
        switch unwrapInboundIn(data) {
        case .head(let head):
            unanswered += 1
            version = head.version
            isLast = isLast || !head.isKeepAlive
            bodyBytes = 0
            spoke(context)
        case .body(let bytes): bodyBytes += bytes.readableBytes
        case .end: spoke(context)
        }
        guard bodyBytes <= connections.limits.bodyBytes else { return context.close(promise: nil) }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        spoke(context)
        switch unwrapOutboundIn(data) {
        case .head(var head):
            head.version = version
            context.write(wrapOutboundOut(.head(head)), promise: promise)
        case .body: context.write(data, promise: promise)
        case .end:
            unanswered -= 1
            context.writeAndFlush(data, promise: promise)
            if isLast, unanswered == 0 { context.close(mode: .output, promise: nil) }
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard error as? HTTPParserError == .headerOverflow else { return context.fireErrorCaught(error) }
        // Its answer would stand before those that are due, or in the middle of one.
        if unanswered == 0 {
            let headers: HTTPHeaders = ["connection": "close", "content-length": "0"]
            let head = HTTPResponseHead(version: .http1_1, status: .requestHeaderFieldsTooLarge, headers: headers)
            context.write(wrapOutboundOut(.head(head)), promise: nil)
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        }
        context.close(promise: nil)
    }

    /// From now on the connection may be quiet for as long as it likes: it follows events, of which there may be none.
    /// One that does not read them is ended by the port itself.
    func followEvents() {
        isFollowing = true
        timer?.cancel()
        timer = nil
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
        let idleTimeout = connections.limits.idleTimeout
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
