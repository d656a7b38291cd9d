import TestSupport
import Testing

@testable import PipelineCore

/// A record of a modelled log.
struct ModelRecord: Equatable {
    var offset: Int64
    var topic: AppHash
    var tokens: UInt32

    var bytes: Int { 10 * Int(tokens) + 1 }
    func position(_ token: UInt32) -> DoneRanges.Position { .init(offset: offset, token: token) }
}

/// A log, what of it has its outcome, and the last commit.
struct ModelPartition {
    let log: [ModelRecord]
    /// Records that both readers can see.
    var visible = 0
    var settled: Set<DoneRanges.Position> = []
    var committed = PositionMetadata.Position(offset: 0, metadata: "3;")
    let metadataLimitBytes: Int

    init(random: inout SeededGenerator) {
        let topics = random.pick(1...12)
        var offset = Int64(random.pick(0...50))
        var log: [ModelRecord] = []
        for _ in 0..<random.pick(20...200) {
            // The first topics have most of the records.
            let topic = min(random.pick(0...topics - 1), random.pick(0...topics - 1))
            let tokens = UInt32(random.pick(random.chance(10) ? 60...70 : 1...4))
            log.append(ModelRecord(offset: offset, topic: AppHash(value: UInt64(topic)), tokens: tokens))
            offset += random.chance(20) ? Int64(random.pick(2...900)) : 1
        }
        self.log = log
        metadataLimitBytes = [32, 50, 100, 4096][random.pick(0...3)]
    }

    /// The log's end as far as readers see it.
    var end: Int64 { visible == log.count ? (log.last?.offset ?? -1) + 1 : log[visible].offset }

    /// A commit says that a notification is done.
    static func says(
        _ position: PositionMetadata.Position,
        _ metadata: PositionMetadata,
        _ record: ModelRecord,
        _ token: UInt32
    )
        -> Bool
    {
        guard let named = metadata.laggards.first(where: { $0.topic == record.topic }) else {
            return record.offset < position.offset
        }
        return record.offset < named.cursor || named.done.contains(record.position(token))
    }
}

/// One assignment of the modelled partition: the loop of a shard's readers around the pure pieces.
struct ModelAssignment {
    struct Feed {
        var ledger: AppLedger
        /// Taken in, by number.
        var taken: [UInt32: ModelRecord] = [:]
        /// Records up to this offset were taken in, or are done.
        var through: Int64
    }

    let doneBelow: Int64
    private let start: PositionMetadata.Position
    private let metadata: PositionMetadata
    private(set) var liveNext: Int64
    private(set) var feeds: [AppHash: Feed] = [:]
    private(set) var budget = MemoryBudget(limitBytes: 1500, topicLimitBytes: 1000)
    private(set) var catchUp = CatchUp(visitBytes: 100)
    /// Topics that may not be fed.
    var stopped: Set<AppHash> = []
    /// Position of the catch-up reader in the log, and the records read ahead.
    private var readerNext: Int64?
    private var rest: ArraySlice<ModelRecord> = []
    /// Takes of one record beyond its first.
    private(set) var rewinds = 0

    /// Takes the partition over from its commit.
    ///
    /// - Parameter near: the live reader starts at a lowest cursor that is so near.
    init(_ partition: ModelPartition, near: Int64) throws {
        start = partition.committed
        metadata = try PositionMetadata(decoding: start.metadata, committedOffset: start.offset)
        doneBelow = start.offset
        let lowest = metadata.laggards.map(\.cursor).min() ?? start.offset
        liveNext = start.offset - lowest <= near ? min(lowest, start.offset) : start.offset
        for laggard in metadata.laggards {
            let isNear = liveNext <= laggard.cursor
            feeds[laggard.topic] = Feed(
                ledger: AppLedger(
                    doneBelow: isNear ? laggard.cursor : 0,
                    alreadyDone: laggard.done,
                    gap: isNear ? nil : laggard.cursor..<liveNext
                ),
                through: laggard.cursor - 1
            )
        }
    }

    private var sorted: [(key: AppHash, value: Feed)] { feeds.sorted { $0.key < $1.key } }

    /// Taken in and not done.
    var open: [(topic: AppHash, number: UInt32, token: UInt32)] {
        sorted.flatMap { topic, feed in
            feed.taken.sorted { $0.key < $1.key }.flatMap { number, record in
                (0..<record.tokens).filter { !feed.ledger.isDone(number, token: $0) }.map { (topic, number, $0) }
            }
        }
    }

    private func admits(_ topic: AppHash) -> Bool {
        !stopped.contains(topic) && budget.admits(topicBytes: feeds[topic]?.ledger.frontier.bytes ?? 0)
    }

    // MARK: Steps

    /// The live reader comes to the next record.
    mutating func live(_ partition: ModelPartition) {
        guard let record = partition.log.prefix(partition.visible).first(where: { $0.offset >= liveNext }) else {
            return
        }
        liveNext = record.offset + 1
        var feed =
            feeds[record.topic]
            ?? Feed(ledger: AppLedger(doneBelow: doneBelow, alreadyDone: DoneRanges()), through: doneBelow - 1)
        if record.offset >= feed.ledger.doneBelow {
            if feed.ledger.isLive, admits(record.topic) {
                take(record, &feed, partition)
            } else {
                feed.ledger.passOver(record.offset)
            }
        }
        feeds[record.topic] = feed
    }

