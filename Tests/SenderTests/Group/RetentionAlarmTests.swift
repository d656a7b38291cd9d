import Foundation
import PipelineCore
import PushSchemas
import Testing

@testable import KafkaClient
@testable import PipelineTestSupport
@testable import Sender
@testable import SimulatedServers

/// The publishing time of the oldest record that is not done, by which the time until retention reaches it is known.
@Suite("The alarm before retention overtakes a cursor")
struct RetentionAlarmTests {
    private typealias Bench = ShardBench

    private static let other = "com.example.other"

    private static func position(_ cursors: [(String, Int64)], at offset: Int64) -> PositionMetadata.Position {
        PositionMetadata.choose(
            cursors.map { (Bench.hash($0.0), $0.1) }.sorted { $0.cursor < $1.cursor },
            liveNext: offset,
            limitBytes: 4096
        ) { _, _ in DoneRanges() }
    }

    @Test("A topic that lags without a record taken in counts: its certificate is missing")
    func nothingTakenIn() throws {
        let bench = Bench()
        defer { bench.shard.leave() }
        bench.gateway.missing = [Bench.sport]
        bench.assign(0)
        bench.publishedAt = 5000
        try bench.bring((Bench.sport, [1]))
        bench.publishedAt = 9000
        try bench.bring((Bench.sport, [2]), (Bench.news, [3]))
        bench.wait(milliseconds: 2000)
        let report = bench.shard.report()
        #expect(report.partitions.map(\.uncommitted) == [0] && report.partitions.map(\.behind) == [1])
        #expect(report.oldestPublishedAt == 5000)
        bench.gateway.missing = []
        bench.wait(milliseconds: 5000)
        #expect(bench.shard.report().oldestPublishedAt == nil)
    }

    @Test("A bundle that becomes a topic keeps the time of its first record that was passed over")
    func claimed() {
        let partition = PartitionAssignment(
            place: KafkaTopicPartition(topic: "push.requests", partition: 0),
            doneBelow: 0,
            table: FeedTable(),
            budget: ShardMemory(MemoryBudget(limitBytes: .max, topicLimitBytes: .max))
        )
        let feed = partition.feed(of: Bench.hash(Bench.sport), account: AppAccount(nil))
        feed.passOver(3, as: GapStart(publishedAt: 7000, isRead: true))
        let claimed = partition.claim(feed, for: AppAccount(nil))
        #expect(claimed !== feed && claimed.cursorPublishedAt == 7000)
    }

    @Test(
        "The time at a cursor that was taken over is read from the log, once, though its topic may not be fed",
        arguments: [true, false]
    )
    func takenOver(isKnown: Bool) throws {
        let position = Self.position([(Bench.sport, 5), (Self.other, 7)], at: 20_000)
        let bench = Bench(committed: position.offset, metadata: position.metadata)
        defer { bench.shard.leave() }
        if isKnown {
            for bundleID in [Bench.sport, Self.other] { try bench.shard.addTopic(bundleID) }
        }
        bench.gateway.missing = [Bench.sport, Self.other]
        bench.wait(milliseconds: 40)
        for offset in 4...8 as ClosedRange<Int64> {
            bench.publishedAt = 1000 * offset
            try bench.keep(offset == 7 ? Self.other : Bench.sport, [1], at: offset)
        }
        bench.assign(0)
        bench.publishedAt = 90_000
        try bench.bring((Bench.sport, [2]), (Bench.news, [3]))
        bench.wait(milliseconds: 2000)
        #expect(bench.reader.begins.map(\.offset) == [5] && bench.reader.stops == 1)
        let times = bench.shard.stages.group.assigned[0]?.feeds.mapValues(\.cursorPublishedAt)
        #expect(times?[Bench.hash(Bench.sport)] == 5000 && times?[Bench.hash(Self.other)] == 7000)
        #expect(bench.shard.report().oldestPublishedAt == 5000)
        #expect(bench.gateway.accepted(of: Bench.news) == [3] && bench.gateway.accepted(of: Bench.sport).isEmpty)
        #expect(try bench.laggards() == [Bench.hash(Bench.sport): 5, Bench.hash(Self.other): 7])
        bench.wait(milliseconds: 10_000)
        #expect(bench.reader.begins.map(\.offset) == [5])
    }

