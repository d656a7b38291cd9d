import APNsProtocol
import BelfryTools
import KafkaClient
import Logging
import PushSchemas
import PushTopics
import SwiftProtobuf
import Synchronization
import Testing

@testable import BelfrySupport
@testable import PipelineTestSupport

/// The tools against the embedded broker, which speaks Kafka's own protocol over sockets.
@Suite("Tools and a broker")
struct ToolBrokerTests {
    @Test("What is published arrives, every token once, under the key of its shard", arguments: RecordFormat.allCases)
    func publish(format: RecordFormat) throws {
        try withBroker { settings in
            let tokens = (0..<100).map { [UInt8($0)] + [UInt8](repeating: 1, count: 31) }
            var order = PublishOrder(
                bundleID: "com.example.news",
                tokens: .listed(tokens.map { Hex.encode($0) }),
                content: .payload(Array(#"{"aps":{}}"#.utf8)),
                requestID: "r-1"
            )
            order.format = format
            order.spread = 3
            order.tokensPerRecord = 7
            let report = try Publisher.publish(order, through: settings)
            #expect(report.tokens == 100)
            var found: [[UInt8]] = []
            try read(report.records, from: "push.requests", settings) { message in
                let type = RecordContentType(header: message.header(RecordContentType.headerName))
                let view = try SendRequestView(decoding: message.value, as: type)
                let key = try RecordKeyView(parsing: message.key)
                for index in 0..<view.tokenCount {
                    let token = view.token(at: index).bytes
                    #expect(key.shard == RecordKey.shard(of: token, spread: 3))
                    found.append(Array(token))
                }
            }
            #expect(found.sorted { $0[0] < $1[0] } == tokens)
        }
    }

    @Test("Registrations arrive, one record a token")
    func register() throws {
        try withBroker { settings in
            let token = [UInt8](repeating: 5, count: 32)
            var order = RegistrationOrder(bundleID: "com.example.news", tokens: .listed([Hex.encode(token)]))
            order.locale = "pt-BR"
            #expect(try Publisher.register(order, through: settings).records == 1)
            try read(1, from: "push.registrations", settings) { message in
                let registration: PushRegistration = try RequestDecoding.decode(from: message.value, as: .protobuf)
                #expect(try registration.token.bytes() == token)
                #expect(registration.locale == "pt-BR")
                #expect(String(decoding: message.key, as: UTF8.self) == "com.example.news")
            }
        }
    }

    @Test("A mistake in the order is told before a broker is asked for")
    func checkedFirst() {
        var nowhere = KafkaSettings()
        nowhere.brokers = "127.0.0.1:1"
        let order = PublishOrder(bundleID: "a.b", tokens: .listed(["00"]), content: .payload([]), requestID: "r")
        #expect {
            try Publisher.publish(order, through: nowhere)
        } throws: { error in
            if case ToolError.invalidInput(let lines) = error { lines.count == 2 } else { false }
        }
    }

    @Test("A topic that does not exist is named, with the command that creates it")
    func missingTopic() throws {
        let broker = try EmbeddedBroker(topics: [(name: "other", partitions: 1)])
        defer { broker.close() }
        var settings = KafkaSettings()
        settings.brokers = broker.bootstrapServers
        let order = RegistrationOrder(bundleID: "a.b", tokens: .listed([String(repeating: "00", count: 32)]))
        #expect {
            try Publisher.register(order, through: settings)
        } throws: { error in
            "\(error)".contains("push.registrations") && "\(error)".contains("belfry topics create")
        }
    }

    @Test("A lane without a Kafka topic is named, with the command that creates it, and nothing is published")
    func missingLane() throws {
        let broker = try EmbeddedBroker(topics: [(name: "push.requests", partitions: 1)])
        defer { broker.close() }
        var settings = KafkaSettings()
        settings.brokers = broker.bootstrapServers
        var order = PublishOrder(
            bundleID: "a.b",
            tokens: .listed([String(repeating: "00", count: 32)]),
            content: .payload(Array(#"{"aps":{}}"#.utf8)),
            requestID: "r"
        )
        order.lane = .bulk
        #expect {
            try Publisher.publish(order, through: settings)
        } throws: { error in
            guard case ToolError.kafka(let words) = error else { return false }
            return words.contains("push.requests.bulk") && words.hasSuffix("; belfry topics create makes it")
        }
        #expect(try contents(of: "push.requests", brokers: settings.brokers).isEmpty)
    }

    @Test("A property that the client does not know is wrong configuration")
    func unknownProperty() throws {
        try withBroker { settings in
            var settings = settings
            settings.properties = [.init(name: "no.such.property", value: "1")]
            let order = RegistrationOrder(bundleID: "a.b", tokens: .listed([String(repeating: "00", count: 32)]))
            #expect {
                try Publisher.register(order, through: settings)
            } throws: { error in
                ExitStatus(for: error) == .configuration && "\(error)".contains("no.such.property")
            }
        }
    }

