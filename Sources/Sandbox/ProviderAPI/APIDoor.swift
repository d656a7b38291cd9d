import Logging
import NIOCore
import NIOPosix
import TLSTransport

/// Accepts connections to the provider API: TLS, for which each client is asked for a certificate, then an
/// ``APIHandler``, unless a fault befalls them before that.
struct APIDoor: Sendable {
    let service: PushService
    let trust: ProviderTrust
    let keys: ProviderKeyRing
    /// Refuses every certificate.
    let refusingTLS: TLSContext
    let logger: Logger

    func bootstrap(on group: EventLoopGroup) -> ServerBootstrap {
        ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 1024)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.socketOption(.tcp_nodelay), value: 1)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            // In small portions: while the next requests are made, the first are answered.
            .childChannelOption(.recvAllocator, value: SandboxLimits.apiReadAllocator)
            .childChannelOption(.maxMessagesPerRead, value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandlers(handlers())
                }
            }
    }

    private func handlers() -> [any ChannelHandler] {
        switch service.judgeConnect() {
        case .admit: greeting(trust.apiContext())
        case .refuseCertificate: greeting(refusingTLS)
        case .refuseHandshake: refusal(.alert)
        case .reset: refusal(.reset)
        }
    }

    private func greeting(_ tls: TLSContext) -> [any ChannelHandler] {
        [
            ConnectionResetHandler(), TLSHandler(context: tls, serverName: nil), FarewellHandler(),
            APIHandler(service: service, keys: keys, logger: logger),
        ]
    }

    private func refusal(_ manner: ConnectionRefuser.Manner) -> [any ChannelHandler] {
        [ConnectionResetHandler(), FarewellHandler(), ConnectionRefuser(manner, service: service, logger: logger)]
    }
}
