import NIOCore
import NIOHTTP1

/// The control interface over HTTP/1.1: gathers a request, bounded, and lets ``ControlAPI`` answer it.
///
/// Belongs to the channel's event loop.
final class ControlHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let api: ControlAPI
    private var head: HTTPRequestHead?
    private var body: [UInt8] = []
    private var isTooLarge = false

    init(api: ControlAPI) {
        self.api = api
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

    private func respond(_ context: ChannelHandlerContext, to head: HTTPRequestHead) {
        let response: ControlAPI.Response
        if isTooLarge {
            let body = Array("{\"error\":\"the body is over \(SandboxLimits.controlBodyBytes) bytes\"}".utf8)
            response = ControlAPI.Response(status: 413, body: body)
        } else {
            let path = head.uri.prefix { $0 != "?" }
            let query = head.uri.dropFirst(path.count + 1)
            response = api.respond(
                method: head.method.rawValue,
                path: String(path),
                query: String(query),
                body: body
            )
        }
        let headers: HTTPHeaders = [
            "content-type": "application/json",
            "content-length": "\(response.body.count)",
            "cache-control": "no-store",
        ]
        let responseHead = HTTPResponseHead(
            version: head.version,
            status: HTTPResponseStatus(statusCode: response.status),
            headers: headers
        )
        context.write(wrapOutboundOut(.head(responseHead)), promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: response.body)))), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        if !head.isKeepAlive { context.close(mode: .output, promise: nil) }
    }
}
