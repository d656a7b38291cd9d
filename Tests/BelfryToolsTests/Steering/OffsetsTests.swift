import BelfrySupport
import PipelineCore
import PushSchemas
import RequestLanes
import Testing

@testable import BelfryTools
@testable import KafkaClient
@testable import PipelineTestSupport

/// `belfry offsets`: what it prints, what it refuses, and the embedded broker's word.
@Suite("Offsets shown and set")
struct OffsetsTests {
    private static let place = KafkaTopicPartition(topic: "push.requests", partition: 0)
    private let known = ["", "sandbox"].map { AppHashNames.Name(bundleID: "com.example.news", environment: $0) }

    @Test("A topic that is behind is named where its bundle is known, else by its hash")
    func naming() throws {
        let position = try position(
            at: 100,
            [("com.example.news", "", 10), ("com.example.news", "sandbox", 20), ("com.example.gone", "", 30)]
        )
        let hash = AppHashNames.hex(AppHash(bundleID: "com.example.gone", environment: ""))
        #expect(
            position.text == """
                push.requests[0]: committed 100, log 5...200
                  com.example.news: cursor 10, 190 records to the end, 0 done runs
                  com.example.news in sandbox: cursor 20, 180 records to the end, 0 done runs
                  (hash \(hash)): cursor 30, 170 records to the end, 0 done runs
                """
        )
        #expect(hash.utf8.count == 10)
        #expect(position.json.contains(#"{"hash":"\#(hash)","cursor":30,"records_to_end":170,"done_runs":0}"#))
        #expect(position.json.contains(#""bundle":"com.example.news","environment":"sandbox","#))
    }

    @Test("Offsets that retention deleted before they were sent are told, with the first record that is left")
    func lost() throws {
        let news = "com.example.news"
        var position = try position(at: 100, [(news, "", 10), (news, "sandbox", 40)], low: 30)
        #expect(position.hasLost)
        let loss = "    lost: retention has deleted offsets 10...29 before they were sent"
        #expect(position.text.split(separator: "\n")[2] == loss)
        #expect(position.text.contains(" 160 records to the end, 0 done runs") && !position.text.hasSuffix("sent"))
        #expect(position.json.contains(#""done_runs":0,"lost":{"first":10,"last":29}},"#))
        position.firstLeft = .init(offset: 30, publishedAt: 5000, requestID: "next")
        let first = "; the first that is left is 30, published 1970-01-01T00:00:05.000Z, request id next"
        #expect(position.text.contains(loss + first))
        let json = #""first_left":{"offset":30,"published_at":"1970-01-01T00:00:05.000Z","request_id":"next"}"#
        #expect(position.json.contains(json))
        let all = try self.position(at: 100, [], low: 101)
        #expect(all.hasLost && all.text.hasSuffix("\n  lost: retention has deleted offsets 100 before they were sent"))
        #expect(all.json.contains(#""lost":{"first":100,"last":100}"#))
        #expect(try !self.position(at: 100, [("com.example.news", "", 10)], low: 10).hasLost)
    }

    @Test("A request is done where neither the offset nor its topic's cursor stands before it")
    func progress() throws {
        let name = known[0]
        let position = try position(at: 100, [(name.bundleID, "", 40), (name.bundleID, "sandbox", 10)])
        for (offset, progress) in [
            (39, .done), (40, .behind), (99, .behind), (100, .unread),
        ] as [(Int64, PartitionPosition.Progress)] {
            #expect(position.progress(of: name, at: offset) == progress, "\(offset)")
        }
        let standing = PartitionPosition(
            KafkaPartitionOffset(Self.place, offset: 100, metadata: "9;?"),
            log: KafkaWatermarks(low: 5, high: 200),
            known: known
        )
        #expect(standing.progress(of: name, at: 7) == .standing)
    }

    @Test("A change is told as before and after, for the partition and for each topic")
    func change() throws {
        let before = try position(at: 100, [("com.example.news", "", 10), ("com.example.news", "sandbox", 40)])
        let change = try PositionChange(PositionOrder(partition: 0, target: .offset(30)), of: before)
        #expect(
            change.text == """
                push.requests[0]: committed 100 → 30
                  com.example.news: cursor 10, as before
                  com.example.news in sandbox: cursor 40 → not behind
                """
        )
        let beginning = try PositionChange(PositionOrder(partition: 0, target: .beginning), of: before)
        let end = try PositionChange(PositionOrder(partition: 0, target: .end), of: before)
        #expect(beginning.after.offset == 5 && end.after.offset == 200)
    }

    @Test("One topic's cursor leaves the offset as it is, and need not be of a configured bundle")
    func cursor() throws {
        let before = try position(at: 100, [])
        let target = PositionOrder.Target.cursor(50, bundleID: "com.example.other", environment: "")
        let change = try PositionChange(PositionOrder(partition: 0, target: target), of: before)
        #expect(change.after.offset == 100)
        #expect(change.text.hasSuffix("com.example.other: not behind → cursor 50"))
    }

    @Test("A cursor more than the commit's metadata has room for is refused, and taken where more is allowed")
    func room() throws {
        let before = try position(at: 100, [("com.example.news", "", 10)])
        let target = PositionOrder.Target.cursor(50, bundleID: "com.example.other", environment: "")
        #expect(throws: ToolError.self) {
            try PositionChange(PositionOrder(partition: 0, target: target), of: before, metadataBytes: 46)
        }
        let change = try PositionChange(PositionOrder(partition: 0, target: target), of: before, metadataBytes: 47)
        #expect(change.after.laggards.count == 2)
    }

    @Test("An offset outside the log is refused, and so is a cursor beyond the committed offset")
    func ranges() throws {
        let before = try position(at: 100, [])
        for (target, message) in [
            (.offset(4), "offset: found 4; allowed: 5...200"), (.offset(201), "offset: found 201; allowed: 5...200"),
            (.cursor(101, bundleID: "a.b", environment: ""), "cursor: found 101; allowed: 5...100"),
        ] as [(PositionOrder.Target, String)] {
            #expect(throws: ToolError.invalidInput([message])) {
                try PositionChange(PositionOrder(partition: 0, target: target), of: before)
            }
        }
    }

    @Test("Metadata that is not understood is told, replaced with the offset, and not changed for one topic")
    func notUnderstood() throws {
        let before = PartitionPosition(
            KafkaPartitionOffset(Self.place, offset: 100, metadata: "9;?"),
            log: KafkaWatermarks(low: 5, high: 200),
            known: known
        )
        #expect(before.text.contains("not understood: the partition stands"))
        let target = PositionOrder.Target.cursor(50, bundleID: "a.b", environment: "")
        #expect {
            try PositionChange(PositionOrder(partition: 0, target: target), of: before)
        } throws: { error in
            ExitStatus(for: error) == .failed && "\(error)".contains("set its offset first")
        }
        let change = try PositionChange(PositionOrder(partition: 0, target: .offset(100)), of: before)
        #expect(change.after.metadata == .understood(PositionMetadata()))
    }

    @Test("Metadata that a mirror has copied is told, with the offset to set at which nothing is lost")
    func mirrored() throws {
        let source = try position(at: 100, [("com.example.news", "", 70), ("com.example.news", "sandbox", 80)])
        let mirror = PartitionPosition(
            KafkaPartitionOffset(Self.place, offset: 60, metadata: source.metadataText),
            log: KafkaWatermarks(low: 5, high: 65),
            known: known
        )
        #expect(mirror.text.contains("made for offset 100, as a mirror copies it: the partition stands"))
        #expect(mirror.text.contains("30 records before; set the offset to 30,"))
        let told = #""metadata":"made-for-another-offset","made_for":100,"set_offset_to":30"#
        #expect(mirror.json.contains(told) && mirror.laggards.isEmpty)
        let target = PositionOrder.Target.cursor(20, bundleID: "com.example.news", environment: "")
        #expect {
            try PositionChange(PositionOrder(partition: 0, target: target), of: mirror)
        } throws: { error in
            "\(error)".contains("is for offset 100; set its offset first")
        }
        let change = try PositionChange(PositionOrder(partition: 0, target: .offset(30)), of: mirror)
        #expect(change.after.metadata == .understood(PositionMetadata()) && change.text.contains("is replaced"))
    }

    @Test("What is set is what is shown then, and a plan that is out of date is not carried out")
    func broker() throws {
        let broker = try EmbeddedBroker(topics: [(name: "push.requests", partitions: 2)])
        defer { broker.close() }
        try broker.publishBatch(
            to: "push.requests",
            (0..<20).map { _ in (Array("com.example.news".utf8), Array("x".utf8)) }
        )
        let positions = try positions(broker)
        defer { positions.close() }
        let shown = try positions.all()
        #expect(shown.map(\.place.partition) == [0, 1] && shown.allSatisfy { $0.offset == nil })
        let filled = try #require(shown.first { $0.log.high == 20 }).place.partition
        let toEnd = try positions.plan(PositionOrder(partition: filled, target: .end))
        try positions.carryOut(toEnd)
        let target = PositionOrder.Target.cursor(3, bundleID: "com.example.news", environment: "")
        try positions.carryOut(positions.plan(PositionOrder(partition: filled, target: target)))
        let now = try #require(try positions.all().first { $0.place.partition == filled })
        #expect(now.offset == 20)
        #expect(now.laggards.map(\.cursor) == [3])
        #expect {
            try positions.carryOut(toEnd)
        } throws: { error in
            "\(error)".contains("committed meanwhile")
        }
        #expect(throws: ToolError.invalidInput(["partition: found 2; allowed: 0...1"])) {
            try positions.plan(PositionOrder(partition: 2, target: .end))
        }
    }

    @Test("Each lane that has a Kafka topic has positions of its own, in a group of its own")
    func lanes() throws {
        let topics = ["push.requests", "push.requests.bulk"]
        let broker = try EmbeddedBroker(topics: topics.map { (name: $0, partitions: 1) })
        defer { broker.close() }
        for topic in topics {
            try broker.publishBatch(to: topic, [(Array("com.example.news".utf8), Array("x".utf8))])
        }
        #expect(try GroupPositions.lanes(of: configuration(broker)) == [.normal, .bulk])
        let bulk = try positions(broker, lane: .bulk)
        defer { bulk.close() }
        #expect(bulk.groupID == "belfry-worker.bulk")
        try bulk.carryOut(bulk.plan(PositionOrder(partition: 0, target: .end)))
        let moved = try #require(try bulk.all().first)
        #expect(moved.text == "push.requests.bulk[0]: committed 1, log 0...1")
        #expect(moved.json.hasPrefix(#"{"topic":"push.requests.bulk","partition":0,"committed":1,"#))
        let normal = try positions(broker)
        defer { normal.close() }
        #expect(try normal.all().map(\.offset) == [nil] && normal.groupID == "belfry-worker")
        let urgent = try positions(broker, lane: .urgent)
        defer { urgent.close() }
        #expect {
            try urgent.all()
        } throws: { error in
            "\(error)".contains("push.requests.urgent") && "\(error)".contains("belfry topics create")
        }
    }

    @Test("Without any lane's Kafka topic the normal one is asked for, whose absence is told")
    func noLane() throws {
        let broker = try EmbeddedBroker(topics: [(name: "push.outcomes", partitions: 1)])
        defer { broker.close() }
        #expect(try GroupPositions.lanes(of: configuration(broker)) == [.normal])
    }

    @Test("A topic that nothing else names is named by the record at its cursor")
    func named() throws {
        let broker = try EmbeddedBroker(topics: [(name: "push.requests", partitions: 1)])
        defer { broker.close() }
        let request: [UInt8] = try PushSendRequest.with { $0.environment = "sandbox" }.serializedBytes()
        let names = ["com.example.a", "com.example.b", "com.example.c#7"]
        try broker.publishBatch(to: "push.requests", names.map { (Array($0.utf8), request) })
        let positions = try positions(broker)
        defer { positions.close() }
        try positions.carryOut(positions.plan(PositionOrder(partition: 0, target: .end)))
        // The record at the second cursor is another bundle's.
        for (bundleID, cursor) in [("com.example.c", Int64(2)), ("com.example.x", 1)] {
            let target = PositionOrder.Target.cursor(cursor, bundleID: bundleID, environment: "sandbox")
            try positions.carryOut(positions.plan(PositionOrder(partition: 0, target: target)))
        }
        let text = try #require(try positions.all().first).text
        #expect(text.contains("  com.example.c in sandbox: cursor 2, 1 record to the end"), "\(text)")
        let hash = text.split(separator: "\n").filter { $0.contains("(hash ") }
        #expect(hash.count == 1 && hash[0].contains(": cursor 1, "), "\(text)")
    }

    @Test("Nothing is set while the group has members, and the message says so")
    func members() throws {
        let broker = try EmbeddedBroker(topics: [(name: "push.requests", partitions: 1)])
        defer { broker.close() }
        let positions = try positions(broker)
        defer { positions.close() }
        let change = try positions.plan(PositionOrder(partition: 0, target: .beginning))
        let consumer = try KafkaConsumer(
            properties: ["bootstrap.servers": broker.bootstrapServers, "auto.offset.reset": "earliest"],
            group: "belfry-worker",
            topics: ["push.requests"]
        )
        defer { consumer.close() }
        try broker.publishBatch(to: "push.requests", [(Array("k".utf8), Array("x".utf8))])
        var reads = 0
        while consumer.consumeBatch(max: 1, timeoutMilliseconds: 100) == nil, reads < 300 { reads += 1 }
        #expect {
            try positions.carryOut(change)
        } throws: { error in
            ExitStatus(for: error) == .failed && "\(error)".contains("group belfry-worker has members: stop")
        }
    }

    private func configuration(_ broker: EmbeddedBroker) -> BelfryConfiguration {
        var configuration = BelfryConfiguration()
        configuration.kafka.brokers = broker.bootstrapServers
        return configuration
    }

    private func positions(_ broker: EmbeddedBroker, lane: RequestLane = .normal) throws -> GroupPositions {
        try GroupPositions(configuration(broker), lane: lane)
    }

    private func position(
        at offset: Int64,
        _ laggards: [(bundleID: String, environment: String, cursor: Int64)],
        low: Int64 = 5
    ) throws -> PartitionPosition {
        var metadata = PositionMetadata()
        metadata.laggards = laggards.map {
            .init(topic: AppHash(bundleID: $0.bundleID, environment: $0.environment), cursor: $0.cursor)
        }
        let text = try #require(metadata.position(at: offset, limitBytes: 4096)).metadata
        return PartitionPosition(
            KafkaPartitionOffset(Self.place, offset: offset, metadata: text),
            log: KafkaWatermarks(low: low, high: 200),
            known: known
        )
    }
}
