import NIOCore
import NIOHTTP1

/// The control port over HTTP/1.1: gathers a request, bounded, and lets ``ControlAPI`` or ``PageAPI`` answer it.
/// Streams `GET /events` from the ``EventHub``. ``RequestGuard`` comes before all of them.
///
/// Belongs to the channel's event loop, which is the hub's.
final class ControlHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let api: ControlAPI
    private let page: PageAPI
    private let hub: EventHub
    private var head: HTTPRequestHead?
    private var body: [UInt8] = []
    private var isTooLarge = false
    /// Set once the connection is a stream of events.
    private var stream: EventHub.Page?

    init(api: ControlAPI, page: PageAPI, hub: EventHub) {
        self.api = api
        self.page = page
        self.hub = hub
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            self.head = head
            body = []
            isTooLarge = false
        case .body(let bytes):
            isTooLarge = isTooLarge || body.count + bytes.readableBytes > SandboxLimits.controlBodyBytes
            if isTooLarge {
                body = []
            } else {
                body.append(contentsOf: bytes.readableBytesView)
            }
        case .end:
            guard let head else { return }
            self.head = nil
            respond(context, to: head)
            body = []
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        if let stream { hub.leave(stream) }
        stream = nil
        context.fireChannelInactive()
    }

    private func respond(_ context: ChannelHandlerContext, to head: HTTPRequestHead) {
        let parts = head.uri.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let (path, query) = (parts[0], parts.count > 1 ? parts[1] : "")
        let method = head.method.rawValue
        if let refusal = RequestGuard.refusal(of: Self.origin(of: head), method: method, path: path) {
            send(PageAPI.failure(refusal, status: 403), context, head)
        } else if isTooLarge {
            let error = ControlError(field: nil, error: "the body is over \(SandboxLimits.controlBodyBytes) bytes")
            send(PageAPI.failure(error, status: 413), context, head)
        } else if path == "/events", method == "GET" {
            openStream(context, head)
        } else {
            let response = page.respond(method: method, path: path, query: query)
            send(response ?? api.respond(method: method, path: path, query: query, body: body), context, head)
        }
    }

    private func send(_ response: ControlAPI.Response, _ context: ChannelHandlerContext, _ head: HTTPRequestHead) {
        var headers = Self.headers(contentType: response.contentType)
        headers.add(name: "content-length", value: "\(response.body.count)")
        let status = HTTPResponseStatus(statusCode: response.status)
        let responseHead = HTTPResponseHead(version: head.version, status: status, headers: headers)
        context.write(wrapOutboundOut(.head(responseHead)), promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: response.body)))), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        if !head.isKeepAlive { context.close(mode: .output, promise: nil) }
    }

    private func openStream(_ context: ChannelHandlerContext, _ head: HTTPRequestHead) {
        guard !hub.isFull else {
            let error = "\(SandboxLimits.eventStreams) pages are open, no more are served"
            send(PageAPI.failure(ControlError(field: nil, error: error), status: 503), context, head)
            return
        }
        let headers = Self.headers(contentType: "text/event-stream")
        let responseHead = HTTPResponseHead(version: head.version, status: .ok, headers: headers)
        context.write(wrapOutboundOut(.head(responseHead)), promise: nil)
        let stream = EventHub.Page(
            write: { frames in
                for frame in frames {
                    let part = HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(bytes: frame)))
                    context.write(self.wrapOutboundOut(part), promise: nil)
                }
                context.flush()
            },
            close: { context.close(promise: nil) },
            isWritable: { context.channel.isWritable }
        )
        self.stream = stream
        hub.join(stream)
    }

    private static func origin(of head: HTTPRequestHead) -> RequestGuard.Headers {
        RequestGuard.Headers(
            host: head.headers.first(name: "host"),
            origin: head.headers.first(name: "origin"),
            fetchSite: head.headers.first(name: "sec-fetch-site"),
            fetchMode: head.headers.first(name: "sec-fetch-mode")
        )
    }

    /// Nothing that is answered here is to be kept, framed by another page, or taken for something else; and the page
    /// takes everything from this port.
    private static func headers(contentType: String) -> HTTPHeaders {
        [
            "content-type": contentType,
            "cache-control": "no-store",
            "x-content-type-options": "nosniff",
            "referrer-policy": "no-referrer",
            "cross-origin-resource-policy": "same-origin",
            "cross-origin-opener-policy": "same-origin",
            "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
                + "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        ]
    }
}
