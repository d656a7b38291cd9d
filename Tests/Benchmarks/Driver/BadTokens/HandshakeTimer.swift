import Foundation
import NIOCore
import NIOPosix
import TLSTransport

/// Measures how long it takes to be connected to the gateway: TCP and TLS, with a client certificate.
struct HandshakeTimer {
    private let context: TLSContext
    private let port: Int
    private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)

    /// - Parameters:
    ///   - pki: directory of the development PKI.
    ///   - gateway: `127.0.0.1:port`.
    init(pki: String, bundleID: String, gateway: String) throws {
        port = gateway.split(separator: ":").last.flatMap { Int($0) } ?? 0
        context = try TLSContext(
            client: try TLSIdentity(pemFile: "\(pki)/\(bundleID).pem"),
            trust: .file("\(pki)/ca.pem")
        )
    }

    /// Connects, closes at once, and returns the seconds until the end of the handshake.
    func time() async throws -> Double {
        let start = ContinuousClock.now
        let channel = try await connect(on: group.next())
        let seconds = start.duration(to: .now) / .seconds(1)
        try? await channel.close()
        return seconds
    }

    func close() async throws {
        try await group.shutdownGracefully()
    }

    private func connect(on eventLoop: any EventLoop) async throws -> any Channel {
        let done = eventLoop.makePromise(of: Void.self)
        let channel = try await ClientBootstrap(group: eventLoop)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelInitializer { [context] channel in
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
