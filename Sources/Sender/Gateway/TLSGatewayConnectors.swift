import BelfrySupport
import NIOCore
import PipelineCore

/// The real gateways: TLS with the bundle's present certificate, over all addresses of its environment.
///
/// Bound to one shard's event loop.
final class TLSGatewayConnectors: GatewayConnectors {
    private let settings: ShardSettings
    private let certificates: CertificateStore
    private let missing: MissingCertificates
    private let eventLoop: any EventLoop
    /// Addresses by environment.
    private var addresses: [String: GatewayAddresses] = [:]
    /// Bundles whose certificate was reported as found.
    private var found: Set<CertificateStore.Name> = []

    init(
        settings: ShardSettings,
        certificates: CertificateStore,
        missing: MissingCertificates,
        eventLoop: any EventLoop
    ) {
        self.settings = settings
        self.certificates = certificates
        self.missing = missing
        self.eventLoop = eventLoop
    }

    func hasCertificate(environment: String, bundleID: String) -> Bool {
        let name = CertificateStore.Name(environment: environment, bundleID: bundleID)
        guard certificates.has(bundleID: bundleID, environment: environment) else {
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
        guard let place = settings.environments[environment] else {
            preconditionFailure("the environment is configured")
        }
        let shared = addresses[environment] ?? GatewayAddresses(place.gateways, eventLoop: eventLoop)
        addresses[environment] = shared
        return GatewayConnector(
            addresses: shared,
            firstTurn: lane,
            timeout: settings.connectTimeout
        ) { [certificates] in certificates.context(bundleID: bundleID, environment: environment) }
    }
}
