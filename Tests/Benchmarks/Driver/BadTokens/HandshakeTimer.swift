import Foundation
import NIOCore
import NIOPosix
import TLSTransport

/// Measures how long it takes to be connected to the gateway: TCP and TLS, with a client certificate.
struct HandshakeTimer {
    private static let rounds = 41

    /// The median over several connections, one after the other, each closed at once.
    ///
    /// - Parameters:
    ///   - pki: directory of the development PKI.
    ///   - gateway: `127.0.0.1:port`.
    static func median(pki: String, bundleID: String, gateway: String) async throws -> Double {
        let port = gateway.split(separator: ":").last.flatMap { Int($0) } ?? 0
        let context = try TLSContext(
            client: try TLSIdentity(pemFile: "\(pki)/\(bundleID).pem"),
            trust: .file("\(pki)/ca.pem")
        )
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        var times: [Double] = []
        for _ in 0..<rounds {
            let start = ContinuousClock.now
            let channel = try await connect(context, port: port, on: group.next())
            times.append(start.duration(to: .now) / .seconds(1))
            try? await channel.close()
        }
        try await group.shutdownGracefully()
        return times.sorted()[rounds / 2]
    }

    private static func connect(
        _ context: TLSContext,
        port: Int,
        on eventLoop: any EventLoop
    ) async throws -> any Channel {
        let done = eventLoop.makePromise(of: Void.self)
        let channel = try await ClientBootstrap(group: eventLoop)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandlers([
                        TLSHandler(context: context, serverName: "127.0.0.1"), Witness(done: done),
                    ])
                }
            }
            .connect(host: "127.0.0.1", port: port)
            .get()
        try await done.futureResult.get()
        return channel
    }

    /// Waits for the end of the handshake.
    private final class Witness: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let done: EventLoopPromise<Void>

        init(done: EventLoopPromise<Void>) {
            self.done = done
        }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            if event is TLSHandshakeCompleted { done.succeed() }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            done.fail(error)
            context.close(promise: nil)
        }

        func channelInactive(context: ChannelHandlerContext) {
            done.fail(ChannelError.eof)
        }
    }
}
