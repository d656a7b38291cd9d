import NIOCore
import NIOHTTP1

/// A port with a page over HTTP/1.1: gathers a request, bounded, and lets its ``PageSite`` answer it or take in a
/// follower of `GET /events`. The site's ``RequestGuard`` comes before all of it.
///
/// Belongs to the channel's event loop, which is the site's.
package final class PageHandler: ChannelInboundHandler {
    package typealias InboundIn = HTTPServerRequestPart
    package typealias OutboundOut = HTTPServerResponsePart

    private let site: any PageSite
    private let portGuard: PortGuard
    private var head: HTTPRequestHead?
    private var body: [UInt8] = []
    private var isTooLarge = false
    /// A whole request waits until the answers before it have left, but for a bounded rest. The pipeline lets no other
    /// request come before this one is answered.
    private var isWaiting = false
    private var isResponding = false
    /// Set once the connection is a stream of events.
    private var stream: EventPage?

    private init(site: any PageSite, _ portGuard: PortGuard) {
        self.site = site
        self.portGuard = portGuard
    }

    /// Makes a connection of the port: HTTP/1.1 within ``PortLimits``. On the channel's event loop.
    package static func serve(_ site: any PageSite, on channel: any Channel) throws {
        let pipeline = channel.pipeline.syncOperations
        try pipeline.configureHTTPServerPipeline()
        let portGuard = PortGuard(site.connections)
        try pipeline.addHandlers(portGuard, PageHandler(site: site, portGuard))
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            self.head = head
            body = []
            isTooLarge = false
        case .body(let bytes):
            isTooLarge = isTooLarge || body.count + bytes.readableBytes > site.bodyLimitBytes
            if isTooLarge {
                body = []
            } else {
                body.append(contentsOf: bytes.readableBytesView)
            }
        case .end:
            isWaiting = head != nil
            respondIfWritable(context)
        }
    }

    package func channelWritabilityChanged(context: ChannelHandlerContext) {
        respondIfWritable(context)
        context.fireChannelWritabilityChanged()
    }

    private func respondIfWritable(_ context: ChannelHandlerContext) {
        guard isWaiting, context.channel.isWritable, let head else { return }
        // The pipeline hands the next request over from inside the answer to this one: many would fill the stack.
        guard !isResponding else {
            return context.eventLoop.assumeIsolated().execute { [self] in respondIfWritable(context) }
        }
        isResponding = true
        defer { isResponding = false }
        isWaiting = false
        self.head = nil
        let body = body
        self.body = []
        respond(context, to: head, body)
    }

    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    package func channelInactive(context: ChannelHandlerContext) {
        if let stream { site.leave(stream) }
        stream = nil
        context.fireChannelInactive()
    }

    private func respond(_ context: ChannelHandlerContext, to head: HTTPRequestHead, _ body: [UInt8]) {
        // Its answer would stand in the middle of the stream.
        guard stream == nil else { return context.close(promise: nil) }
        let parts = head.uri.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let request = PageRequest(
            method: head.method.rawValue,
            path: parts.first ?? "",
            query: parts.count > 1 ? parts[1] : "",
            headers: head.headers,
            body: body
        )
        let origin = Self.origin(of: head)
        if let refusal = site.guardian.refusal(of: origin, method: request.method, path: request.path) {
            send(PageResponse(refusing: refusal, status: 403), context, head)
        } else if isTooLarge {
            let refusal = PortRefusal(error: "the body is over \(site.bodyLimitBytes) bytes")
            send(PageResponse(refusing: refusal, status: 413), context, head)
        } else if let refusal = site.refusal(of: request) {
            send(refusal, context, head)
        } else if request.path == "/events", request.method == "GET" {
            openStream(context, head)
        } else {
            send(site.respond(to: request), context, head)
        }
    }

    private func send(_ response: PageResponse, _ context: ChannelHandlerContext, _ head: HTTPRequestHead) {
        var headers = Self.headers(contentType: response.contentType)
        headers.add(name: "content-length", value: "\(response.body.count)")
        for (name, value) in response.headers { headers.add(name: name, value: value) }
        let status = HTTPResponseStatus(statusCode: response.status)
        let responseHead = HTTPResponseHead(version: head.version, status: status, headers: headers)
        context.write(wrapOutboundOut(.head(responseHead)), promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: response.body)))), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        if !head.isKeepAlive { context.close(mode: .output, promise: nil) }
    }

    private func openStream(_ context: ChannelHandlerContext, _ head: HTTPRequestHead) {
        let stream = EventPage(
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
        let headers = Self.headers(contentType: "text/event-stream")
        let responseHead = HTTPResponseHead(version: head.version, status: .ok, headers: headers)
        context.write(wrapOutboundOut(.head(responseHead)), promise: nil)
        self.stream = stream
        portGuard.allowQuiet()
        site.join(stream)
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
