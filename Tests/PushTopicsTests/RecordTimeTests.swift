import BelfrySupport
import KafkaClient
import Testing

@testable import PipelineTestSupport
@testable import PushTopics

@Suite("The time of records that are witnesses", .timeLimit(.minutes(1)))
struct RecordTimeTests {
    private func remedy(_ settings: [String: String]) -> String? {
        RecordTimeCheck.remedy(for: "push.registrations", settings, brokers: "a:1,b:2")
    }

    @Test("A topic whose records have their producers' time is mended by the command that is told")
    func producersTime() {
        #expect(
            remedy(["message.timestamp.type": "CreateTime"])
                == "kafka-configs.sh --bootstrap-server a:1,b:2 --alter --entity-type topics "
                + "--entity-name push.registrations --add-config message.timestamp.type=LogAppendTime"
        )
    }

    @Test("A topic whose records have the broker's time is right, and one of which nothing is known is not blamed")
    func brokersTime() {
        #expect(remedy(["message.timestamp.type": "LogAppendTime", "cleanup.policy": "delete"]) == nil)
        #expect(remedy(["cleanup.policy": "delete"]) == nil)
        #expect(remedy([:]) == nil)
    }

    @Test("A broker that cannot answer is no reason to warn, or to fail")
    func unknown() async throws {
        let broker = try EmbeddedBroker(topics: [(name: "push.registrations", partitions: 1)])
        defer { broker.close() }
        var settings = KafkaSettings()
        settings.brokers = broker.bootstrapServers
        let lines = LogLines()
        await RecordTimeCheck(["push.registrations"], settings, logger: lines.logger).run()
        #expect(lines.messages.isEmpty)
    }
}
