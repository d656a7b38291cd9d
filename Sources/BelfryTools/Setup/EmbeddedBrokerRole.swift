import BelfrySupport
import KafkaClient
import PushTopics
import ServiceLifecycle

/// `belfry broker`: an embedded broker with the contract's topics, until it is told to stop.
///
/// For trying out only: it keeps little, drops the oldest silently, and forgets everything when it ends.
public struct EmbeddedBrokerRole: Service {
    private let layout: TopicLayout
    private let port: Int?
    private let onReady: @Sendable (String) -> Void

    /// - Parameters:
    ///   - port: where clients find it; nil: at a free port.
    ///   - onReady: called once with the address (`host:port`) when the broker takes connections.
    public init(_ layout: TopicLayout, port: Int? = nil, onReady: @escaping @Sendable (String) -> Void) {
        self.layout = layout
        self.port = port
        self.onReady = onReady
    }

    public func run() async throws {
        let broker = try EmbeddedBroker(topics: layout.topics.map { ($0.name, $0.partitions) })
        defer { broker.close() }
        guard let port else {
            onReady(broker.bootstrapServers)
            // Cancelled means stopped, too.
            try? await gracefulShutdown()
            return
        }
        guard let address = HostPort(broker.bootstrapServers) else {
            preconditionFailure("an embedded broker has one address: \(broker.bootstrapServers)")
        }
        try await BrokerRelay(broker: address).run(port: port) { onReady("\($0)") }
    }
}
