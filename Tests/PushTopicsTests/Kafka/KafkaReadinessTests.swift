import BelfrySupport
import Testing

@testable import KafkaClient
@testable import PipelineTestSupport
@testable import PushTopics

@Suite("Waiting for Kafka at the start", .timeLimit(.minutes(1)))
struct KafkaReadinessTests {
    private func settings(_ broker: EmbeddedBroker) -> KafkaSettings {
        var settings = KafkaSettings()
        settings.brokers = broker.bootstrapServers
        return settings
    }

    @Test("The partitions of Kafka topics are told: of those that have to be there, and of the others if they are")
    func counts() async throws {
        let topics = [(name: "a", partitions: 2), (name: "b", partitions: 3), (name: "c", partitions: 1)]
        let broker = try EmbeddedBroker(topics: topics)
        defer { broker.close() }
        let readiness = KafkaReadiness(settings(broker), logger: LogLines().logger)
        #expect(try await readiness.waitForTopics(["a"], others: ["a", "b", "d"]) == ["a": 2, "b": 3])
        #expect(try await readiness.waitForTopics(["a", "c"]) == ["a": 2, "c": 1])
    }

    @Test("A Kafka topic that is missing is told by its name, and waited for until the role is to stop")
    func missing() async throws {
        let broker = try EmbeddedBroker(topics: [(name: "a", partitions: 2)])
        defer { broker.close() }
        let (settings, lines) = (settings(broker), LogLines())
        let waiting = Task {
            try await KafkaReadiness(settings, logger: lines.logger).waitForTopics(["a", "b"], others: ["c"])
        }
        await lines.next("Kafka is not ready; trying again")
        waiting.cancel()
        await #expect(throws: CancellationError.self) { _ = try await waiting.value }
        #expect(lines.errors.first?.contains("topic b") == true)
    }
}
