import CRdKafka
import Logging
import Testing

@testable import BelfrySupport
@testable import KafkaClient
@testable import PipelineCore
@testable import PipelineTestSupport
@testable import PushTopics

@Suite("Reports of Kafka clients", .timeLimit(.minutes(1)))
struct KafkaReportsTests {
    private static let properties: KafkaProperties = [
        // No broker listens here: the port is reserved and never bound.
        "bootstrap.servers": "127.0.0.1:1", "enable.idempotence": "true",
    ]
    private let health = RoleHealth()
    private let lines = LogLines()
    private var reports: KafkaReports { KafkaReports(health: health, logger: lines.logger) }

    private var troubles: [String] { health.liveness(now: MonotonicTime(nanoseconds: 0)).troubles }

    private func error(isFatal: Bool) -> KafkaError {
        KafkaError(code: -1, name: "_TEST", message: "told", isRetriable: false, isFatal: isFatal)
    }

    /// As librdkafka does when a client cannot go on.
    private func breakForGood(_ handle: KafkaHandle?) {
        guard let handle else { return }
        rd_kafka_test_fatal_error(handle.pointer, RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID, "test")
    }

    @Test("A consumer that failed permanently ends the role, which says why; other trouble is only logged")
    func consumer() throws {
        let consumer = try KafkaConsumer(properties: Self.properties, group: "g", topics: ["t"])
        defer { consumer.close(timeoutMilliseconds: 1_000) }
        reports.watch(consumer)
        consumer.onError?(error(isFatal: false))
        #expect(troubles.isEmpty)
        #expect(lines.messages == ["Kafka client"])
        breakForGood(consumer.handle)
        while troubles.isEmpty { _ = consumer.consumeBatch(max: 10, timeoutMilliseconds: 20) }
        #expect(troubles.count == 1)
        #expect(troubles[0].hasPrefix("Kafka consumer failed permanently: "))
        #expect(troubles[0].contains("FENCED_INSTANCE_ID"))
        #expect(lines.messages.contains("Kafka client failed permanently; the role ends"))
    }

    @Test("A producer that was replaced does not end the role")
    func replaced() throws {
        let producer = try KafkaProducer(properties: Self.properties)
        defer { producer.close(flushMilliseconds: 0) }
        reports.watch(producer)
        breakForGood(producer.handle)
        while producer.renewals == 0 { producer.poll(timeoutMilliseconds: 20) }
        #expect(troubles.isEmpty)
        #expect(
            lines.messages.contains("the Kafka producer was replaced; what it had not delivered is published again")
        )
    }

    @Test("A producer that cannot be replaced ends the role")
    func defunct() throws {
        var isFirst = true
        let producer = try KafkaProducer { inbox throws(KafkaError) in
            guard isFirst else { throw error(isFatal: false) }
            isFirst = false
            return try KafkaConfiguration(Self.properties, defaults: [:], isConsumer: false, inbox: inbox)
                .makeHandle(inbox: inbox)
        }
        defer { producer.close(flushMilliseconds: 0) }
        reports.watch(producer, named: "producer of the sweep")
        breakForGood(producer.handle)
        while troubles.isEmpty { producer.poll(timeoutMilliseconds: 20) }
        #expect(troubles == ["Kafka producer of the sweep failed permanently: told [_TEST]"])
    }

    @Test("A reader that failed permanently ends the role")
    func reader() throws {
        let reader = try KafkaReader(properties: Self.properties)
        defer { reader.close() }
        reports.watch(reader, named: "catch-up reader")
        reader.onError?(error(isFatal: true))
        #expect(troubles == ["Kafka catch-up reader failed permanently: told [_TEST]"])
    }

    @Test(
        "A line of librdkafka's log has its severity in ours",
        arguments: [
            (0, .critical), (1, .critical), (2, .critical), (3, .error), (4, .warning), (5, .notice), (6, .info),
            (7, .debug),
        ] as [(Int32, Logger.Level)]
    )
    func levels(severity: Int32, level: Logger.Level) {
        #expect(KafkaLogLine(level: severity, facility: "REQTMOUT", message: "m").logLevel == level)
    }

    @Test("What a client reports as an error too, or says of other clients' properties, is for debugging")
    func quiet() {
        #expect(KafkaLogLine(level: 3, facility: "FAIL", message: "Connect to broker failed").logLevel == .debug)
        #expect(KafkaLogLine(level: 0, facility: "FATAL", message: "Fatal error").logLevel == .debug)
        let foreign = "Configuration property linger.ms is a producer property and will be ignored by this consumer"
        #expect(KafkaLogLine(level: 4, facility: "CONFWARN", message: foreign).logLevel == .debug)
        #expect(KafkaLogLine(level: 4, facility: "CONFWARN", message: "acks is deprecated").logLevel == .warning)
    }

    @Test("Lines of librdkafka's log reach the role's, from every kind of client")
    func log() throws {
        let consumer = try KafkaConsumer(properties: Self.properties, group: "g", topics: ["t"])
        defer { consumer.close(timeoutMilliseconds: 1_000) }
        let producer = try KafkaProducer(properties: Self.properties)
        defer { producer.close(flushMilliseconds: 0) }
        let reader = try KafkaReader(properties: Self.properties)
        defer { reader.close() }
        reports.watch(consumer)
        reports.watch(producer)
        reports.watch(reader, named: "reader")
        let line = KafkaLogLine(level: 4, facility: "MAXPOLL", message: "m")
        for tell in [consumer.onLog, producer.onLog, reader.onLog] { tell?(line) }
        #expect(lines.messages == ["librdkafka", "librdkafka", "librdkafka"])
    }

    @Test("Lines of clients that live for one question reach the role's log, and its level decides what is written")
    func shortLived() async throws {
        let broker = try EmbeddedBroker(topics: [(name: "push.requests", partitions: 2)])
        defer { broker.close() }
        var settings = KafkaSettings()
        settings.brokers = broker.bootstrapServers
        // Of a consumer: the admin client ignores it, and says so for debugging.
        settings.properties.append(.init(name: "fetch.wait.max.ms", value: "100"))
        var counts: [String: Int] {
            get async throws {
                try await KafkaReadiness(settings, logger: lines.logger).waitForTopics(["push.requests"])
            }
        }
        #expect(try await counts == ["push.requests": 2])
        #expect(lines.messages == [])
        // Of no use any more: a warning.
        settings.properties.append(.init(name: "reconnect.backoff.jitter.ms", value: "5"))
        #expect(try await counts == ["push.requests": 2])
        #expect(lines.messages == ["librdkafka"])
    }
}
