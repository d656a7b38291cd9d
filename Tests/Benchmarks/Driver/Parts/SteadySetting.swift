import Foundation

/// Redis, certificates, a sink that reads stamps, and the configuration of workers with default settings.
struct SteadySetting {
    /// Keys of the bundle: many more than partitions, so that these are filled evenly.
    static let spread = 512
    static let tokens = 100_000
    /// Of a worker, by default.
    static let shards = 2

    let servers: Servers
    let brokers: String
    let sink: Sink
    private let redis: String
    private let pki: URL

    /// Starts the servers, and registers the tokens.
    init(servers: Servers, brokers: String) throws {
        self.servers = servers
        self.brokers = brokers
        redis = try servers.startRedis()
        pki = try servers.makeCertificates()
        sink = try Sink(servers: servers, pki: pki, areStamped: true)
        try servers.register(tokens: Self.tokens, redis: redis)
    }

    /// Writes the configuration of the workers of a group. All else in it but names of this machine is a default.
    ///
    /// - Returns: the arguments with which a worker starts.
    func configureWorkers(logLevel: String, sessionMilliseconds: Int? = nil) throws -> [String] {
        let configuration = WorkerConfiguration(
            brokers: brokers,
            redis: redis,
            gatewayPort: sink.port,
            trust: pki.appendingPathComponent("ca.pem").path,
            certificates: servers.workspace.file("certificates").path,
            // A group of its own: nobody's commits decide where it starts.
            group: "belfry-bench-\(UUID().uuidString)",
            spread: Self.spread,
            shards: Self.shards,
            sessionMilliseconds: sessionMilliseconds,
            logLevel: logLevel
        )
        return try servers.configure("worker", configuration.yaml)
    }

    /// A publisher's target.
    ///
    /// - Parameter lingerMilliseconds: the longest wait of a record for others at the producer.
    func target(lingerMilliseconds: Int) -> Pace.Target {
        Pace.Target(
            brokers: brokers,
            bundle: BenchmarkApp.bundle,
            spread: Self.spread,
            tokens: Self.tokens,
            lingerMilliseconds: lingerMilliseconds
        )
    }
}
