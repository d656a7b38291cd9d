import KafkaClient
import Testing

@testable import PipelineCore
@testable import PipelineTestSupport
@testable import Sender

@Suite struct AppFeedTests {
    private static let count = 20

    /// Twenty records of two tokens each, from batches of up to seven.
    private final class Bench {
        let table = FeedTable()
        let memory = ShardMemory(MemoryBudget(limitBytes: .max, topicLimitBytes: .max))
        let account = AppAccount(nil)
        let partition: PartitionAssignment
        let feed: AppFeed
        var batches: [KafkaBatch]

        init() throws {
            batches = try consume(
                (0..<AppFeedTests.count).map { TestRecord(key: nil, value: Array("\($0)".utf8)) },
                max: 7
            )
            partition = PartitionAssignment(
                place: KafkaTopicPartition(topic: "records", partition: 0),
                doneBelow: 0,
                table: table,
                budget: memory
            )
            feed = partition.feed(of: AppHash(value: 9), account: account)
            var number: UInt64 = 0
            for batch in batches {
                for index in 0..<batch.count {
                    let takenAt = MonotonicTime(nanoseconds: number)
                    let record = feed.addRecord(batch[index], at: index, of: batch, tokens: 2, now: takenAt)
                    precondition(UInt64(record) == number)
                    number += 1
                }
            }
        }

        func text(_ record: UInt32) -> String? {
            feed.source(of: record).map { String(decoding: $0.batch[$0.index].value, as: UTF8.self) }
        }

        /// Returns the bytes that were copied, of so many.
        @discardableResult
        func unpin(takenBefore nanoseconds: UInt64, room: Int = 1 << 30) -> Int {
            var left = room
            feed.unpinSources(takenBefore: MonotonicTime(nanoseconds: nanoseconds), room: &left)
            return room - left
        }

        func finish(_ record: UInt32) {
            for token in UInt32(0)..<2 { feed.markDone(record, token: token) }
        }
    }

    @Test("A feed that has ended names no change of a badge: its partition may be gone, though a batch still has it")
    func badgeOfEnded() throws {
        let bench = try Bench()
        let token = [UInt8](repeating: 1, count: 32)
        func mark() -> Bool {
            token.withUnsafeBytes { bench.feed.badgeMark(of: 3, position: 0, token: $0) != nil }
        }
        #expect(mark())
        _ = bench.partition.end()
        #expect(bench.feed.isOver && !mark())
    }

    @Test("A topic's marks name nothing that another feed has, that may be the topic's own, and that is not done there")
    func guessedRecord() throws {
        let bench = try Bench()
        let partition = PartitionAssignment(
            place: KafkaTopicPartition(topic: "records", partition: 0),
            doneBelow: 6,
            isMixed: true,
            table: bench.table,
            budget: bench.memory
        )
        let (holder, other) = (AppHash(value: 100), AppHash(value: 200))
        partition.inherit(.init(topic: holder, cursor: 3), from: 0, account: bench.account)
        partition.inherit(.init(topic: other, cursor: 0), from: 0, account: bench.account)
        func add(_ offset: Int, to feed: AppFeed) -> UInt32 {
            let (batch, now) = (bench.batches[0], MonotonicTime(nanoseconds: 0))
            return feed.addRecord(batch[offset], at: offset, of: batch, tokens: 1, now: now)
        }
        func done(_ offset: Int64) throws -> Bool {
            let position = try #require(partition.position(metadataLimitBytes: 4096))
            let metadata = try PositionMetadata(decoding: position.metadata, committedOffset: position.offset)
            let laggard = try #require(metadata.laggards.first { $0.topic == other })
            return laggard.done.contains(.init(offset: offset, token: 0))
        }
        let feed = try #require(partition.feeds[other])
        let records = [0, 2].map { add($0, to: feed) }
        let guess = partition.feed(ofUndecodableAt: 4, isBehind: false, account: AppAccount(nil)) { _ in true }
        #expect(guess.hash == holder)
        let guessed = add(4, to: guess)
        _ = add(5, to: feed)
        partition.moveLive(to: 6)
        feed.markDone(records[1], token: 0)
        #expect(try done(2) && !done(4))
        guess.markDone(guessed, token: 0)
        #expect(try done(4))
    }

