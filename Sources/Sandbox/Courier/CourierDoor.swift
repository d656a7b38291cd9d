import Logging
import NIOCore
import NIOPosix
import TLSTransport

/// Accepts connections of devices: TLS with a client certificate, then a ``CourierHandler``.
struct CourierDoor: Sendable {
    let service: PushService
    let trust: ProviderTrust
    let logger: Logger

    func bootstrap(on group: EventLoopGroup) -> ServerBootstrap {
        ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 1024)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.socketOption(.tcp_nodelay), value: 1)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelOption(
                .recvAllocator,
                value: FixedSizeRecvByteBufferAllocator(capacity: SandboxLimits.courierReadBytes)
            )
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.addHandler(TLSHandler(context: trust.context(), serverName: nil))
                    try pipeline.addHandler(FarewellHandler())
                    try pipeline.addHandler(CourierHandler(service: service, logger: logger))
                }
            }
    }
}
