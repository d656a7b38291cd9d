import BelfrySupport
import KafkaTestSupport
import Logging
import Synchronization
import Testing

@testable import KafkaClient
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

    @Test("A broker that says that records have their producers' time is the reason of a warning for each topic")
    func warning() async throws {
        let broker = try ForeignBroker()
        defer { broker.remove() }
        let topics = ["push.registrations", "push.tombstones"]
        let admin = try KafkaAdmin(properties: ["bootstrap.servers": broker.bootstrapServers])
        defer { admin.close() }
        for topic in topics {
            try admin.createTopic(topic, partitions: 1, replication: 1, timeoutMilliseconds: 10_000)
        }
        var settings = KafkaSettings()
        settings.brokers = broker.bootstrapServers
        let lines = LogLines()
        await RecordTimeCheck(topics, settings, logger: lines.logger).run()
        let warning = "records have the time of their producers, which may be wrong"
        #expect(lines.messages == [warning, warning])
    }

    /// Answers as told, one after the other; then with the producers' time.
    private final class Broker: Sendable {
        private let failures: Mutex<[KafkaError]>
        private let asked = Mutex<[String]>([])

        init(_ failures: [KafkaError]) { self.failures = Mutex(failures) }

        var questions: [String] { asked.withLock { $0 } }

        func settings(of topic: String) throws -> [String: String] {
            asked.withLock { $0.append(topic) }
            let failure = failures.withLock { $0.isEmpty ? nil : $0.removeFirst() }
            if let failure { throw failure }
            return ["message.timestamp.type": "CreateTime"]
        }
    }

    private static func failure(_ code: Int32, isRetriable: Bool) -> KafkaError {
        KafkaError(code: code, name: "TEST", message: "scripted", isRetriable: isRetriable, isFatal: false)
    }

    private func check(_ broker: Broker, _ lines: LogLines, pauses: Int = .max) -> RecordTimeCheck {
        let left = Mutex(pauses)
        return RecordTimeCheck(
            ["a", "b"],
            KafkaSettings(),
            logger: lines.logger,
            ask: { topic, _ in try broker.settings(of: topic) },
            pause: { _ in
                let mayGoOn = left.withLock { left in
                    left -= 1
                    return left >= 0
                }
                if !mayGoOn { throw CancellationError() }
            }
        )
    }

    @Test("A broker that is slow at the start is asked again, and each topic is warned of once")
    func slowBroker() async {
        let slow = Self.failure(-185, isRetriable: true)
        let broker = Broker([slow, slow, slow])
        let lines = LogLines()
        await check(broker, lines).run()
        #expect(broker.questions == ["a", "a", "a", "a", "b"])
        #expect(lines.messages.count == 2)
    }

    @Test("A topic that the broker will not tell of is asked for once, and the next one is checked nevertheless")
    func refusal() async {
        let refusal = Self.failure(29, isRetriable: false)
        let lines = LogLines()
        let unwilling = Broker([refusal])
        await check(unwilling, lines).run()
        #expect(unwilling.questions == ["a", "b"])
        #expect(lines.messages == ["records have the time of their producers, which may be wrong"])
        let mute = Broker([refusal, refusal])
        await check(mute, lines).run()
        #expect(mute.questions == ["a", "b"] && lines.messages.count == 1)
    }

    @Test("A broker that never answers is asked until the role stops")
    func end() async {
        let lines = LogLines()
        let silent = Broker(Array(repeating: Self.failure(-185, isRetriable: true), count: 10))
        await check(silent, lines, pauses: 4).run()
        #expect(silent.questions.count == 5 && lines.messages.isEmpty)
    }
}
