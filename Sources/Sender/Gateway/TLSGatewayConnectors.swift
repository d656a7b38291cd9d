import APNsProtocol
import BelfrySupport
import NIOCore
import PipelineCore
import ProviderCredentials

/// The real gateways: TLS with the bundle's present certificate, over all addresses of its environment.
///
/// Bound to one shard's event loop.
final class TLSGatewayConnectors: GatewayConnectors {
    private let settings: ShardSettings
    private let credentials: AppCredentials
    let providerTokens: ProviderTokens?
    private let missing: MissingCertificates
    private let eventLoop: any EventLoop
    /// Addresses by environment.
    private var addresses: [String: ServiceAddresses] = [:]
    /// Bundles whose certificate was reported as found.
    private var found: Set<CertificateStore.Name> = []

    init(
        settings: ShardSettings,
        credentials: AppCredentials,
        providerTokens: ProviderTokens?,
        missing: MissingCertificates,
        eventLoop: any EventLoop
    ) {
        self.settings = settings
        self.credentials = credentials
        self.providerTokens = providerTokens
        self.missing = missing
        self.eventLoop = eventLoop
    }

    var generation: UInt64? { credentials.generation }

    func hasCertificate(environment: String, bundleID: String) -> Bool {
        let name = CertificateStore.Name(environment: environment, bundleID: bundleID)
        guard credentials.has(bundleID: bundleID, environment: environment) else {
            found.remove(name)
            return false
        }
        if found.insert(name).inserted {
            missing.found(bundleID: bundleID, environment: environment)
        }
        return true
    }

    func isGivenUp(environment: String, bundleID: String) -> Bool {
        missing.verdict(bundleID: bundleID, environment: environment) == .giveUp
    }

    func tick(now: MonotonicTime) { missing.tick(now: now) }

    func connector(environment: String, bundleID: String, lane: Int) -> any GatewayConnecting {
        let credential = AppCredential.certificate(bundleID: bundleID)
        return GatewayConnector(dialer: dialer(environment: environment, credential, firstTurn: lane))
    }

    func credential(environment: String, bundleID: String, for pushType: PushType) -> AppCredential? {
        credentials.credential(bundleID: bundleID, environment: environment, for: pushType)
    }

    func streamConnector(environment: String, credential: AppCredential, turn: Int) -> any StreamConnecting {
        let hasAuthorization = if case .key = credential { true } else { false }
        return StreamConnector(
            dialer: dialer(environment: environment, credential, firstTurn: turn),
            hasAuthorization: hasAuthorization
        )
    }

    private func dialer(environment: String, _ credential: AppCredential, firstTurn: Int) -> GatewayDialer {
        guard let place = settings.environments[environment] else {
            preconditionFailure("the environment is configured")
        }
        let shared =
            addresses[environment]
            ?? ServiceAddresses(place.gateways, through: place.proxy, eventLoop: eventLoop)
        addresses[environment] = shared
        let dialed = DialedCredential(credential, environment: environment, of: credentials)
        return GatewayDialer(
            addresses: shared,
            firstTurn: firstTurn,
            timeout: settings.connectTimeout,
            edition: { dialed.edition },
            tls: { dialed.context }
        )
    }
}
