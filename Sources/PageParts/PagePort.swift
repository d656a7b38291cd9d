import HTTPPorts
import Hummingbird
import HummingbirdCore
import NIOCore

/// A port with a page: gathers a request, bounded, and lets its ``PageSite`` answer it or take in a follower of
/// `GET /events`. The site's ``RequestGuard`` comes before all of it.
package struct PagePort: Sendable {
    private let site: NIOLoopBound<any PageSite>

    /// The connections of a site's port. On the event loop of both.
    package static func channel(_ site: any PageSite, on loop: any EventLoop) -> PortChannel {
        let port = PagePort(site: NIOLoopBound(site, eventLoop: loop))
        // A page that goes ends its side, and has gone.
        return PortChannel(site.connections) { channel in
            try channel.syncOptions?.setOption(.allowRemoteHalfClosure, value: false)
        } responder: { (request, writer: consuming ResponseWriter, channel) in
            let body = try await port.body(of: request)
            let response = try port.respond(to: request, body, channel)
            try await writer.write(response: response.head, body: response.body)
        }
    }

    /// Nil: it is too large.
    private func body(of request: Request) async throws -> [UInt8]? {
        let limit = site.value.bodyLimitBytes
        var body: [UInt8]? = []
        for try await bytes in request.body {
            body?.append(contentsOf: bytes.readableBytesView)
            if let count = body?.count, count > limit { body = nil }
        }
        return body
    }

    private func respond(to request: Request, _ body: [UInt8]?, _ channel: any Channel) throws -> Response {
        let site = site.value
        let path = request.head.path ?? ""
        let parts = path.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let page = PageRequest(
            method: request.method.rawValue,
            path: parts.first ?? "",
            query: parts.count > 1 ? parts[1] : "",
            body: body ?? []
        )
        let origin = RequestGuard.Headers(
            host: request.head.authority,
            origin: request.headers[.origin],
            fetchSite: request.headers[.init("sec-fetch-site")!],
            fetchMode: request.headers[.init("sec-fetch-mode")!]
        )
        if let refusal = site.guardian.refusal(of: origin, method: page.method, path: page.path) {
            return Response(PageResponse(refusing: refusal, status: 403))
        }
        guard body != nil else {
            let refusal = PortRefusal(error: "the body is over \(site.bodyLimitBytes) bytes")
            return Response(PageResponse(refusing: refusal, status: 413))
        }
        if let refusal = site.refusal(of: page) { return Response(refusal) }
        let isFollower = page.path == "/events" && page.method == "GET"
        return isFollower ? try stream(to: channel) : Response(site.respond(to: page))
    }

    private func stream(to channel: any Channel) throws -> Response {
        let page = EventPage(on: channel)
        try PortChannel.followEvents(on: channel)
        site.value.join(page)
        channel.closeFuture.assumeIsolated().whenComplete { [site] _ in
            site.value.leave(page)
            page.end()
        }
        let headers = Response.headers(contentType: "text/event-stream")
        return Response(status: .ok, headers: headers, body: ResponseBody(asyncSequence: page.frames))
    }
}

extension Response {
    fileprivate init(_ response: PageResponse) {
        var headers = Self.headers(contentType: response.contentType)
        for (name, value) in response.headers { headers[.init(name)!] = value }
        let body = ResponseBody(byteBuffer: ByteBuffer(bytes: response.body))
        self.init(status: .init(code: response.status), headers: headers, body: body)
    }

    /// Nothing that is answered here is to be kept, framed by another page, or taken for something else; and the page
    /// takes everything from this port.
    fileprivate static func headers(contentType: String) -> HTTPFields {
        [
            .init("content-type")!: contentType,
            .init("cache-control")!: "no-store",
            .init("x-content-type-options")!: "nosniff",
            .init("referrer-policy")!: "no-referrer",
            .init("cross-origin-resource-policy")!: "same-origin",
            .init("cross-origin-opener-policy")!: "same-origin",
            .init("content-security-policy")!: "default-src 'none'; script-src 'self'; style-src 'self'; "
                + "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        ]
    }
}
