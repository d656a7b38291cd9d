import APNsProtocol
import PipelineCore
import ProviderCredentials

/// The source of a shard's connections to the gateways, and of its knowledge of certificates.
protocol GatewayConnectors: StreamConnectors {
    /// Rises whenever ``hasCertificate(environment:bundleID:)`` may answer otherwise than before; nil: it may do so at
    /// any time. Cheap to ask in every tick.
    var generation: UInt64? { get }
    /// The bundle has a certificate in the environment now.
    func hasCertificate(environment: String, bundleID: String) -> Bool
    /// Records of the bundle become dead letters: it has been without a certificate for the allowed time.
    func isGivenUp(environment: String, bundleID: String) -> Bool
    /// Lets time pass; called about every second.
    func tick(now: MonotonicTime)
    /// A connector for one lane of a bundle. Without a certificate every attempt fails.
    ///
    /// - Parameter lane: number of the lane among the bundle's; spreads them over the gateways.
    func connector(environment: String, bundleID: String, lane: Int) -> any GatewayConnecting
}

extension GatewayConnectors {
    var generation: UInt64? { nil }
}

/// A source of binary connections only.
extension GatewayConnectors {
    func credential(environment: String, bundleID: String, for pushType: PushType) -> AppCredential? {
        hasCertificate(environment: environment, bundleID: bundleID) ? .certificate(bundleID: bundleID) : nil
    }

    func streamConnector(environment: String, credential: AppCredential, turn: Int) -> any StreamConnecting {
        preconditionFailure("this source opens no HTTP/2 connections")
    }

    var providerTokens: ProviderTokens? { nil }
}
