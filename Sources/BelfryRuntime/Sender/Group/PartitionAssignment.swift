import KafkaClient
import PipelineCore

/// One assignment of one partition of push.requests to a shard: where its live reader stands, and how far each topic has come.
///
/// Lives on the shard's event loop.
final class PartitionAssignment {
    enum Phase {
        case active
        /// Being given back: nothing is fed, what is in flight may settle until the deadline.
        case revoking
    }

    let place: KafkaTopicPartition
    var phase = Phase.active
    var isPaused = false
    /// The next offset of the live reader; nil: not known before its first record.
    private(set) var liveNext: Int64?
    /// Everything of topics without a feed is done below.
    let doneBelow: Int64
    /// By topic.
    private(set) var feeds: [TopicHash: TopicFeed] = [:]
    var catchUp = CatchUp()
    /// Records of the live reader below were routed, while requests are coalesced; and the tick at which that last moved.
    private(set) var routedLive: Int64 = 0
    private(set) var movedAt: UInt64 = 0
    /// The last position that the broker has acknowledged.
    private(set) var committed: PositionMetadata.Position?
    /// The position on its way to the broker.
    private(set) var committing: PositionMetadata.Position?

    private let doneOfAll: DoneRanges
    private let table: FeedTable
    private let budget: ShardMemory

    /// - Parameters:
    ///   - doneBelow: what the committed offset says.
    ///   - doneOfAll: done ranges of all topics, as an earlier version wrote them.
    init(place: KafkaTopicPartition, doneBelow: Int64, doneOfAll: DoneRanges, table: FeedTable, budget: ShardMemory) {
        self.place = place
        self.doneBelow = max(0, doneBelow)
        self.doneOfAll = doneOfAll
        self.table = table
        self.budget = budget
        if doneBelow >= 0 { liveNext = doneBelow }
    }

    var number: Int32 { place.partition }

    /// The feeds in the order of their topics.
    var sortedFeeds: [TopicFeed] { feeds.values.sorted { $0.hash < $1.hash } }

    // MARK: Feeds

    /// The live reader goes on from an offset.
    func moveLive(to offset: Int64) { liveNext = offset }

    /// Everything of the live reader below an offset was routed.
    func noteRouted(upTo offset: Int64, tick: UInt64) {
        guard routedLive < offset else { return }
        routedLive = offset
        movedAt = tick
    }

    /// The feed of a topic; a new one is live.
    func feed(of hash: TopicHash, account: @autoclosure () -> TopicAccount) -> TopicFeed {
        if let known = feeds[hash] { return known }
        return add(hash, account(), TopicLedger(doneBelow: doneBelow, alreadyDone: doneOfAll))
    }

    /// Takes over a topic whose cursor the commit names.
    func inherit(_ laggard: PositionMetadata.Laggard, from start: Int64, account: TopicAccount) {
        let isNear = start <= laggard.cursor
        let gap = isNear ? nil : laggard.cursor..<start
        let below = isNear ? laggard.cursor : 0
        _ = add(laggard.topic, account, TopicLedger(doneBelow: below, alreadyDone: laggard.done, gap: gap))
    }

    /// Feeds a topic anew from its cursor.
    ///
    /// - Returns: the feed that is over now; nil: there was nothing to feed again.
    func rewind(_ feed: TopicFeed) -> TopicFeed? {
        guard feed.ledger.frontier.recordCount > 0, feeds[feed.hash] === feed else { return nil }
        let ledger = feed.ledger.rewound(liveNext: liveNext ?? doneBelow)
        table.remove(feed)
        _ = add(feed.hash, feed.account, ledger)
        return feed
    }

    /// Another topic takes over a feed of which nothing was taken in: its bundle is known by name now.
    func hand(_ feed: TopicFeed, to account: TopicAccount) -> TopicFeed {
        guard feed.account !== account, feed.ledger.frontier.recordCount == 0 else { return feed }
        table.remove(feed)
        return add(feed.hash, account, feed.ledger)
    }

    /// Ends all feeds.
    func end() -> [TopicFeed] {
        phase = .revoking
        // Nothing is committed of it any more.
        liveNext = nil
        let all = sortedFeeds
        for feed in all { table.remove(feed) }
        feeds = [:]
        return all
    }

    private func add(_ hash: TopicHash, _ account: TopicAccount, _ ledger: TopicLedger) -> TopicFeed {
        let feed = TopicFeed(
            number: table.nextNumber,
            hash: hash,
            account: account,
            partition: self,
            ledger: ledger,
            budget: budget
        )
        table.insert(feed)
        feeds[hash] = feed
        return feed
    }

    // MARK: Committing

    /// The lowest offset that is not done; nil: not known.
    var cursor: Int64? {
        let cursors = feeds.values.compactMap(\.ledger.cursor)
        guard let liveNext else { return cursors.min() }
        return cursors.min().map { min($0, liveNext) } ?? liveNext
    }

    /// The position as it is now; nil before anything is known of it.
    func position(metadataLimitBytes: Int) -> PositionMetadata.Position? {
        guard let liveNext else { return nil }
        // A take-over may begin before the committed offset, which must not go back for that.
        let end = max(liveNext, doneBelow)
        var laggards: [(topic: TopicHash, cursor: Int64)] = []
        for (hash, feed) in feeds {
            if let cursor = feed.ledger.cursor(liveNext: liveNext, committed: doneBelow) {
                laggards.append((hash, cursor))
            }
        }
        return PositionMetadata.choose(laggards, liveNext: end, limitBytes: metadataLimitBytes) { [feeds] hash, limit in
            feeds[hash]?.ledger.doneRanges(limit: limit) ?? DoneRanges()
        }
    }

    func beginCommit(_ position: PositionMetadata.Position) { committing = position }

    /// - Parameter isStored: the broker said so; else nobody knows.
    func endCommit(isStored: Bool) {
        if isStored { committed = committing }
        committing = nil
    }
}
