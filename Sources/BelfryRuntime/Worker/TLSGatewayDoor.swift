import NIOCore

/// The real gateways: TLS with the bundle's certificate, over all addresses of its environment.
///
/// Lives on one shard's event loop.
final class TLSGatewayDoor: GatewayDoor {
    private let settings: ShardSettings
    private let eventLoop: any EventLoop
    /// By environment.
    private var addresses: [String: GatewayAddresses] = [:]

    init(settings: ShardSettings, eventLoop: any EventLoop) {
        self.settings = settings
        self.eventLoop = eventLoop
    }

    func connector(environment: String, bundleID: String, lane: Int) -> (any GatewayConnecting)? {
        guard let place = settings.environments[environment], let tls = place.contexts[bundleID] else { return nil }
        let shared = addresses[environment] ?? GatewayAddresses(place.settings.gateways, eventLoop: eventLoop)
        addresses[environment] = shared
        return GatewayConnector(addresses: shared, firstTurn: lane, tls: tls, timeout: settings.connectTimeout)
    }
}
