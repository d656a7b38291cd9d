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
        self.flush(context)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        self.session.receive(self.unwrapInboundIn(data), now: .now())
        while let event = self.session.nextEvent() {
            guard case .request(let stream, let message) = event else { continue }
            self.session.respond(to: stream, status: 200, self.fields, body: message.body)
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        self.flush(context)
    }

    private func flush(_ context: ChannelHandlerContext) {
        self.session.takeOutput(into: &self.output)
        if self.output.readableBytes > 0 {
            context.writeAndFlush(self.wrapOutboundOut(self.output), promise: nil)
            self.output.clear()
        }
        if self.session.isFinished { context.close(promise: nil) }
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
        self.result.applicationProtocol = handshake.applicationProtocol
        self.flush(context)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        self.session.receive(self.unwrapInboundIn(data), now: .now())
        while let event = self.session.nextEvent() {
            switch event {
            case .response(_, let tag, let status, let message):
                self.result.statuses[tag] = status
                self.result.bodies.insert(String(buffer: message.body))
            case .closed:
                self.closed += 1
            case .settings, .goAway, .pong, .failed:
                break
            }
        }
        self.sendMore()
        if self.closed == self.count { self.done.succeed(self.result) }
        self.flush(context)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        self.done.fail(error)
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.done.fail(ChannelError.eof)
    }

    private func sendMore() {
        while self.sent < self.count, self.session.availableStreams > 0 {
            let opened = try? self.session.openStream(.request(path: "/"), body: self.body, tag: self.sent)
            guard opened != nil else { return }
            self.sent += 1
            self.result.largestNumberOfStreams = max(self.result.largestNumberOfStreams, self.session.openStreams)
        }
    }

    private func flush(_ context: ChannelHandlerContext) {
        var output = ByteBuffer()
        self.session.takeOutput(into: &output)
        if output.readableBytes > 0 { context.writeAndFlush(self.wrapOutboundOut(output), promise: nil) }
    }
}
