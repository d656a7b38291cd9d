import APNsProtocol
import PipelineCore
import ProviderCredentials

@testable import Sender

/// The connectors from a worker's lanes to the gateways, and the certificates that its process has.
///
/// The process reads the directory when it starts, and about every second. As the real one does, it keeps a certificate
/// whose file has gone.
final class SimulatedConnectors: GatewayConnectors {
    private unowned let worker: SimulatedWorker
    private let loop: SimulatedEventLoop
    /// Nil in worlds without provider keys.
    let providerTokens: ProviderTokens?
    /// The real rule; nil in worlds where certificates neither come nor go.
    private let missing: MissingCertificates?
    private var missedSince: [String: VirtualTime] = [:]
    /// Topics whose bundles have a certificate.
    private var held: Set<Int> = []
    /// The certificates that the process has, by topic.
    private var editions: [UInt64] = []
    /// Topics whose certificate was reported as found.
    private var found: Set<Int> = []

    init(worker: SimulatedWorker, loop: SimulatedEventLoop, missing: MissingCertificates?) {
        self.worker = worker
        self.loop = loop
        self.missing = missing
        providerTokens = worker.world.plan.options.keyed.isEmpty ? nil : SimulatedKeys.providerTokens()
        read()
        readEditions()
    }

    /// Certificates come, and never go.
    var generation: UInt64? { UInt64(held.count) }

    func hasCertificate(environment: String, bundleID: String) -> Bool {
        guard let topic = World.topic(ofBundle: bundleID), held.contains(topic) else { return false }
        // Topics that are kept warm are asked for in all environments.
        let world = worker.world
        guard world.plan.options.warm.isEmpty || environment == world.plan.options.environment(of: topic) else {
            return false
        }
        if let missing, found.insert(topic).inserted {
            missing.found(bundleID: bundleID, environment: environment)
        }
        return true
    }

    func isGivenUp(environment: String, bundleID: String) -> Bool {
        if let missing { return missing.verdict(bundleID: bundleID, environment: environment) == .giveUp }
        let now = worker.world.clock.now
        let since = missedSince[bundleID] ?? now
        missedSince[bundleID] = since
        return since + worker.world.plan.options.certificateGrace <= now
    }

    func tick(now: MonotonicTime) {
        readEditions()
        guard let missing else { return }
        read()
        missing.tick(now: now)
    }

    func connector(environment: String, bundleID: String, lane: Int) -> any GatewayConnecting {
        guard let topic = World.topic(ofBundle: bundleID) else { preconditionFailure("a bundle of the world") }
        let gateway = worker.world.gateways[topic]
        return SimulatedConnector(loop: loop, gateway: gateway, worker: worker, lane: lane) { [unowned self] in
            editions[topic]
        }
    }

    func credential(environment: String, bundleID: String, for pushType: PushType) -> AppCredential? {
        guard let topic = World.topic(ofBundle: bundleID), held.contains(topic) else { return nil }
        let isKeyed = worker.world.plan.options.keyed.contains(topic)
        return isKeyed ? SimulatedKeys.credential : .certificate(bundleID: bundleID)
    }

    func streamConnector(environment: String, credential: AppCredential, turn: Int) -> any StreamConnecting {
        let world = worker.world
        switch credential {
        case .certificate(let bundleID), .voipCertificate(let bundleID):
            guard let topic = World.topic(ofBundle: bundleID) else { preconditionFailure("a bundle of the world") }
            let gateways = [world.gateways[topic]]
            return SimulatedStreamConnector(loop: loop, worker: worker, gateways: gateways, isKeyed: false) {
                [unowned self] in editions[topic]
            }
        case .key:
            // Their authorities may be replaced.
            let keyed = world.plan.options.keyed
            let gateways = keyed.map { world.gateways[$0] }
            return SimulatedStreamConnector(loop: loop, worker: worker, gateways: gateways, isKeyed: true) {
                [unowned self] in keyed.reduce(0) { $0 + editions[$1] }
            }
        }
    }

    private func readEditions() { editions = worker.world.gateways.map(\.edition) }

    private func read() {
        for topic in worker.world.gateways.indices where worker.world.hasCertificate(topic) {
            held.insert(topic)
        }
    }
}
