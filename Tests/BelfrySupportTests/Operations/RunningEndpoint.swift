import Logging
import Testing

@testable import BelfrySupport

/// The answers of a role that does nothing.
struct EndpointSource: OperationsSource {
    let name = "tester"
    let health: RoleHealth
    /// Its event loops would never answer.
    var isStuck = false

    func metrics() async -> [MetricFamily] {
        if isStuck { Issue.record("an event loop was asked") }
        return [MetricFamily("belfry_test", .gauge, "A test.")]
    }

    func readiness() async -> Readiness {
        if isStuck { Issue.record("an event loop was asked") }
        return Readiness([.init(.kafka, "waits for Kafka")])
    }

    func status(now: Double) async -> RoleStatus {
        if isStuck { Issue.record("an event loop was asked") }
        var status = RoleStatus(role: name, now: now)
        status.obstacles = ["waits for Kafka"]
        return status
    }
}

/// An operations endpoint on a free port of this machine.
enum RunningEndpoint {
    /// Tells the address that an endpoint logs.
    private struct AddressLog: LogHandler {
        var logLevel = Logger.Level.info
        var metadata: Logger.Metadata = [:]
        let found: AsyncStream<String>.Continuation

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            if let address = event.metadata?["address"] { found.yield("\(address)") }
        }
    }

    /// Calls `body` with the address while the endpoint serves.
    ///
    /// - Parameter settings: its files; the address is of no account.
    static func run(
        _ source: EndpointSource = EndpointSource(health: RoleHealth()),
        settings: OperationsSettings = OperationsSettings(),
        _ body: (_ address: String) async throws -> Void
    ) async throws {
        let (addresses, found) = AsyncStream<String>.makeStream()
        let logger = Logger(label: "test") { _ in AddressLog(found: found) }
        let endpoint = OperationsEndpoint(
            address: HostPort(host: "127.0.0.1", port: 0),
            access: try OperationsAccess(settings, logger: logger),
            source: source,
            logger: logger
        )
        let serving = Task { try await endpoint.run() }
        defer { serving.cancel() }
        try await body(try #require(await addresses.first { _ in true }))
    }
}
