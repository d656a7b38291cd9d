import NIOCore
import NIOPosix
import Synchronization

/// An address behind which servers change, as behind a virtual one: new connections lead to the present server, those
/// that stand stay where they are.
final class SwitchedRelay: Sendable {
    private final class Target: Sendable {
        let port: Atomic<Int>

        init(_ port: Int) {
            self.port = Atomic(port)
        }
    }

    let port: Int
    private let target: Target
    private let channel: any Channel

    init(to firstPort: Int) async throws {
        let target = Target(firstPort)
        self.target = target
        channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton.next())
            .childChannelInitializer { client in
                ClientBootstrap(group: client.eventLoop)
                    .channelInitializer { server in
                        server.eventLoop.makeCompletedFuture {
                            try server.pipeline.syncOperations.addHandler(PassingHandler(to: client))
                        }
                    }
                    .connect(host: "127.0.0.1", port: target.port.load(ordering: .acquiring))
                    .flatMapThrowing { server in
                        try client.pipeline.syncOperations.addHandler(PassingHandler(to: server))
                    }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        port = channel.localAddress?.port ?? 0
    }

    func lead(to port: Int) {
        target.port.store(port, ordering: .releasing)
    }

    func close() async throws {
        try await channel.close()
    }
}

private final class PassingHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let peer: any Channel

    init(to peer: any Channel) {
        self.peer = peer
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        peer.writeAndFlush(unwrapInboundIn(data), promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        peer.close(promise: nil)
        context.fireChannelInactive()
    }
}
