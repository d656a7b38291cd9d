import HTTP2Transport
import NIOCore
import TLSTransport

/// One request over HTTP/2 on a connection of its own, and its answer.
///
/// Belongs to the channel's event loop.
final class LoneRequest: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// A whole answer.
    struct Answer: Equatable, Sendable {
        var status: Int
        /// The value of `apns-channel-id`; nil: absent.
        var channel: String?
        var body: [UInt8]
    }

    /// A request.
    struct Message: Sendable {
        var method: String
        /// `host:port`
        var authority: String
        var path: String
        /// In lower case, with their values.
        var headers: [(name: String, value: String)]
        var body: [UInt8] = []

        fileprivate func fields() -> HTTP2Fields {
            var fields = HTTP2Fields()
            fields.append(":method", method)
            fields.append(":scheme", "https")
            fields.append(":authority", authority)
            fields.append(":path", path, indexing: .never)
            for (name, value) in headers { fields.append(name, value, indexing: .never) }
            return fields
        }
    }

    /// The connection ended before the answer.
    struct Unanswered: Error, CustomStringConvertible {
        let reason: String

        var description: String { reason }
    }

    /// Ten thousand channel ids of a hundred characters.
    private static let bodyBytes = 2 << 20

    private let message: Message
    private let answered: EventLoopPromise<Answer>
    private let session: HTTP2ClientSession
    private var isDone = false

    /// - Parameter answered: fulfilled with the answer, or failed when the connection ends without one.
    init(_ message: Message, answered: EventLoopPromise<Answer>) {
        self.message = message
        self.answered = answered
        var limits = PeerLimits.ofClient
        limits.bodyBytes = Self.bodyBytes
        session = HTTP2ClientSession(limits: limits)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is TLSHandshakeCompleted {
            do throws(HTTP2OpenRefusal) {
                try session.openStream(message.fields(), body: ByteBuffer(bytes: message.body), tag: 0)
                write(context)
            } catch {
                fail(context, error.description)
            }
        } else if event as? ChannelEvent == .inputClosed {
            context.close(promise: nil)
        }
        context.fireUserInboundEventTriggered(event)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        session.receive(unwrapInboundIn(data), now: context.eventLoop.now)
        while let event = session.nextEvent() {
            switch event {
            case .response(_, _, let status, let message):
                guard message.isBodyWhole else { return fail(context, "the answer is too long") }
                let channel = message.value(of: "apns-channel-id")
                finish(.success(Answer(status: status, channel: channel, body: message.withBody { Array($0) })))
                session.goAway()
            case .goAway(_, let code, let debugData):
                let text = String(decoding: debugData.prefix(200), as: UTF8.self)
                finish(.failure(Unanswered(reason: "the service closes the connection: \(code) \(text)")))
            case .closed(_, _, let code):
                finish(.failure(Unanswered(reason: "the service gave the request up: \(code)")))
            case .failed:
                fail(context, session.failure?.description ?? "the HTTP/2 session failed")
            case .settings, .pong:
                break
            }
        }
        write(context)
        if isDone { context.close(promise: nil) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        finish(.failure(error))
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        finish(.failure(Unanswered(reason: "the service closed the connection without an answer")))
        context.fireChannelInactive()
    }

    private func fail(_ context: ChannelHandlerContext, _ reason: String) {
        finish(.failure(Unanswered(reason: reason)))
        context.close(promise: nil)
    }

    /// The first result counts.
    private func finish(_ result: Result<Answer, any Error>) {
        guard !isDone else { return }
        isDone = true
        answered.completeWith(result)
    }

    private func write(_ context: ChannelHandlerContext) {
        var output = ByteBuffer()
        session.takeOutput(into: &output)
        if output.readableBytes > 0 { context.writeAndFlush(wrapOutboundOut(output), promise: nil) }
    }
}
