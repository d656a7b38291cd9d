import KafkaClient
import ServiceLifecycle

/// `belfry broker`: an embedded broker with the contract's topics, until it is told to stop.
///
/// For trying out only: it keeps little, drops the oldest silently, and forgets everything when it ends.
public struct EmbeddedBrokerRole: Service {
    private let layout: TopicLayout
    private let onReady: @Sendable (String) -> Void

    /// - Parameter onReady: called once with the address (`host:port`) when the broker takes connections.
    public init(_ layout: TopicLayout, onReady: @escaping @Sendable (String) -> Void) {
        self.layout = layout
        self.onReady = onReady
    }

    public func run() async throws {
        let broker = try EmbeddedBroker(topics: layout.topics.map { ($0.name, $0.partitions) })
        defer { broker.close() }
        onReady(broker.bootstrapServers)
        // Cancelled means stopped, too.
        try? await gracefulShutdown()
    }
}
