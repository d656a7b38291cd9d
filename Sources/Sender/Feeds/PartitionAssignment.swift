import KafkaClient
import PipelineCore

/// One assignment of one partition of push.requests: its live reader, and the progress of each topic.
///
/// Bound to the shard's event loop.
final class PartitionAssignment {
    enum Phase {
        case active
        /// Being given back: nothing is fed, notifications in flight may settle until the deadline.
        case revoking
    }

    let place: KafkaTopicPartition
    /// The time at which the shard got the partition, UNIX milliseconds.
    let claimedAt: Int64
    /// The key of its topics' hashes.
    let salt: TopicSalt
    var phase = Phase.active
    var isPaused = false
    /// A mark that outlives the group's commits is written, or on its way.
    var isMarked = false
    /// The next offset of the live reader; nil: not known before its first record.
    private(set) var liveNext: Int64?
    /// Everything below this offset is done for topics without a feed.
    let doneBelow: Int64
    /// Bytes that the live reader has read of the stretch before `doneBelow`, if it began at a near cursor.
    private var rereadBytes = 0
    /// Feeds by topic.
    private(set) var feeds: [TopicHash: TopicFeed] = [:] {
        didSet { lastFeed = nil }
    }
    /// The feed that was asked for last: consecutive records mostly belong to one topic.
    private var lastFeed: TopicFeed?
    var catchUp = CatchUp()
    /// End of the live reader's routed records, while requests are coalesced; and the tick at which it last moved.
    private(set) var routedLive: Int64 = 0
    private(set) var movedAt: UInt64 = 0
    /// The last position that the broker has acknowledged in this assignment; nil: not known.
    var committed: PositionMetadata.Position? {
        didSet { forgetCommittedRequests() }
    }

    private let doneOfAll: DoneRanges
    private let table: FeedTable
    private let budget: ShardMemory
    private let nearBytes: Int

    /// - Parameters:
    ///   - claimedAt: UNIX milliseconds.
    ///   - salt: the key of the hashes that the commit has, or of those to come.
    ///   - doneBelow: the committed offset.
    ///   - doneOfAll: done ranges of all topics, as written by an earlier version.
    ///   - nearBytes: most bytes that the live reader reads of the stretch before `doneBelow`.
    init(
        place: KafkaTopicPartition,
        claimedAt: Int64 = 0,
        salt: TopicSalt = .none,
        doneBelow: Int64,
        doneOfAll: DoneRanges,
        table: FeedTable,
        budget: ShardMemory,
        nearBytes: Int = ShardLimits.nearBytes
    ) {
        self.place = place
        self.claimedAt = claimedAt
        self.salt = salt
        self.doneBelow = max(0, doneBelow)
        self.doneOfAll = doneOfAll
        self.table = table
        self.budget = budget
        self.nearBytes = nearBytes
        if doneBelow >= 0 { liveNext = doneBelow }
    }

    var number: Int32 { place.partition }

    /// The feeds in the order of their topics.
    var sortedFeeds: [TopicFeed] { feeds.values.sorted { $0.hash < $1.hash } }

    // MARK: Feeds

    /// The live reader goes on from an offset.
    func moveLive(to offset: Int64) { liveNext = offset }

    /// Forgets requests that are not in Redis: those below the stored position are not met again.
    private func forgetCommittedRequests() {
        guard feeds.values.contains(where: { !$0.unrememberedRequests.isEmpty }), let committed,
            let stored = try? PositionMetadata(decoding: committed.metadata, committedOffset: committed.offset)
        else { return }
        for feed in feeds.values {
            let cursor = stored.laggards.first { $0.topic == feed.hash }?.cursor ?? committed.offset
            feed.forgetUnrememberedRequests(below: cursor)
        }
    }

    /// Counts a record that the live reader has passed.
    ///
    /// - Returns: the near stretch turned out long: the live reader is to go on at `doneBelow`, because what is new
    ///   waits behind it. Topics that lag in the rest are behind from now on.
    func endsNearStretch(bytes: Int) -> Bool {
        guard let next = liveNext, next < doneBelow else { return false }
        rereadBytes += bytes
        guard rereadBytes > nearBytes else { return false }
        for feed in feeds.values where feed.ledger.doneBelow < doneBelow {
            feed.passOver(max(next, feed.ledger.doneBelow), isRead: false)
            feed.passOver(doneBelow - 1, isRead: false)
        }
        moveLive(to: doneBelow)
        return true
    }

