import KafkaClient
import Testing

@Suite("Admin", .serialized, .timeLimit(.minutes(2)))
struct KafkaAdminTests {
    @Test("A topic is created with what was asked for, and one that exists is left as it is")
    func createTopic() throws {
        let broker = try TestBroker(.foreign)
        defer { broker.close() }
        let admin = try KafkaAdmin(properties: ["bootstrap.servers": broker.bootstrapServers])
        defer { admin.close() }
        let name = "\(broker.topic)-new"
        func create(_ partitions: Int) throws -> Bool {
            try admin.createTopic(
                name,
                partitions: partitions,
                replication: 1,
                configuration: [("cleanup.policy", "compact")],
                timeoutMilliseconds: 10_000
            )
        }
        #expect(try create(3))
        #expect(try !create(5))
        #expect(try admin.partitionCount(of: name, timeoutMilliseconds: 10_000) == 3)
    }

    @Test("What cannot be created says which topic and why")
    func refused() throws {
        let broker = try TestBroker(.foreign)
        defer { broker.close() }
        let admin = try KafkaAdmin(properties: ["bootstrap.servers": broker.bootstrapServers])
        defer { admin.close() }
        let error = #expect(throws: KafkaError.self) {
            try admin.createTopic("zero", partitions: 0, timeoutMilliseconds: 10_000)
        }
        #expect(error?.message.contains("zero") == true)
    }

    @Test("A topic that does not exist is an error, and asking does not create it", arguments: BrokerKind.allCases)
    func unknownTopic(kind: BrokerKind) throws {
        let broker = try TestBroker(kind, partitions: 5)
        defer { broker.close() }
        let admin = try KafkaAdmin(properties: ["bootstrap.servers": broker.bootstrapServers])
        defer { admin.close() }
        let name = "\(broker.topic)-none"
        for _ in 0..<2 {
            let error = #expect(throws: KafkaError.self) {
                try admin.partitionCount(of: name, timeoutMilliseconds: 10_000)
            }
            #expect(error?.isUnknownTopicOrPartition == true)
            #expect(error?.message.contains(name) == true)
        }
        #expect(try admin.partitionCount(of: broker.topic, timeoutMilliseconds: 10_000) == 5)
        try admin.checkReachable(timeoutMilliseconds: 10_000)
    }

    @Test("A topic with a partition without a leader cannot be written to")
    func leaders() throws {
        let broker = try EmbeddedBroker(topics: [("whole", 3), ("broken", 3)])
        defer { broker.close() }
        let admin = try KafkaAdmin(properties: ["bootstrap.servers": broker.bootstrapServers])
        defer { admin.close() }
        try admin.checkLeaders(of: "broken", timeoutMilliseconds: 10_000)
        broker.removeLeader(of: "broken", partition: 1)
        let error = #expect(throws: KafkaError.self) {
            try admin.checkLeaders(of: "broken", timeoutMilliseconds: 10_000)
        }
        #expect(error?.message.contains("partition 1 has no leader") == true)
        try admin.checkLeaders(of: "whole", timeoutMilliseconds: 10_000)
        let missing = #expect(throws: KafkaError.self) {
            try admin.checkLeaders(of: "none", timeoutMilliseconds: 10_000)
        }
        #expect(missing?.isUnknownTopicOrPartition == true)
    }

    @Test("A broker that cannot be reached is named, with the reason")
    func unreachable() throws {
        let admin = try KafkaAdmin(properties: ["bootstrap.servers": unreachableBroker])
        defer { admin.close() }
        let error = #expect(throws: KafkaError.self) { try admin.checkReachable(timeoutMilliseconds: 500) }
        #expect(error?.message.contains("broker \(unreachableBroker) unreachable") == true)
        #expect(error?.message.contains("refused") == true)
        #expect(error?.isRetriable == true)
    }

    @Test("The watermarks say what a partition holds", arguments: BrokerKind.allCases)
    func watermarks(kind: BrokerKind) throws {
        let broker = try TestBroker(kind, partitions: 2)
        defer { broker.close() }
        try broker.fill(0..<12, partition: 1)
        let admin = try KafkaAdmin(properties: ["bootstrap.servers": broker.bootstrapServers])
        defer { admin.close() }
        #expect(try admin.watermarks(of: broker.places[0], timeoutMilliseconds: 10_000).high == 0)
        let filled = try admin.watermarks(of: broker.places[1], timeoutMilliseconds: 10_000)
        #expect(filled.low == 0 && filled.high == 12)
    }

    @Test(
        "A topic's settings are those it was created with and the broker's; a topic that does not exist has none"
    )
    func settings() throws {
        let broker = try TestBroker(.foreign)
        defer { broker.close() }
        let admin = try KafkaAdmin(properties: ["bootstrap.servers": broker.bootstrapServers])
        defer { admin.close() }
        let name = "\(broker.topic)-compact"
        try admin.createTopic(
            name,
            partitions: 1,
            replication: 1,
            configuration: [("cleanup.policy", "compact")],
            timeoutMilliseconds: 10_000
        )
        #expect(try admin.topicSettings(of: name, timeoutMilliseconds: 10_000)["cleanup.policy"] == "compact")
        let plain = try admin.topicSettings(of: broker.topic, timeoutMilliseconds: 10_000)
        #expect(plain["cleanup.policy"] == "delete")
        #expect(plain["retention.ms"].flatMap { Int64($0) } != nil)
        let error = #expect(throws: KafkaError.self) {
            try admin.topicSettings(of: "\(broker.topic)-none", timeoutMilliseconds: 10_000)
        }
        #expect(error?.isUnknownTopicOrPartition == true)
        #expect(error?.isUnsupported == false)
        #expect(error?.message.contains("\(broker.topic)-none") == true)
    }

    @Test("A cluster that cannot be asked for settings is told apart from one that does not answer")
    func settingsUnsupported() throws {
        let broker = try TestBroker(.embedded)
        defer { broker.close() }
        let admin = try KafkaAdmin(properties: ["bootstrap.servers": broker.bootstrapServers])
        defer { admin.close() }
        let error = #expect(throws: KafkaError.self) {
            try admin.topicSettings(of: broker.topic, timeoutMilliseconds: 10_000)
        }
        #expect(error?.isUnsupported == true)
        #expect(error?.isRetriable == false)
        broker.goDown()
        let other = #expect(throws: KafkaError.self) {
            try admin.topicSettings(of: broker.topic, timeoutMilliseconds: 300)
        }
        #expect(other?.isUnsupported == false)
    }

    @Test("Lines of the log are handed on: with the reason of a call that failed, or when the client is closed")
    func log() throws {
        // Of no use any more, says librdkafka when the client is made.
        let old = "reconnect.backoff.jitter.ms"
        for isAsked in [false, true] {
            let admin = try KafkaAdmin(properties: ["bootstrap.servers": unreachableBroker, old: "5"])
            var lines: [KafkaLogLine] = []
            admin.onLog = { lines.append($0) }
            if isAsked {
                #expect(throws: KafkaError.self) { try admin.checkReachable(timeoutMilliseconds: 500) }
                #expect(lines.contains { $0.facility == "FAIL" && $0.message.contains("refused") })
            } else {
                #expect(lines.isEmpty)
            }
            admin.close()
            #expect(lines.contains { $0.facility == "CONFWARN" && $0.level == 4 && $0.message.contains(old) })
        }
    }

    @Test("A closed client says so")
    func closed() throws {
        let admin = try KafkaAdmin(properties: ["bootstrap.servers": unreachableBroker])
        admin.close()
        admin.close()
        let error = #expect(throws: KafkaError.self) { try admin.checkReachable(timeoutMilliseconds: 1) }
        #expect(error?.isClosed == true)
    }
}