    @Test("Every record that is not done leads to its source")
    func sources() throws {
        let bench = try Bench()
        #expect(bench.batches.count >= 3)
        for number in 0..<UInt32(Self.count) { #expect(bench.text(number) == "\(number)") }
        #expect(bench.feed.source(of: .max) == nil)
        #expect(bench.feed.source(of: UInt32(Self.count)) == nil)
    }

    @Test("Requests that Redis was not told of are known until a stored commit is beyond them, be the topic fed anew")
    func unremembered() throws {
        let bench = try Bench()
        for (record, checksum) in [(3, 77), (5, 78), (7, 77)] as [(UInt32, UInt32)] {
            bench.feed.addUnrememberedRequest(record, checksum: checksum)
        }
        #expect(bench.feed.unrememberedRequests == [77: 7, 78: 5], "the newest of each token")
        _ = bench.partition.rewind(bench.feed)
        let anew = bench.partition.feed(of: AppHash(value: 9), account: bench.account)
        #expect(anew !== bench.feed && anew.unrememberedRequests == [77: 7, 78: 5])
        bench.partition.committed = PositionMetadata.choose(
            [(topic: AppHash(value: 9), cursor: 6)],
            liveNext: 20,
            limitBytes: 4096
        ) { _, _ in DoneRanges() }
        #expect(anew.unrememberedRequests == [77: 7])
        bench.partition.committed = PositionMetadata.choose([], liveNext: 20, limitBytes: 4096) { _, _ in DoneRanges() }
        #expect(anew.unrememberedRequests.isEmpty)
    }

    @Test("The oldest record that is not done tells when it was published; with all done none does")
    func oldestPublished() throws {
        let table = FeedTable()
        let records = (0..<3 as Range<Int64>).map { number in
            KafkaRecord(
                topic: "records",
                partition: 0,
                offset: number,
                key: nil,
                value: [],
                timestampMilliseconds: 1000 + number
            )
        }
        let partition = PartitionAssignment(
            place: KafkaTopicPartition(topic: "records", partition: 0),
            doneBelow: 0,
            table: table,
            budget: ShardMemory(MemoryBudget(limitBytes: .max, topicLimitBytes: .max))
        )
        let feed = partition.feed(of: AppHash(value: 9), account: AppAccount(nil))
        let batch = KafkaBatch(records)
        for index in records.indices {
            _ = feed.addRecord(batch[index], at: index, of: batch, tokens: 1, now: MonotonicTime(nanoseconds: 1))
        }
        for number in records.indices {
            #expect(feed.oldestPublishedAt == 1000 + Int64(number))
            feed.markDone(UInt32(number), token: 0)
        }
        #expect(feed.oldestPublishedAt == nil)
    }

    @Test("A batch is let go when the cursor has passed its last record, not before")
    func trimming() throws {
        let bench = try Bench()
        let firstCount = UInt32(bench.batches[0].count)
        weak let oldest = bench.batches[0]
        bench.batches.removeAll()
        for number in 0..<firstCount - 1 { bench.finish(number) }
        bench.feed.trimSources()
        #expect(oldest != nil)
        #expect(bench.text(firstCount - 1) == "\(firstCount - 1)")
        bench.feed.markDone(firstCount - 1, token: 0)
        bench.feed.trimSources()
        #expect(oldest != nil)
        bench.feed.markDone(firstCount - 1, token: 1)
        bench.feed.trimSources()
        #expect(oldest == nil)
        #expect(bench.feed.source(of: 0) == nil)
        for number in firstCount..<UInt32(Self.count) { #expect(bench.text(number) == "\(number)") }
    }

    @Test("The oldest record that is not done tells how long it has been waiting; when all are done, nothing waits")
    func oldest() throws {
        let bench = try Bench()
        let later = UInt32(bench.batches[0].count)
        #expect(bench.feed.oldestTakenAt == MonotonicTime(nanoseconds: 0))
        for number in 0..<later { bench.finish(number) }
        #expect(bench.feed.oldestTakenAt == MonotonicTime(nanoseconds: UInt64(later)))
        for number in later..<UInt32(Self.count) { bench.finish(number) }
        #expect(bench.feed.oldestTakenAt == nil)
    }

    @Test("A record that is done out of order keeps its source until the cursor has come there")
    func outOfOrder() throws {
        let bench = try Bench()
        for number in 1..<UInt32(Self.count) { bench.finish(number) }
        bench.feed.trimSources()
        for number in 0..<UInt32(Self.count) { #expect(bench.text(number) == "\(number)") }
        bench.finish(0)
        bench.feed.trimSources()
        for number in 0..<UInt32(Self.count) { #expect(bench.feed.source(of: number) == nil) }
    }

    @Test("A record in hand for long is copied out of its batch, which is let go; the copies lead on")
    func copies() throws {
        let bench = try Bench()
        let firstCount = UInt32(bench.batches[0].count)
        weak let oldest = bench.batches[0]
        weak let next = bench.batches[1]
        bench.batches.removeAll()
        bench.unpin(takenBefore: 1)
        #expect(oldest == nil && next != nil)
        for number in 0..<UInt32(Self.count) { #expect(bench.text(number) == "\(number)") }
        for number in 0..<firstCount { bench.finish(number) }
        bench.unpin(takenBefore: .max)
        #expect(next == nil)
        for number in firstCount..<UInt32(Self.count) { #expect(bench.text(number) == "\(number)") }
    }

    @Test("Records in hand for long are copied a part at a time, and each once")
    func copiesInParts() throws {
        let bench = try Bench()
        weak let latest = bench.batches.last
        bench.batches.removeAll()
        var calls = 0
        while latest != nil, calls <= Self.count {
            #expect(bench.unpin(takenBefore: .max, room: 2048) == 2048, "two small records")
            for number in 0..<UInt32(Self.count) { #expect(bench.text(number) == "\(number)") }
            calls += 1
        }
        #expect(calls == Self.count / 2 && bench.unpin(takenBefore: .max) == 0)
        bench.finish(0)
        #expect(bench.unpin(takenBefore: .max) == 0)
        for number in 1..<UInt32(Self.count) { #expect(bench.text(number) == "\(number)") }
    }

    @Test("Copies out of the latest batch do not keep older batches from being let go when their time comes")
    func copiesOfLatest() throws {
        let bench = try Bench()
        weak let oldest = bench.batches[0]
        weak let latest = bench.batches.last
        bench.batches.last.map(bench.feed.unpinSources(of:))
        bench.batches.removeAll()
        #expect(oldest != nil && latest == nil)
        bench.unpin(takenBefore: .max)
        #expect(oldest == nil)
        for number in 0..<UInt32(Self.count) { #expect(bench.text(number) == "\(number)") }
    }

    @Test("A feed counts for its topic and its shard until its records are done, or it is over")
    func memory() throws {
        let bench = try Bench()
        let all = bench.account.bytes
        #expect(bench.account.notifications == 2 * Self.count)
        #expect(all > 2 * Self.count * ShardLimits.notificationBytes && bench.memory.budget.usedBytes == all)
        bench.finish(0)
        #expect(bench.account.notifications == 2 * Self.count - 2)
        #expect(bench.account.bytes < all && bench.memory.budget.usedBytes == bench.account.bytes)
        _ = bench.partition.end()
        #expect(bench.account.notifications == 0 && bench.account.bytes == 0)
        #expect(bench.memory.budget.usedBytes == 0)
    }

    @Test("A record's payload counts as often as it is sent: each frame has its own")
    func payloads() throws {
        let bench = try Bench()
        let batch = bench.batches[0]
        let before = bench.account.bytes
        let feed = bench.partition.feed(of: AppHash(value: 10), account: bench.account)
        let now = MonotonicTime(nanoseconds: 1)
        _ = feed.addRecord(batch[0], at: 0, of: batch, tokens: 500, payloadBytes: 2000, now: now)
        #expect(bench.account.bytes - before >= 500 * (2000 + ShardLimits.notificationBytes))
    }

    @Test("A topic that is fed anew keeps its cursor and its done marks under a new number; the old one leads nowhere")
    func rewind() throws {
        let bench = try Bench()
        for number in [0, 2, 3] as [UInt32] { bench.finish(number) }
        bench.partition.moveLive(to: Int64(Self.count))
        #expect(bench.partition.rewind(bench.feed) === bench.feed)
        let anew = try #require(bench.partition.feeds[AppHash(value: 9)])
        #expect(anew.number != bench.feed.number && bench.feed.isOver && bench.table[bench.feed.number] == nil)
        #expect(anew.ledger.cursor == 1 && anew.ledger.gap == .init(next: 1, last: Int64(Self.count) - 1))
        #expect(anew.ledger.alreadyDone.contains(.init(offset: 3, token: 1)))
        #expect(!anew.ledger.alreadyDone.contains(.init(offset: 4, token: 0)))
        #expect(bench.account.notifications == 0, "what was taken in and not done is given back")
    }

    @Test("Bundles that share a class hold the offset: the next owner would not know whose records were not sent")
    func sharedClass() throws {
        let partition = PartitionAssignment(
            place: KafkaTopicPartition(topic: "records", partition: 0),
            doneBelow: 10,
            table: FeedTable(),
            budget: ShardMemory(MemoryBudget(limitBytes: .max, topicLimitBytes: .max))
        )
        partition.feed(of: .others, account: AppAccount(nil)).passOver(12)
        for number in 15..<18 as Range<Int64> {
            partition.feed(of: AppHash(value: UInt64(number)), account: AppAccount(nil)).passOver(number)
        }
        partition.moveLive(to: 20)
        let position = try #require(partition.position(metadataLimitBytes: 4096))
        #expect(position.offset == 12 && position.unnamed == 1)
        let metadata = try PositionMetadata(decoding: position.metadata, committedOffset: 12)
        #expect(metadata.laggards.map(\.cursor) == [15, 16, 17] && !metadata.laggards.contains { $0.topic == .others })
        // Two names fit: the third topic would hold the offset, too, but further on.
        let narrow = try #require(partition.position(metadataLimitBytes: 47))
        #expect(narrow.offset == 12 && narrow.unnamed == 2)
    }
}