    @Test("A topic that may be fed is read for its records, and its time is that of the record at its cursor")
    func fed() throws {
        let position = Self.position([(Bench.sport, 5)], at: 20_000)
        let bench = Bench(committed: position.offset, metadata: position.metadata)
        defer { bench.shard.leave() }
        bench.publishedAt = 5000
        try bench.keep(Bench.sport, [1], at: 5)
        bench.gateway.missing = [Bench.sport]
        bench.assign(0)
        bench.wait(milliseconds: 2000)
        bench.gateway.missing = []
        bench.publishedAt = 90_000
        try bench.bring((Bench.sport, [2]))
        bench.wait(milliseconds: 5000)
        #expect(bench.gateway.accepted(of: Bench.sport) == [1, 2])
        #expect(bench.reader.begins.map(\.offset) == [5, 5] && bench.shard.report().oldestPublishedAt == nil)
        #expect(bench.committed()?.metadata == "3;")
    }

    @Test("An offset that the broker refused is not read on from because the log has grown beyond it meanwhile")
    func cut() throws {
        let bench = Bench(committed: 7)
        defer { bench.shard.leave() }
        bench.assign(0)
        bench.group.end = 12
        bench.group.batches.append(.failed(.offsetOutOfRange, at: 7, bench.place(0)))
        bench.wait(milliseconds: 5000)
        #expect(bench.group.seeks.isEmpty && bench.shard.report().counters.offsetsBeyondEnd == 1)
        let alarm = "partition was cut before its committed offset; it stands until the group's offsets are set"
        #expect(bench.lines.messages == [alarm])
    }

    @Test("Where the log ends between a near cursor and the committed offset the partition stands, once asked")
    func cutNear() throws {
        let position = Self.position([(Bench.sport, 5)], at: 20)
        for (end, isCut) in [(19, true), (20, false)] as [(Int64, Bool)] {
            let bench = Bench(committed: position.offset, metadata: position.metadata)
            defer { bench.shard.leave() }
            bench.group.end = end
            bench.assign(0)
            bench.wait(milliseconds: 5000)
            #expect(bench.shard.report().counters.offsetsBeyondEnd == (isCut ? 1 : 0))
            #expect(bench.group.paused == (isCut ? [bench.place(0)] : []))
            let alarm = "partition ends before its committed offset; it stands until the group's offsets are set"
            #expect(bench.lines.messages == (isCut ? ["\(alarm)"] : []))
        }
    }

    @Test("An offset below the log that a client asks for once more is no alarm: reading goes on where it was")
    func askedAgain() throws {
        let bench = Bench(committed: 7)
        defer { bench.shard.leave() }
        bench.assign(0)
        bench.group.start = 5
        bench.group.end = 12
        bench.group.batches.append(.failed(.offsetOutOfRange, at: 4, bench.place(0)))
        bench.wait(milliseconds: 2000)
        #expect(bench.group.seeks.map(\.offset) == [7])
        #expect(bench.lines.messages.isEmpty && bench.shard.report().counters.offsetsBeyondEnd == 0)
    }

    @Test("A lag in a log that was cut stands with an alarm, once; what is live goes on")
    func cutLag() throws {
        let position = Self.position([(Bench.sport, 5)], at: 20_000)
        let bench = Bench(committed: position.offset, metadata: position.metadata)
        defer { bench.shard.leave() }
        try bench.shard.addTopic(Bench.sport)
        bench.group.end = 20_000
        bench.reader.partitions[0].notice = (.offsetOutOfRange, 5)
        bench.assign(0)
        bench.wait(milliseconds: 5000)
        try bench.bring((Bench.news, [1]))
        bench.wait(milliseconds: 1000)
        #expect(bench.reader.begins.map(\.offset) == [5] && bench.gateway.accepted(of: Bench.news) == [1])
        #expect(bench.lines.messages.count { $0.hasPrefix("partition was cut before its committed offset") } == 1)
        #expect(try bench.laggards() == [Bench.hash(Bench.sport): 5])
    }