    @Test("Topics that exist are reported, not created again")
    func topicsExist() throws {
        try withBroker { settings in
            let report = try TopicSetup.create(TopicLayout(partitions: 2), replication: -1, through: settings)
            #expect(report.topics.count == 9)
            #expect(report.topics.allSatisfy { !$0.isNew && $0.partitions == ($0.name == "push.controls" ? 1 : 2) })
            #expect {
                try TopicSetup.create(TopicLayout(partitions: 3), replication: -1, through: settings)
            } throws: { error in
                "\(error)".contains("push.requests exists with 2 partitions, not 3")
            }
        }
    }

    @Test("Outcomes are followed from the beginning, up to the limit; what is no outcome is told and counted")
    func outcomes() async throws {
        let broker = try EmbeddedBroker(topics: [(name: "push.outcomes", partitions: 1)])
        defer { broker.close() }
        var settings = KafkaSettings()
        settings.brokers = broker.bootstrapServers
        let producer = try KafkaProducer(properties: settings.producerProperties(clientID: "test"))
        let outcome = PushOutcome.with {
            $0.kind = .rejected
            $0.status = 8
        }
        let value: [UInt8] = try outcome.serializedBytes()
        for value in [value, Array("rubbish".utf8), value, value] {
            try producer.produce(topic: "push.outcomes", key: Array("a.b".utf8), value: value)
        }
        try producer.flush(timeoutMilliseconds: 10_000)
        producer.close()
        let lines = Mutex<[UInt8]>([])
        let follower = OutcomeFollower(settings, .showing(from: .beginning, limit: 3)) { bytes in
            lines.withLock { $0 += bytes }
            return true
        }
        try await RoleRunner.run(follower, logger: Logger(label: "test"))
        let text = lines.withLock { String(decoding: $0, as: UTF8.self) }
        let found = text.split(separator: "\n")
        #expect(found.count == 3)
        #expect(found[0].hasPrefix(#"{"outcome":"rejected""#))
        #expect(found[1].hasPrefix(#"{"undecodable":"#))
        #expect(found[1].hasSuffix(#""partition":0,"offset":1}"#))
    }

    @Test("The follower ends when its output is not read any more")
    func brokenPipe() async throws {
        let broker = try EmbeddedBroker(topics: [(name: "push.outcomes", partitions: 1)])
        defer { broker.close() }
        var settings = KafkaSettings()
        settings.brokers = broker.bootstrapServers
        let producer = try KafkaProducer(properties: settings.producerProperties(clientID: "test"))
        try producer.produce(topic: "push.outcomes", key: nil, value: Array("x".utf8))
        try producer.flush(timeoutMilliseconds: 10_000)
        producer.close()
        let follower = OutcomeFollower(settings, .showing(from: .beginning, limit: nil)) { _ in false }
        try await RoleRunner.run(follower, logger: Logger(label: "test"))
    }

    private func withBroker(_ body: (KafkaSettings) throws -> Void) throws {
        let topics = TopicLayout(partitions: 2).topics.map { (name: $0.name, partitions: $0.partitions) }
        let broker = try EmbeddedBroker(topics: topics)
        defer { broker.close() }
        var settings = KafkaSettings()
        settings.brokers = broker.bootstrapServers
        try body(settings)
    }

    /// Calls `body` with every message of a topic; an issue if there are not `count`.
    private func read(
        _ count: Int,
        from topic: String,
        _ settings: KafkaSettings,
        _ body: (KafkaMessageView) throws -> Void
    ) throws {
        var found = 0
        for batch in try contents(of: topic, brokers: settings.brokers) {
            for index in 0..<batch.count { try body(batch[index]) }
            found += batch.count
        }
        #expect(found == count)
    }
}
