import BelfrySupport
import PushTopics
import Testing

@testable import KafkaClient
@testable import PipelineTestSupport
@testable import Sender

/// A log that would lose notifications, which a worker refuses to begin with.
@Suite("The check of the log at the start", .timeLimit(.minutes(1)))
struct LogCheckTests {
    /// The sentence of a refusal of the configuration, which ends the role with exit code 78; nil: the check passed, or
    /// failed in another way.
    private func refusal(_ check: () throws -> Void) -> String? {
        do {
            try check()
            return nil
        } catch {
            return (error as? ConfigurationError).map { "\($0)" }
        }
    }

    @Test("A compacted push.requests is a wrong configuration, and one that only deletes is not")
    func compacted() throws {
        for policy in ["compact", "compact,delete"] {
            let text = refusal { try LogCheck.checkCleanup(["cleanup.policy": policy], of: "push.requests") }
            let sentence = try #require(text)
            #expect(sentence.contains("push.requests: cleanup.policy") && sentence.contains("found \(policy);"))
            #expect(sentence.contains("compaction deletes notifications that were not sent"))
        }
        for settings in [["cleanup.policy": "delete"], [:]] {
            try LogCheck.checkCleanup(settings, of: "push.requests")
        }
    }

    @Test("Notifications that an earlier version parked are a wrong configuration until they have returned")
    func parked() throws {
        let broker = try EmbeddedBroker(topics: [("push.requests", 1), (TopicNames().formerlyParked, 2)])
        defer { broker.close() }
        var configuration = BelfryConfiguration()
        configuration.kafka.brokers = broker.bootstrapServers
        let check = LogCheck(configuration, TopicNames(), logger: LogLines().logger)
        func commit(_ metadata: String) throws {
            let place = KafkaTopicPartition(topic: TopicNames().formerlyParked, partition: 1)
            try KafkaConsumer.commit(
                [KafkaPartitionOffset(place, offset: 7, metadata: metadata)],
                group: configuration.worker.groupID,
                properties: configuration.kafka.adminProperties(clientID: "test")
            )
        }
        _ = try check.check()
        try commit("1;0.0-0.3")
        let sentence = try #require(refusal { _ = try check.check() })
        #expect(sentence.contains("push.parked") && sentence.contains("in partition 1 from offset 7"))
        #expect(sentence.contains("run the earlier version until they have returned"))
        try commit("")
        _ = try check.check()
    }
}