    @Test("Of records that retention deleted each is counted once, however many topics lagged there")
    func lost() throws {
        let position = Self.position([(Bench.sport, 5), ("com.example.other", 7)], at: 20_000)
        let bench = Bench(committed: position.offset, metadata: position.metadata)
        defer { bench.shard.leave() }
        bench.gateway.missing = [Bench.sport, "com.example.other"]
        bench.group.start = 105
        bench.group.end = 20_000
        bench.reader.partitions[0].notice = (.offsetOutOfRange, 5)
        bench.assign(0)
        bench.wait(milliseconds: 5000)
        #expect(bench.shard.report().counters.recordsLost == 100)
        #expect(bench.lines.messages.count { $0.hasPrefix("retention has overtaken the lag") } == 1)
        #expect(try bench.laggards() == [Bench.hash(Bench.sport): 105, Bench.hash(Self.other): 105])
    }

    @Test("Records that retention deleted are told with their offsets, topic, request and time, up to the first left")
    func told() throws {
        let bench = Bench()
        defer { bench.shard.leave() }
        bench.gateway.missing = [Bench.sport]
        bench.assign(0)
        bench.publishedAt = 5000
        let request = PushSendRequest.with {
            $0.requestID = "first"
            $0.packedTokens = Data(repeating: 1, count: 32)
        }
        try bench.bring([(Bench.sport, request)])
        bench.publishedAt = 9000
        try bench.bring((Bench.sport, [2]), (Bench.sport, [3]))
        bench.wait(milliseconds: 2000)
        bench.reader.records = []
        bench.reader.partitions[0].notice = (.offsetOutOfRange, 0)
        bench.group.start = 2
        bench.group.end = 3
        bench.gateway.missing = []
        bench.wait(milliseconds: 5000)
        var told = [
            "partition": "0", "offset": "0", "last": "1", "lost": "2", "first": "2",
            "since": "1970-01-01T00:00:05.000Z", "apps": "com.example.sport in sandbox", "requests": "first",
        ]
        let alarm = "retention has overtaken the lag: records were deleted before they were read"
        #expect(bench.lines.metadata(of: alarm) == [told])
        #expect(bench.gateway.accepted(of: Bench.sport).isEmpty)
        try bench.keep(Bench.sport, [3], at: 2)
        bench.wait(milliseconds: 5000)
        told["until"] = "1970-01-01T00:00:09.000Z"
        #expect(bench.lines.metadata(of: "first record behind those that retention deleted") == [told])
        #expect(bench.gateway.accepted(of: Bench.sport) == [3])
    }

    @Test("What is lost of several topics counts once, and is dated where the times of all are known")
    func union() throws {
        func part(_ offsets: ClosedRange<Int64>, since: Int64?) -> LostRecords {
            var part = LostRecords(offsets)
            part.since = since
            part.topics = ["com.example.news in sandbox"]
            return part
        }
        let lost = try #require(LostRecords([part(3...5, since: 7), part(1...3, since: 4), part(9...9, since: 8)]))
        #expect(lost.offsets == 1...9 && lost.count == 6 && lost.since == 4)
        #expect(lost.topics == ["com.example.news in sandbox"])
        #expect(LostRecords([part(3...5, since: 7), part(1...3, since: nil)])?.since == nil)
        #expect(LostRecords([]) == nil)
    }

    @Test("Behind lost records the time at the cursor is that of the first record left, and is looked up")
    func timeBehindLoss() {
        let partition = PartitionAssignment(
            place: KafkaTopicPartition(topic: "push.requests", partition: 0),
            doneBelow: 0,
            table: FeedTable(),
            budget: ShardMemory(MemoryBudget(limitBytes: .max, topicLimitBytes: .max))
        )
        let feed = partition.feed(of: Bench.hash(Bench.sport), account: AppAccount(nil))
        feed.passOver(3, as: GapStart(publishedAt: 7000, isRead: true))
        feed.passOver(9)
        #expect(feed.skip(to: 3) == nil && feed.cursorPublishedAt == 7000)
        #expect(feed.skip(to: 5)?.offsets == 3...4)
        #expect(feed.cursorPublishedAt == nil && feed.lacksPublishedAt)
    }
}
