import NIOCore
import TLSTransport

@testable import HTTP2Transport

/// The least that a channel needs around a server's session: every request is answered with its own body.
final class ServerShell: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let session = HTTP2ServerSession()
    private let fields = HTTP2Fields()
    private var output = ByteBuffer()

    func channelActive(context: ChannelHandlerContext) {
        flush(context)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        session.receive(unwrapInboundIn(data), now: .now())
        while let event = session.nextEvent() {
            guard case .request(let stream, let message) = event else { continue }
            session.respond(to: stream, status: 200, fields, body: message.body)
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        flush(context)
    }

    private func flush(_ context: ChannelHandlerContext) {
        session.takeOutput(into: &output)
        if output.readableBytes > 0 {
            context.writeAndFlush(wrapOutboundOut(output), promise: nil)
            output.clear()
        }
        if session.isFinished { context.close(promise: nil) }
    }
}

/// Sends requests, as many at once as the server allows, and collects what comes back.
final class ClientShell: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    struct Result: Sendable, Equatable {
        var applicationProtocol: String?
        var statuses: [UInt64: Int] = [:]
        var bodies: Set<String> = []
        var largestNumberOfStreams = 0
    }

    private let session = HTTP2ClientSession()
    private let count: UInt64
    private let body: ByteBuffer
    private let done: EventLoopPromise<Result>
    private var sent: UInt64 = 0
    private var closed: UInt64 = 0
    private var result = Result()

    init(count: UInt64, body: ByteBuffer, done: EventLoopPromise<Result>) {
        self.count = count
        self.body = body
        self.done = done
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard let handshake = event as? TLSHandshakeCompleted else { return }
        result.applicationProtocol = handshake.applicationProtocol
        flush(context)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        session.receive(unwrapInboundIn(data), now: .now())
        while let event = session.nextEvent() {
            switch event {
            case .response(_, let tag, let status, let message):
                result.statuses[tag] = status
                result.bodies.insert(String(buffer: message.body))
            case .closed:
                closed += 1
            case .settings, .goAway, .pong, .failed:
                break
            }
        }
        sendMore()
        if closed == count { done.succeed(result) }
        flush(context)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        done.fail(error)
    }

    func channelInactive(context: ChannelHandlerContext) {
        done.fail(ChannelError.eof)
    }

    private func sendMore() {
        while sent < count, session.availableStreams > 0 {
            let opened = try? session.openStream(.request(path: "/"), body: body, tag: sent)
            guard opened != nil else { return }
            sent += 1
            result.largestNumberOfStreams = max(result.largestNumberOfStreams, session.openStreams)
        }
    }

    private func flush(_ context: ChannelHandlerContext) {
        var output = ByteBuffer()
        session.takeOutput(into: &output)
        if output.readableBytes > 0 { context.writeAndFlush(wrapOutboundOut(output), promise: nil) }
    }
}

extension HTTP2ClientSession {
    /// The number of streams that can be opened now. Also 0 when the session is ending.
    var availableStreams: Int {
        acceptsStreams ? max(0, maxConcurrentStreams - openStreams) : 0
    }
}
