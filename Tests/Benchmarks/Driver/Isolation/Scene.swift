import Foundation
import LocalPipeline

/// Everything that one scenario needs: processes, both gateways, the load, and who counts what comes of it.
final class Scene {
    struct Settings {
        /// Workers at the start.
        var workers = 2
        /// Registrars at the start, and harvesters; registrations and feedback flow if there are some.
        var tokenRoles = 0
        var transport: PipelineTransport
        /// Both topics have one environment, and one gateway.
        var sharesConnections: Bool
        var executable: String
        var directory: String
        var partitions: Int
        var queue: Int
        var sessionSeconds: Int
        /// Of each worker.
        var shards: Int
        /// Notifications a second of the healthy topic.
        var rate: Int
        var manner: GatewayManner
        var hasCertificate: Bool
        var sickTokensPerRecord: Int
        var sickKind: @Sendable (UInt32) -> TokenKind
        var worker: String
    }

    enum Topic {
        static let healthy = 0
        static let sick = 1
    }

    let stack: IsolationStack
    let healthy: SharedLedger
    let sick: SharedLedger
    /// The healthy one's, if they share it.
    let sickGateway: Gateway
    let load = Load(topics: 2)
    let aftermath = Aftermath()
    /// Of every record of the sick topic, key and value.
    let sickRecordBytes: Int
    let settings: Settings
    /// Nil: nothing of the kind flows.
    private(set) var tokens: TokenFlow?
    private let healthyGateway: Gateway
    private let topics: [Load.Topic]
    private let interruption: Interruption

    private static let devicesPerPartition = 2000
    private static let firstPatience = Duration.seconds(60)
    private static let warmUp = Duration.seconds(3)
    private static let pauseMilliseconds = 5

    /// Starts the servers; nothing works before ``open()``.
    init(_ settings: Settings, interruption: Interruption) throws {
        self.settings = settings
        self.interruption = interruption
        let bundles = [IsolationConfiguration.healthy, IsolationConfiguration.sick]
        let configuration = IsolationConfiguration(
            transport: settings.transport,
            sharesEnvironment: settings.sharesConnections,
            hasCredential: settings.hasCertificate,
            sessionSeconds: settings.sessionSeconds,
            shards: settings.shards,
            queue: settings.queue,
            worker: settings.worker
        )
        // The gateways' directory has what the workers' has.
        let pki = "\(settings.directory)/pki"
        let certified =
            (settings.hasCertificate ? bundles : [IsolationConfiguration.healthy])
            + (settings.tokenRoles > 0 ? TokenFlow.topics : [])
        try IsolationStack.writeCertificates(certified, to: pki, executable: settings.executable)
        func topic(
            _ bundleID: String,
            _ environment: String,
            tokens: Int,
            keepsSamples: Bool,
            kind: @escaping @Sendable (UInt32) -> TokenKind
        ) -> Load.Topic {
            let ledger = DeliveryLedger(
                partitions: settings.partitions,
                devicesPerPartition: Self.devicesPerPartition,
                tokensPerRecord: tokens,
                keepsSamples: keepsSamples,
                isGood: { kind($0) == .good }
            )
            let writer = RequestWriter(
                bundleID: bundleID,
                environment: environment,
                partitions: settings.partitions,
                devicesPerPartition: Self.devicesPerPartition,
                tokensPerRecord: tokens,
                kind: kind
            )
            return Load.Topic(
                writer: writer,
                ledger: SharedLedger(ledger),
                devicesPerPartition: Self.devicesPerPartition
            )
        }
        topics = [
            topic(bundles[0], IsolationConfiguration.healthyEnvironment, tokens: 1, keepsSamples: true) { _ in .good },
            topic(
                bundles[1],
                configuration.sickEnvironment,
                tokens: settings.sickTokensPerRecord,
                keepsSamples: false,
                kind: settings.sickKind
            ),
        ]
        healthy = topics[Topic.healthy].ledger
        sick = topics[Topic.sick].ledger
        let writer = topics[Topic.sick].writer
        sickRecordBytes = writer.valueBytes + (writer.keys.last?.count ?? 0)
        let sickTopics = [bundles[1]: sick]
        var healthyTopics = [bundles[0]: healthy]
        if settings.sharesConnections { healthyTopics.merge(sickTopics) { $1 } }
        healthyGateway = try Gateway(pki: pki, transport: settings.transport, ledgers: healthyTopics)
        sickGateway =
            try settings.sharesConnections
            ? healthyGateway : Gateway(pki: pki, transport: settings.transport, ledgers: sickTopics)
        stack = try IsolationStack(
            IsolationStack.Settings(
                workers: settings.workers,
                tokenRoles: settings.tokenRoles,
                topics: certified,
                executable: settings.executable,
                directory: settings.directory,
                partitions: settings.partitions,
                configuration: configuration
            )
        )
    }

    /// Starts the workers, opens the gateways and brings the healthy topic to its rate.
    func open() async throws {
        // The workers first: they would inherit the sockets that listen, and keep the ports when those are closed.
        try stack.startWorkers(healthyGateway: healthyGateway.port, sickGateway: sickGateway.port, pause: pause)
        try await healthyGateway.open(.works)
        if !settings.sharesConnections, settings.manner != .closed { try await sickGateway.open(settings.manner) }
        load.start(brokers: stack.brokers, partitions: settings.partitions, topics: topics)
        let flag = interruption.flag
        aftermath.start(brokers: stack.brokers, partitions: settings.partitions) {
            flag.pass(milliseconds: Self.pauseMilliseconds * 10)
        }
        if settings.tokenRoles > 0 {
            let flow = try TokenFlow(stack)
            flow.start()
            tokens = flow
        }
        load.demand(Load.Demand(rate: settings.rate), of: Topic.healthy)
        let start = ContinuousClock.now
        let isFlowing = try wait(Self.firstPatience) {
            start.duration(to: .now) >= Self.warmUp && outstanding <= settings.rate / 10
        }
        guard isFlowing else { throw BenchmarkError("the healthy topic does not flow") }
    }

    /// Ends everything; waits for the threads that use the broker.
    func close() async {
        load.stop()
        aftermath.stop()
        tokens?.stop()
        stack.stopRoles()
        let deadline = ContinuousClock.now + .seconds(20)
        while !(load.hasStopped && aftermath.hasStopped && tokens?.hasStopped != false) {
            guard ContinuousClock.now < deadline else { break }
            interruption.pass(milliseconds: Self.pauseMilliseconds)
        }
        stack.stop()
        try? await healthyGateway.stop()
        if !settings.sharesConnections { try? await sickGateway.stop() }
    }

    /// Notifications of the healthy topic on their way.
    var outstanding: Int { healthy.with { $0.outstanding } }

    // MARK: Waiting

    /// Lets a little time pass; throws when there is a reason to give up.
    func pause() throws {
        interruption.pass(milliseconds: Self.pauseMilliseconds)
        if interruption.hasCome { throw BenchmarkError("stopped by a signal") }
        if let failure = load.failure { throw BenchmarkError("the load ended: \(failure)") }
        if let failure = aftermath.failure { throw BenchmarkError("dead letters cannot be followed: \(failure)") }
        try tokens?.turn()
    }

    /// Waits until a condition holds; false if the time is over before.
    func wait(_ limit: Duration, until condition: () throws -> Bool) throws -> Bool {
        let deadline = ContinuousClock.now + limit
        while !(try condition()) {
            guard ContinuousClock.now < deadline else { return false }
            try stack.checkRoles()
            try pause()
        }
        return true
    }

    func wait(_ time: Duration) throws {
        _ = try wait(time) { false }
    }
}