    /// Notes that all records of the live reader below an offset were routed.
    func noteRouted(upTo offset: Int64, tick: UInt64) {
        guard routedLive < offset else { return }
        routedLive = offset
        movedAt = tick
    }

    /// The feed of a topic; a new one is live.
    func feed(of hash: TopicHash, account: @autoclosure () -> TopicAccount) -> TopicFeed {
        if let lastFeed, lastFeed.hash == hash { return lastFeed }
        if let known = feeds[hash] {
            lastFeed = known
            return known
        }
        return add(hash, account(), TopicLedger(doneBelow: doneBelow, alreadyDone: doneOfAll))
    }

    /// Takes over a topic whose cursor is named in the commit.
    func inherit(_ laggard: PositionMetadata.Laggard, from start: Int64, account: TopicAccount) {
        let isNear = start <= laggard.cursor
        let gap = isNear ? nil : laggard.cursor..<start
        let below = isNear ? laggard.cursor : 0
        _ = add(laggard.topic, account, TopicLedger(doneBelow: below, alreadyDone: laggard.done, gap: gap))
    }

    /// Feeds a topic anew from its cursor.
    ///
    /// - Returns: the feed that ended; nil: there was nothing to feed again.
    func rewind(_ feed: TopicFeed) -> TopicFeed? {
        guard feed.ledger.frontier.recordCount > 0, feeds[feed.hash] === feed else { return nil }
        let ledger = feed.ledger.rewound(liveNext: liveNext ?? doneBelow)
        // Before the feed lets go of its records.
        let publishedAt = feed.unfinishedPublishedAt
        feed.account.pace?.giveBack(feed.ledger.frontier.uncommitted)
        table.remove(feed)
        let made = add(feed.hash, feed.account, ledger)
        made.inheritGap(publishedAt: publishedAt, isRead: true)
        made.inheritUnrememberedRequests(of: feed)
        made.inheritSummaries(of: feed)
        for sharer in feed.sharers { made.share(with: sharer) }
        return feed
    }

    /// Claims the feed of a hash for a topic. It becomes the topic's own if the bundle was not known by name until now;
    /// that of another topic with the same hash is shared.
    func claim(_ feed: TopicFeed, for account: TopicAccount) -> TopicFeed {
        guard feed.account !== account else { return feed }
        guard feed.account.topic == nil, feed.ledger.frontier.recordCount == 0 else {
            feed.share(with: account)
            return feed
        }
        table.remove(feed)
        let made = add(feed.hash, account, feed.ledger)
        made.inheritGap(publishedAt: feed.cursorPublishedAt, isRead: !feed.lacksPublishedAt)
        return made
    }

    /// Ends all feeds.
    func end() -> [TopicFeed] {
        phase = .revoking
        // Nothing of it is committed any more.
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

    /// The present position; nil before anything is known of it.
    func position(metadataLimitBytes: Int) -> PositionMetadata.Position? {
        guard let liveNext else { return nil }
        // A take-over may begin before the committed offset; the offset must not go back for that.
        var end = max(liveNext, doneBelow)
        var laggards: [(topic: TopicHash, cursor: Int64)] = []
        var isHeld = false
        for (hash, feed) in feeds {
            guard let cursor = feed.ledger.cursor(liveNext: liveNext, committed: doneBelow) else { continue }
            if hash == .others {
                // The next owner may share the bundles out otherwise, so no name tells whose records were not sent.
                end = min(end, cursor)
                isHeld = true
            } else {
                laggards.append((hash, cursor))
            }
        }
        var position = PositionMetadata.choose(
            laggards,
            liveNext: end,
            salt: salt,
            limitBytes: metadataLimitBytes
        ) { [feeds] hash, limit in
            feeds[hash]?.doneRanges(limit: limit) ?? DoneRanges()
        }
        if isHeld { position.unnamed += 1 }
        return position
    }
}
