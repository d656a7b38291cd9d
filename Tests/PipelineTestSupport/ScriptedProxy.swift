import BelfrySupport
import NIOCore
import NIOPosix
import Synchronization

/// An HTTP proxy that treats each request as the test tells it to. The test closes it.
final class ScriptedProxy: Sendable {
    enum Conduct: Sendable {
        /// Connects to 127.0.0.1 at the port that was asked for, by any name, and relays both ways.
        case tunnel
        /// Says these pieces, each in a write of its own, and nothing more.
        case answer([String])
        /// Ends the connection.
        case close
    }

    private final class Witness: Sendable {
        let state = Mutex<(requests: [String], bytes: Int)>(([], 0))
    }

    private let witness: Witness
    private let listener: any Channel

    /// - Parameter conduct: for the `host:port` that a request names.
    init(
        address: String = "127.0.0.1",
        port: Int = 0,
        _ conduct: @escaping @Sendable (_ authority: String) -> Conduct
    ) async throws {
        let witness = Witness()
        self.witness = witness
        listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Front(witness, conduct))
                }
            }
            .bind(host: address, port: port).get()
    }

    var port: Int { listener.localAddress?.port ?? 0 }

    /// The heads of the requests so far.
    var requests: [String] { witness.state.withLock(\.requests) }

    /// Bytes that came on all connections so far.
    var receivedBytes: Int { witness.state.withLock(\.bytes) }

    /// - Parameter login: stands before the host in the URL: `user:password@`.
    func settings(login: String = "") throws -> ProxySettings {
        try ProxySettings(url: "http://\(login)127.0.0.1:\(port)")
    }

    func close() async throws { try await listener.close() }

    /// The side of the client.
    private final class Front: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private let witness: Witness
        private let conduct: @Sendable (String) -> Conduct
        private var head: [UInt8] = []
        private var isAsked = false
        private var peer: (any Channel)?

        init(_ witness: Witness, _ conduct: @escaping @Sendable (String) -> Conduct) {
            self.witness = witness
            self.conduct = conduct
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let bytes = unwrapInboundIn(data)
            let count = bytes.readableBytes
            witness.state.withLock { $0.bytes += count }
            if let peer { return peer.writeAndFlush(bytes, promise: nil) }
            guard !isAsked else { return }
            head += bytes.readableBytesView
            let text = String(decoding: head, as: UTF8.self)
            guard text.hasSuffix("\r\n\r\n") else { return }
            isAsked = true
            witness.state.withLock { $0.requests.append(text) }
            let authority = String(text.split(separator: " ")[1])
            switch conduct(authority) {
            case .tunnel: tunnel(context, to: authority)
            case .answer(let pieces): for piece in pieces { say(piece, context) }
            case .close: context.close(promise: nil)
            }
        }

        private func tunnel(_ context: ChannelHandlerContext, to authority: String) {
            let front = context.channel
            ClientBootstrap(group: context.eventLoop)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(Back(front))
                    }
                }
                .connect(host: "127.0.0.1", port: Int(authority.split(separator: ":").last ?? "") ?? 0)
                .assumeIsolated()
                .whenComplete { [self] result in
                    switch result {
                    case .success(let channel):
                        peer = channel
                        say("HTTP/1.1 200 OK\r\n\r\n", context)
                    case .failure:
                        say("HTTP/1.1 502 Bad Gateway\r\n\r\n", context)
                    }
                }
        }

        private func say(_ text: String, _ context: ChannelHandlerContext) {
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: text)), promise: nil)
        }

        func channelInactive(context: ChannelHandlerContext) {
            peer?.close(promise: nil)
            context.fireChannelInactive()
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            context.close(promise: nil)
        }
    }

    /// The side of the server that was asked for.
    private final class Back: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let front: any Channel

        init(_ front: any Channel) { self.front = front }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            front.writeAndFlush(unwrapInboundIn(data), promise: nil)
        }

        func channelInactive(context: ChannelHandlerContext) {
            front.close(promise: nil)
            context.fireChannelInactive()
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            context.close(promise: nil)
        }
    }
}
