import Foundation
import KafkaClient
import PushSchemas
import PushTopics
import RequestLanes
import Testing

@testable import BelfrySupport
@testable import BelfryTools

/// `belfry dead-letters`.
@Suite struct DeadLetterToolTests {
    private let news = "com.example.news"

    /// A letter as the roles write it.
    private func letter(
        _ reason: String,
        value: [UInt8] = [],
        source: String = "push.requests",
        key: String = "com.example.news",
        _ more: [String: String] = [:],
        at offset: Int64 = 17
    ) -> StoredDeadLetter {
        var headers = [
            "reason": reason, "detail": "d\u{1b}[31m", "source-topic": source, "source-partition": "5",
            "source-offset": "3",
        ]
        headers.merge(more) { _, own in own }
        let record = KafkaRecord(
            topic: "push.dead-letters",
            partition: 2,
            offset: offset,
            key: Array(key.utf8),
            value: value,
            timestampMilliseconds: 1_366_709_400_250,
            headers: headers.map { ($0.key, Array($0.value.utf8)) }
        )
        let batch = KafkaBatch([record])
        return withExtendedLifetime(batch) { StoredDeadLetter(batch[0]) }
    }

    @Test("A line has seven columns, and nothing in it moves a terminal's cursor")
    func line() {
        #expect(
            DeadLetterLine(letter: letter("token-length", ["token-indices": "0-4,7"])).text
                == "2013-04-23T09:30:00.250Z  token-length  com.example.news  push.requests[5]@3  0-4,7  2@17  d·[31m"
        )
        #expect(DeadLetterLine(letter: letter("key-missing", key: "")).text.contains("  key-missing  -  push"))
    }

    @Test("A letter is meant if it fits everything that is set")
    func filter() {
        let letter = letter("payload-invalid")
        func admits(_ set: (inout DeadLetterFilter) -> Void) -> Bool {
            var filter = DeadLetterFilter()
            set(&filter)
            return filter.admits(letter)
        }
        #expect(admits { _ in })
        #expect(admits { $0.reasons = ["payload-invalid", "x"] } && !admits { $0.reasons = ["x"] })
        #expect(admits { $0.bundleIDs = [news] } && !admits { $0.bundleIDs = ["x"] })
        #expect(admits { $0.since = 1_366_709_400_250 } && !admits { $0.since = 1_366_709_400_251 })
    }

    @Test("A whole record comes back byte by byte, with headers that tell where from")
    func whole() throws {
        let record = try ReplayedRecord(
            letter("environment-unknown", value: [0xFF, 1], ["content-type": "application/json", "traceparent": "t"])
        )
        #expect(record.topic == "push.requests" && record.key == Array(news.utf8) && record.value == [0xFF, 1])
        let headers = Dictionary(
            uniqueKeysWithValues: record.headers.map { ($0.name, String(decoding: $0.value, as: UTF8.self)) }
        )
        #expect(
            headers == [
                "content-type": "application/json", "traceparent": "t",
                "replayed-from": "push.dead-letters[2]@17", "replayed-source": "push.requests[5]@3",
            ]
        )
    }

    @Test(
        "A request comes back into the lane that it came from, and is shown as a request",
        arguments: RequestLane.allCases
    )
    func lanes(lane: RequestLane) throws {
        for prefix in ["", "x."] {
            let names = TopicNames(prefix: prefix)
            let value: [UInt8] = try PushSendRequest.with { $0.payloadJson = "{}" }.serializedBytes()
            let letter = letter("environment-unknown", value: value, source: names.requests(lane))
            #expect(try ReplayedRecord(letter, names).topic == names.requests(lane))
            #expect(DeadLetterLine(letter: letter, names: names).whole.text.contains(#"\"payloadJson\":\"{}\""#))
            // Of another installation, and of a lane that there is not.
            for source in ["y.\(names.requests(lane))", "\(names.requests(lane)).slow"] {
                let foreign = self.letter("environment-unknown", value: value, source: source)
                #expect(throws: ToolError.self) { try ReplayedRecord(foreign, names) }
            }
        }
    }

    @Test("Of a request of which some tokens were at fault only those come back")
    func tokens() throws {
        let packed = PushSendRequest.with {
            $0.payloadJson = "{}"
            $0.packedTokens = Data((0..<4 as Range<UInt8>).flatMap { Array(repeating: $0, count: 32) })
        }
        let record = try ReplayedRecord(
            letter("token-length", value: packed.serializedBytes(), ["token-indices": "1,3"])
        )
        let rest = try PushSendRequest(serializedBytes: record.value)
        #expect(rest.packedTokens == Data([1, 3].flatMap { Array(repeating: $0 as UInt8, count: 32) }))
        #expect(rest.payloadJson == "{}")
        let listed = PushSendRequest.with {
            $0.tokens = ["aa", "bb", "cc"].map { hex in PushDeviceToken.with { $0.hex = hex } }
        }
        let json = try ReplayedRecord(
            letter(
                "token-length",
                value: listed.jsonUTF8Bytes(),
                ["token-indices": "0-1", "content-type": "application/json"]
            )
        )
        #expect(try PushSendRequest(jsonUTF8Bytes: json.value).tokens.map(\.hex) == ["aa", "bb"])
    }

    @Test("What cannot come back as it was is refused")
    func refused() {
        for letter in [
            letter("value-too-large", ["cut-from-bytes": "2000000"]), letter("x", source: "push.outcomes"),
            letter("x", source: ""), letter("x", value: [0xFF], ["token-indices": "1"]),
            letter("x", ["token-indices": "3-1"]),
        ] {
            #expect(throws: ToolError.self) { try ReplayedRecord(letter) }
        }
    }

    // MARK: Checkpoints

    @Test("A time that is typed relative to now is the same order each time, and that of the first command counts")
    func relativeTime() throws {
        try withFile { file in
            var filter = DeadLetterFilter()
            filter.sinceText = "6h"
            filter.since = 1_000
            let order = ReplayCheckpoint.order(filter, brokers: "a:1,b:2")
            try ReplayCheckpoint(order: order, since: filter.since, next: [3: 7]).write(file)
            filter.since = 9_000
            let again = ReplayCheckpoint.order(filter, brokers: "b:2, a:1")
            let found = try #require(try ReplayCheckpoint.read(file, of: again))
            #expect(found.since == 1_000 && found.next == [3: 7])
        }
    }

    @Test("A checkpoint of another order or of other brokers is neither used nor overwritten")
    func otherOrders() throws {
        try withFile { file in
            var filter = DeadLetterFilter()
            filter.reasons = ["payload-invalid"]
            #expect(try ReplayCheckpoint.read(file, of: "x") == nil, "there is none yet")
            try ReplayCheckpoint(order: ReplayCheckpoint.order(filter, brokers: "staging:9092")).write(file)
            for (reasons, brokers) in [(["payload-invalid"], "production:9092"), (["key-missing"], "staging:9092")] {
                var settings = KafkaSettings()
                settings.brokers = brokers
                var order = DeadLetterReplay.Order()
                order.filter.reasons = Set(reasons)
                order.checkpoint = file
                #expect(throws: ToolError.self) { try DeadLetterReplay(settings, order) }
            }
            try Data("{".utf8).write(to: URL(fileURLWithPath: file))
            #expect(throws: ToolError.self) { try ReplayCheckpoint.read(file, of: "x") }
        }
    }

    private func withFile(_ body: (_ path: String) throws -> Void) throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "belfry-replay-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: file) }
        try body(file)
    }

    // MARK: Brokers

    @Test("A log that brings nothing is told of once, and given up in the end; what comes begins the wait anew")
    func patience() {
        var patience = LogPatience(notice: .seconds(2), limit: .seconds(60))
        let begun = ContinuousClock.now
        func actions(_ seconds: [Int]) -> [LogPatience.Action] {
            seconds.map { patience.nothingCame(now: begun + .seconds($0)) }
        }
        #expect(actions([0, 1, 2, 3, 59]) == [.wait, .wait, .tell, .wait, .wait])
        patience.came()
        #expect(actions([60, 61, 62, 119, 120]) == [.wait, .wait, .tell, .wait, .giveUp])
    }

    @Test("Brokers that go away while letters are read end the command")
    func brokersGone() throws {
        let broker = try EmbeddedBroker(topics: [(name: "push.dead-letters", partitions: 2)])
        var isOpen = true
        defer { if isOpen { broker.close() } }
        var settings = KafkaSettings()
        settings.brokers = broker.bootstrapServers
        let producer = try KafkaProducer(properties: settings.producerProperties(clientID: "test"))
        let value = [UInt8](repeating: 1, count: 100_000)
        for index in 0..<20 {
            try producer.produce(
                topic: "push.dead-letters",
                partition: Int32(index % 2),
                key: Array(news.utf8),
                value: value,
                headers: []
            )
        }
        try producer.flush(timeoutMilliseconds: 10_000)
        producer.close()
        // One message a fetch, so that the log is not at hand as a whole.
        settings.properties = [
            .init(name: "fetch.message.max.bytes", value: "1000"), .init(name: "queued.min.messages", value: "1"),
        ]
        var told: [String] = []
        let log = try DeadLetterReader(
            settings,
            topic: "push.dead-letters",
            patience: LogPatience(notice: .milliseconds(10), limit: .milliseconds(200)),
            tell: { told.append($0) }
        )
        defer { log.close() }
        #expect(throws: ToolError.self) {
            try log.readAll { _ in
                if isOpen { broker.close() }
                isOpen = false
                return true
            }
        }
        #expect(told.last == "waiting for the brokers at \(settings.brokers)")
    }

    @Test("A letter of a lane whose Kafka topic is gone is told of before anything is published")
    func missingLane() throws {
        let topics = ["push.dead-letters", "push.requests"].map { (name: $0, partitions: 1) }
        let broker = try EmbeddedBroker(topics: topics)
        defer { broker.close() }
        var settings = KafkaSettings()
        settings.brokers = broker.bootstrapServers
        let producer = try KafkaProducer(properties: settings.producerProperties(clientID: "test"))
        for source in ["push.requests", "push.requests.bulk"] {
            let headers = ["reason": "payload-invalid", "source-topic": source]
            try producer.produce(
                topic: "push.dead-letters",
                key: Array(news.utf8),
                value: [1],
                headers: headers.map { ($0.key, Array($0.value.utf8)) }
            )
        }
        try producer.flush(timeoutMilliseconds: 10_000)
        producer.close()
        let replay = try DeadLetterReplay(settings, DeadLetterReplay.Order())
        defer { replay.close() }
        #expect(try replay.plan().replayable == 2)
        #expect {
            try replay.run()
        } throws: { error in
            "\(error)".contains("push.requests.bulk") && "\(error)".contains("belfry topics create")
        }
        let log = try DeadLetterReader(settings, topic: "push.requests")
        defer { log.close() }
        try log.readAll { _ in
            Issue.record("published")
            return true
        }
    }

    @Test("Letters are listed, shown, and published again once, also when the command is given again")
    func replay() throws {
        let topics = TopicLayout(partitions: 2).topics.map { (name: $0.name, partitions: $0.partitions) }
        let broker = try EmbeddedBroker(topics: topics)
        defer { broker.close() }
        var settings = KafkaSettings()
        settings.brokers = broker.bootstrapServers
        let producer = try KafkaProducer(properties: settings.producerProperties(clientID: "test"))
        for (index, reason) in ["payload-invalid", "key-missing", "payload-invalid"].enumerated() {
            let headers = [
                "reason": reason, "source-topic": "push.requests", "source-partition": "0", "source-offset": "\(index)",
            ]
            try producer.produce(
                topic: "push.dead-letters",
                partition: Int32(index % 2),
                key: Array(news.utf8),
                value: [UInt8(index)],
                headers: headers.map { ($0.key, Array($0.value.utf8)) }
            )
        }
        try producer.flush(timeoutMilliseconds: 10_000)
        producer.close()
        func listed(_ topic: String) throws -> Int {
            let log = try DeadLetterReader(settings, topic: topic)
            defer { log.close() }
            var count = 0
            try log.readAll { _ in
                count += 1
                return true
            }
            return count
        }
        #expect(try listed("push.dead-letters") == 3)
        #expect(try DeadLetterListing.whole(settings, partition: 1, offset: 0).reason == "key-missing")
        #expect(throws: ToolError.self) { try DeadLetterListing.whole(settings, partition: 1, offset: 7) }
        let file = FileManager.default.temporaryDirectory.appending(path: "belfry-replay-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: file) }
        var order = DeadLetterReplay.Order()
        order.filter.reasons = ["payload-invalid"]
        order.checkpoint = file
        // As if the command had ended behind the first.
        let text = ReplayCheckpoint.order(order.filter, brokers: settings.brokers)
        try ReplayCheckpoint(order: text, next: [0: 1]).write(file)
        for expected in [1, 2] {
            let replay = try DeadLetterReplay(settings, order)
            defer { replay.close() }
            #expect(try replay.plan().replayable == expected)
            #expect(try replay.run() == expected)
            #expect(!FileManager.default.fileExists(atPath: file), "nothing is left to remember")
        }
        #expect(try listed("push.requests") == 3)
    }
}
