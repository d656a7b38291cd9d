import Logging
import NIOCore
import NIOPosix
import TLSTransport

/// How connections of providers are taken in: TLS with a client certificate, then whoever serves their topic.
struct ProviderDoor: Sendable {
    let service: PushService
    let tls: TLSContext
    let logger: Logger

    /// - Parameter makeServant: runs on the connection's event loop.
    func bootstrap(
        on group: EventLoopGroup,
        makeServant: @escaping @Sendable (PushService.Topic) -> any ChannelHandler
    ) -> ServerBootstrap {
        ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 1024)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.socketOption(.tcp_nodelay), value: 1)
            // A provider may close its side and still wait for an answer.
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelOption(
                .recvAllocator,
                value: FixedSizeRecvByteBufferAllocator(capacity: SandboxLimits.readBytes)
            )
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.addHandler(TLSHandler(context: tls, serverName: nil))
                    try pipeline.addHandler(FarewellHandler())
                    try pipeline.addHandler(
                        ProviderGreeter(service: service, logger: logger, makeServant: makeServant)
                    )
                }
            }
    }
}
