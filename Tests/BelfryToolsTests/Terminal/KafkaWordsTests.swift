import PushTopics
import Testing

@testable import BelfrySupport
@testable import BelfryTools
@testable import KafkaClient

/// The words of Kafka's client library on the standard error of a command.
@Suite struct KafkaWordsTests {
    @Test(
        "Warnings and worse are told, everything else is not",
        arguments: [(0, true), (3, true), (4, true), (5, false), (6, false), (7, false)] as [(Int32, Bool)]
    )
    func severity(level: Int32, isTold: Bool) {
        var told: [String] = []
        KafkaWords.tell(KafkaLogLine(level: level, facility: "REQTMOUT", message: "m")) { told.append($0) }
        #expect(told == (isTold ? ["librdkafka: m [REQTMOUT]"] : []))
    }

    @Test("A command's client tells a warning of its configuration, though no broker is there to answer")
    func warning() throws {
        var settings = KafkaSettings()
        settings.brokers = "127.0.0.1:1"
        settings.properties.append(.init(name: "reconnect.backoff.jitter.ms", value: "5"))
        settings.properties.append(.init(name: "fetch.wait.max.ms", value: "100"))
        var told: [String] = []
        let admin = try KafkaAdmin(forCommand: settings, clientID: "test") { told.append($0) }
        // Not the refused connection: that is in the error.
        #expect(throws: KafkaError.self) { try admin.checkReachable(timeoutMilliseconds: 200) }
        admin.close()
        #expect(told.count == 1)
        #expect(told.first?.hasPrefix("librdkafka: ") == true)
        #expect(told.first?.contains("reconnect.backoff.jitter.ms is deprecated") == true)
    }

    @Test("The clients of a command that publishes or reads letters tell their warnings, each its own")
    func clients() throws {
        let topics = ["push.requests", "push.dead-letters"]
        let broker = try EmbeddedBroker(topics: topics.map { (name: $0, partitions: 1) })
        defer { broker.close() }
        var settings = KafkaSettings()
        settings.brokers = broker.bootstrapServers
        settings.properties.append(.init(name: "reconnect.backoff.jitter.ms", value: "5"))
        // Of the client that asks for the topic, and of the one that does the work.
        var told: [String] = []
        try RecordProducer(settings, topic: topics[0]) { told.append($0) }.finish()
        #expect(told.count == 2)
        let log = try DeadLetterReader(settings, topic: topics[1]) { told.append($0) }
        log.close()
        #expect(told.count == 4)
        for text in told { #expect(text.contains("reconnect.backoff.jitter.ms is deprecated")) }
    }
}