    /// The catch-up reader reads on.
    ///
    /// - Parameter enough: records that may be taken in.
    mutating func catchUp(_ partition: ModelPartition, records: Int, enough: Int) {
        let candidates = sorted.compactMap { topic, feed in
            feed.ledger.gap.flatMap { admits(topic) ? CatchUp.Candidate(topic: topic, next: $0.next) : nil }
        }
        switch catchUp.decide(candidates) {
        case .stop:
            readerNext = nil
            rest = []
            return
        case .begin(let offset):
            readerNext = offset
            rest = []
        case .goOn:
            #expect(readerNext != nil)
        }
        guard let start = catchUp.position, let from = readerNext else { return }
        var isAtEnd = false
        if rest.isEmpty {
            rest = partition.log.prefix(partition.visible).filter { $0.offset >= from }.prefix(records)[...]
            isAtEnd = rest.count < records
            readerNext = rest.last.map { $0.offset + 1 } ?? from
        }
        var position = start
        var left: Set<AppHash> = []
        var count = 0
        while let record = rest.first, count < enough {
            position = record.offset
            guard position < liveNext else { break }
            rest.removeFirst()
            feedBehind(record, from: start, &left, &count, partition)
            position = record.offset + 1
        }
        if rest.isEmpty, isAtEnd { position = max(position, partition.end) }
        catchUp.passed(upTo: position)
        for (topic, feed) in sorted {
            guard let gap = feed.ledger.gap, gap.next >= start, !left.contains(topic) else { continue }
            feeds[topic]?.ledger.fed(upTo: position)
        }
    }

    private mutating func feedBehind(
        _ record: ModelRecord,
        from start: Int64,
        _ left: inout Set<AppHash>,
        _ count: inout Int,
        _ partition: ModelPartition
    ) {
        guard var feed = feeds[record.topic], let gap = feed.ledger.gap, gap.next >= start, gap.next <= record.offset,
            record.offset <= gap.last, !left.contains(record.topic)
        else { return }
        if admits(record.topic) {
            take(record, &feed, partition)
            catchUp.fed(record.topic, bytes: record.bytes)
            count += 1
        } else {
            feed.ledger.fed(upTo: record.offset)
            left.insert(record.topic)
        }
        feeds[record.topic] = feed
    }

    private mutating func take(_ record: ModelRecord, _ feed: inout Feed, _ partition: ModelPartition) {
        let expected = partition.log.first { $0.topic == record.topic && $0.offset > feed.through }
        #expect(record == expected, "once each, in the order of the offsets")
        feed.through = record.offset
        let before = feed.ledger.frontier.bytes
        let number = feed.ledger.addRecord(offset: record.offset, tokens: Int(record.tokens), bytes: record.bytes)
        feed.taken[number] = record
        for token in 0..<record.tokens {
            let isDone = feed.ledger.isDone(number, token: token)
            if isDone { #expect(partition.settled.contains(record.position(token)), "skipped \(record) \(token)") }
            if ModelPartition.says(start, metadata, record, token) { #expect(isDone, "repeated \(record) \(token)") }
        }
        budget.takeBytes(feed.ledger.frontier.bytes - before)
        change(&feed) { $0.advance() }
    }

    private mutating func change(_ feed: inout Feed, _ body: (inout AppLedger) -> Void) {
        let before = feed.ledger.frontier.bytes
        body(&feed.ledger)
        budget.giveBack(before - feed.ledger.frontier.bytes)
        feed.taken = feed.taken.filter { feed.ledger.frontier.tokens(of: $0.key) != nil }
    }

    /// A notification has its outcome.
    mutating func settle(_ topic: AppHash, _ number: UInt32, _ token: UInt32, _ partition: inout ModelPartition) {
        guard var feed = feeds[topic], let record = feed.taken[number] else { return }
        partition.settled.insert(record.position(token))
        change(&feed) { $0.markDone(number, token: token) }
        feeds[topic] = feed
    }

    /// A topic does not work: it is fed anew from its cursor.
    mutating func rewind(_ topic: AppHash) {
        guard var feed = feeds[topic], feed.ledger.frontier.recordCount > 0, let cursor = feed.ledger.cursor else {
            return
        }
        budget.giveBack(feed.ledger.frontier.bytes)
        feed.ledger = feed.ledger.rewound(liveNext: liveNext)
        #expect(feed.ledger.cursor == cursor && !feed.ledger.isLive)
        feed.taken = [:]
        feed.through = cursor - 1
        feeds[topic] = feed
        rewinds += 1
    }

    /// Commits what is done, and holds the commit against the books.
    func commit(_ partition: inout ModelPartition) throws {
        // In any order: the choice is that of the position.
        let laggards = feeds.compactMap { topic, feed in
            feed.ledger.cursor(liveNext: liveNext, committed: doneBelow).map { (topic: topic, cursor: $0) }
        }
        let position = PositionMetadata.choose(
            laggards,
            liveNext: max(liveNext, doneBelow),
            limitBytes: partition.metadataLimitBytes
        ) { feeds[$0]?.ledger.doneRanges(limit: $1) ?? DoneRanges() }
        #expect(position.offset >= partition.committed.offset, "the offset went back")
        #expect(position.metadata.utf8.count <= partition.metadataLimitBytes)
        let told = try PositionMetadata(decoding: position.metadata, committedOffset: position.offset)
        let before = try PositionMetadata(
            decoding: partition.committed.metadata,
            committedOffset: partition.committed.offset
        )
        for record in partition.log {
            let wasDone = ModelPartition.says(partition.committed, before, record, 0)
            for token in 0..<record.tokens where ModelPartition.says(position, told, record, token) {
                #expect(partition.settled.contains(record.position(token)), "lost \(record) \(token)")
            }
            if wasDone, record.offset < partition.committed.offset, position.unnamed == 0,
                partition.metadataLimitBytes == 4096
            {
                #expect(ModelPartition.says(position, told, record, 0), "forgotten \(record)")
            }
        }
        partition.committed = position
    }
}
