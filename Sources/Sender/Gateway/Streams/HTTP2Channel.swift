import APNsProtocol
import BelfrySupport
import HTTP2Transport
import NIOCore
import TLSTransport

/// The end of a connection's pipeline that speaks HTTP/2: turns the channel's bytes into events of its owner, and the
/// owner's requests into bytes.
///
/// Bound to its owner's event loop.
final class HTTP2Channel: ChannelInboundHandler, StreamConnection {
    typealias InboundIn = ByteBuffer

    private let owner: CredentialConnections
    private let number: UInt32
    private let session = HTTP2ClientSession()
    private var requestFields: HTTP2RequestFields
    private var broadcastFields: BroadcastFields
    private var context: ChannelHandlerContext?
    /// The handshake is done and the owner has not closed the connection: it hears of events.
    private var isOpen = false
    /// Requests were begun of which not all was written.
    private var holdsRequests = false
    private var pings: UInt64 = 0
    private var error: (any Error)?

    /// Output that is written at once: a few TLS records.
    private static let allocator = ByteBufferAllocator()

    init(owner: CredentialConnections, number: UInt32, authority: String, hasAuthorization: Bool) {
        self.owner = owner
        self.number = number
        requestFields = HTTP2RequestFields(authority: authority, hasAuthorization: hasAuthorization)
        broadcastFields = BroadcastFields(authority: authority, hasAuthorization: hasAuthorization)
    }

    // MARK: The owner's side

    var maxConcurrentStreams: Int { session.acceptsStreams ? session.maxConcurrentStreams : 0 }

    var isStalled: Bool { session.stalledBodyBytes > 0 || context?.channel.isWritable != true }

    func open(_ request: StreamRequest, tag: UInt64) throws(HTTP2OpenRefusal) -> Int32 {
        let stream: HTTP2StreamID
        if let path = request.content.broadcastPath {
            broadcastFields.write(request, path: path)
            stream = try session.openStream(broadcastFields.fields, body: request.content.body, tag: tag)
        } else {
            requestFields.write(request)
            stream = try session.openStream(requestFields.fields, body: request.content.body, tag: tag)
        }
        holdsRequests = true
        return stream.rawValue
    }

    func reset(stream: Int32) {
        session.reset(HTTP2StreamID(rawValue: stream), .cancel)
    }

    func ping() {
        pings += 1
        session.ping(pings)
    }

    func flush() {
        guard let context, session.outputBytes > 0 else { return }
        // They can be the rest of bodies that waited for the peer's windows, long after the shard lost its permit.
        guard !holdsRequests || owner.mayWrite else {
            return AbortedChannel.abort(context.channel, because: SendPermitClosed())
        }
        holdsRequests = session.stalledBodyBytes > 0
        var output = Self.allocator.buffer(capacity: session.outputBytes)
        session.takeOutput(into: &output)
        context.writeAndFlush(NIOAny(output), promise: nil)
    }

    func close() {
        isOpen = false
        session.goAway()
        flush()
        context?.close(promise: nil)
    }

    func abort() {
        isOpen = false
        context.map { AbortedChannel.abort($0) }
    }

    // MARK: The channel's side

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if let handshake = event as? TLSHandshakeCompleted {
            opened(handshake)
        } else if let event = event as? ChannelEvent, event == .inputClosed {
            end(context)
        }
        context.fireUserInboundEventTriggered(event)
    }

    private func opened(_ handshake: TLSHandshakeCompleted) {
        // A service that names no protocol may speak it all the same [field].
        if let chosen = handshake.applicationProtocol, chosen != HTTP2Channel.applicationProtocol {
            return fail(HTTP2ProtocolRefused(chosen: chosen))
        }
        isOpen = true
        flush()
        owner.connectionOpened(number: number, connection: self)
    }

    /// The name of HTTP/2 over TLS in ALPN (RFC 9113 §3.2).
    static let applicationProtocol = "h2"

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard isOpen else { return }
        session.receive(unwrapInboundIn(data), now: context.eventLoop.now)
        owner.connectionHeard(number: number)
        while isOpen, let event = session.nextEvent() { handle(event) }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if isOpen {
            flush()
            owner.connectionReadCompletely(number: number)
        }
        context.fireChannelReadComplete()
    }

    private func handle(_ event: HTTP2ClientEvent) {
        switch event {
        case .settings:
            owner.settingsChanged(number: number)
        case .response(let stream, let tag, let status, let message):
            let answer = status == 200 ? nil : Self.answer(status, message)
            owner.answered(number: number, stream: stream.rawValue, tag: tag, answer)
        case .closed(_, let tag, let code):
            owner.streamClosed(number: number, tag: tag, isRefused: code == .refusedStream)
        case .goAway(let last, let code, let debugData):
            owner.wentAway(
                number: number,
                last: last.rawValue,
                isError: code != .noError,
                code: "\(code)",
                debugData: debugData
            )
        case .pong:
            break
        case .failed:
            if let failure = session.failure { fail(failure) }
        }
    }

    private static func answer(_ status: Int, _ message: HTTP2Message) -> ProviderAnswer {
        message.withBody { ProviderAnswer(status: status, id: nil, body: $0) }
    }

    private func fail(_ failure: any Error) {
        if error == nil { error = failure }
        flush()
        context?.close(promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // The first error is the cause; those that follow are its consequences.
        if self.error == nil { self.error = error }
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        tellEnd()
        context.fireChannelInactive()
    }

    /// Closes a connection whose peer has ended its side: no answer can follow, though the socket may stay for a while.
    private func end(_ context: ChannelHandlerContext) {
        tellEnd()
        context.close(promise: nil)
    }

    /// The owner hears of the first end alone.
    private func tellEnd() {
        isOpen = false
        owner.connectionEnded(attempt: Int(number), error: error)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable, isOpen { owner.connectionReadCompletely(number: number) }
        context.fireChannelWritabilityChanged()
    }
}

/// A request was begun, and the shard may not send any more.
struct SendPermitClosed: Error, CustomStringConvertible {
    var description: String { "requests were begun, and the worker may not send any more" }
}

/// The peer chose another protocol than HTTP/2.
struct HTTP2ProtocolRefused: Error, CustomStringConvertible {
    let chosen: String

    var description: String { "the gateway speaks \(chosen) here, not HTTP/2" }
}
