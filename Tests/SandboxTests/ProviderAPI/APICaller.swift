import HTTP2Transport
import NIOCore
import TLSTransport

/// Sends requests to a running service, each after the one before was answered or reset, and collects the answers.
///
/// Belongs to the channel's event loop.
final class APICaller: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let http = HTTP2ClientSession()
    private var calls: ArraySlice<APICall>
    private let done: EventLoopPromise<[APIReply]>
    private var replies: [APIReply] = []

    /// - Parameter done: fulfilled with the answers, when there are all or the connection is closed.
    init(calls: [APICall], done: EventLoopPromise<[APIReply]>) {
        self.calls = calls[...]
        self.done = done
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is TLSHandshakeCompleted { proceed(context) }
        context.fireUserInboundEventTriggered(event)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        http.receive(unwrapInboundIn(data), now: .now())
        while let event = http.nextEvent() {
            switch event {
            case .response(_, _, let status, let message):
                replies.append(APIReply(status: status, message))
                proceed(context)
            case .closed(_, _, let code) where code != .noError:
                proceed(context)
            case .closed, .goAway, .settings, .pong, .failed:
                break
            }
        }
        write(context)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        done.succeed(replies)
        context.fireChannelInactive()
    }

    private func proceed(_ context: ChannelHandlerContext) {
        guard let call = calls.popFirst() else {
            done.succeed(replies)
            return
        }
        do {
            try http.openStream(call.fields, body: ByteBuffer(bytes: call.body), tag: 0)
            write(context)
        } catch {
            context.close(promise: nil)
        }
    }

    private func write(_ context: ChannelHandlerContext) {
        var output = ByteBuffer()
        http.takeOutput(into: &output)
        if output.readableBytes > 0 { context.writeAndFlush(wrapOutboundOut(output), promise: nil) }
    }
}
