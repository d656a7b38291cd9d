import Logging
import NIOCore
import NIOPosix
import TLSTransport

/// Accepts connections of providers. TLS with a client certificate comes first, then the handler that serves their
/// topic, unless a fault befalls them before that.
struct ProviderDoor: Sendable {
    /// The service behind a door.
    enum Kind: Sendable {
        case gateway
        case feedback
    }

    let service: PushService
    let trust: ProviderTrust
    /// Refuses every certificate.
    let refusingTLS: TLSContext
    let logger: Logger

    /// - Parameter makeServant: runs on the connection's event loop.
    func bootstrap(
        on group: EventLoopGroup,
        to kind: Kind,
        makeServant: @escaping @Sendable (PushService.Topic) -> any ChannelHandler
    ) -> ServerBootstrap {
        ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 1024)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.socketOption(.tcp_nodelay), value: 1)
            // A provider may close its side and still wait for an answer.
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelOption(.recvAllocator, value: SandboxLimits.readAllocator)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let handlers: [any ChannelHandler]
                    switch service.judgeConnect() {
                    case .admit: handlers = greeting(trust.context(), kind, makeServant)
                    case .refuseCertificate: handlers = greeting(refusingTLS, kind, makeServant)
                    case .refuseHandshake: handlers = refusal(.alert)
                    case .reset: handlers = refusal(.reset)
                    }
                    try channel.pipeline.syncOperations.addHandlers(handlers)
                }
            }
    }

    private func greeting(
        _ tls: TLSContext,
        _ kind: Kind,
        _ makeServant: @escaping (PushService.Topic) -> any ChannelHandler
    ) -> [any ChannelHandler] {
        [
            ConnectionResetHandler(), TLSHandler(context: tls, serverName: nil), FarewellHandler(),
            ProviderGreeter(service: service, kind: kind, logger: logger, makeServant: makeServant),
        ]
    }

    private func refusal(_ manner: ConnectionRefuser.Manner) -> [any ChannelHandler] {
        [ConnectionResetHandler(), FarewellHandler(), ConnectionRefuser(manner, service: service, logger: logger)]
    }
}
