import KafkaClient
import PipelineCore
import RequestLanes
import RequestRules

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
    /// The lane of its Kafka topic.
    let lane: RequestLane
    /// The time at which the shard got the partition, UNIX milliseconds.
    let claimedAt: Int64
    /// The key of its topics' hashes.
    let salt: AppSalt
    var phase = Phase.active
    var isPaused = false
    /// The live reader began before the committed offset, and the log may end between the two. Then the broker refuses
    /// nothing, and what the log gets there would count as done.
    var mayEndEarly = false
    /// Its log ends before the committed offset: it is not read.
    var isCut = false
    /// Records that retention deleted, until the first one behind them is read.
    var lost: LostRecords?
    /// A mark that outlives the group's commits is written, or on its way.
    var isMarked = false
    /// The next offset of the live reader; nil: not known before its first record.
    private(set) var liveNext: Int64?
    /// Everything below this offset is done for topics without a feed.
    let doneBelow: Int64
    /// Bytes that the live reader has read of the stretch before `doneBelow`, if it began at a near cursor.
    private var rereadBytes = 0
    /// Feeds by topic.
    private(set) var feeds: [AppHash: AppFeed] = [:] {
        didSet { lastFeed = nil }
    }
    /// The feed that was asked for last: consecutive records mostly belong to one topic.
    private var lastFeed: AppFeed?
    var catchUp = CatchUp()
    /// End of the live reader's routed records, while requests are coalesced; and the tick at which it last moved.
    private(set) var routedLive: Int64 = 0
    private(set) var movedAt: UInt64 = 0
    /// The last position that the broker has acknowledged in this assignment; nil: not known.
    var committed: PositionMetadata.Position? {
        didSet { forgetCommittedRequests() }
    }

    /// Records of topics may be among those of ``AppHash/refused`` that are not done: an owner with another decoder
    /// refused them, or there was no room for cursors of their own.
    private(set) var isMixed: Bool
    /// Topics with records among those of ``AppHash/others``; nil: too many to name.
    private var overflowed: Set<AppHash>? = []
    /// Records that one topic's feed got and that may be of another topic.
    private var guesses = GuessedTopics()
    /// Feeds of topics whose records are refused, as of the last look.
    private var refusedFeeds = 0

    private let edition: UInt8
    private let mostRefused: Int
    private let table: FeedTable
    private let budget: ShardMemory
    private let nearBytes: Int

    /// - Parameters:
    ///   - claimedAt: UNIX milliseconds.
    ///   - salt: the key of the hashes that the commit has, or of those to come.
    ///   - doneBelow: the committed offset.
    ///   - edition: of this owner's decoder.
    ///   - isMixed: the commit was made with another edition; see ``PositionMetadata/adapt(to:)``.
    ///   - mostRefused: see ``AppLimits/refused``.
    ///   - nearBytes: most bytes that the live reader reads of the stretch before `doneBelow`.
    init(
        place: KafkaTopicPartition,
        lane: RequestLane = .normal,
        claimedAt: Int64 = 0,
        salt: AppSalt = .none,
        doneBelow: Int64,
        edition: UInt8 = RequestValue.edition,
        isMixed: Bool = false,
        mostRefused: Int = AppLimits().refused,
        table: FeedTable,
        budget: ShardMemory,
        nearBytes: Int = ShardLimits.nearBytes
    ) {
        self.place = place
        self.lane = lane
        self.claimedAt = claimedAt
        self.salt = salt
        self.doneBelow = max(0, doneBelow)
        self.edition = edition
        self.isMixed = isMixed
        self.mostRefused = mostRefused
        self.table = table
        self.budget = budget
        self.nearBytes = nearBytes
        if doneBelow >= 0 { liveNext = doneBelow }
    }

    var number: Int32 { place.partition }

    /// The feeds in the order of their topics.
    var sortedFeeds: [AppFeed] { feeds.values.sorted { $0.hash < $1.hash } }

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
            feed.passOver(max(next, feed.ledger.doneBelow))
            feed.passOver(doneBelow - 1)
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

    /// The feed of a topic. A new one is live, unless a class may have records of it that are not done.
    func feed(of hash: AppHash, account: @autoclosure () -> AppAccount) -> AppFeed {
        if let lastFeed, lastFeed.hash == hash { return lastFeed }
        if let known = feeds[hash] {
            lastFeed = known
            return known
        }
        return begin(hash, account())
    }

    private func begin(_ hash: AppHash, _ account: AppAccount) -> AppFeed {
        let refused = isMixed && hash != .refused ? feeds[.refused] : nil
        let others = hash > .others && overflowed?.contains(hash) ?? true ? feeds[.others] : nil
        let behind = [refused, others].compactMap(\.self).filter { !$0.ledger.isLive }
        let first = behind.min { ($0.ledger.gap?.next ?? .max) < ($1.ledger.gap?.next ?? .max) }
        // Beyond the offset the refused records' marks say nothing of other topics.
        let marked = refused?.ledger.alreadyDone.dropping(from: doneBelow) ?? DoneRanges()
        let ledger = AppLedger(
            doneBelow: min(doneBelow, refused?.ledger.doneBelow ?? doneBelow),
            alreadyDone: others?.ledger.isLive == false ? DoneRanges() : marked,
            gap: first?.ledger.gap.map { $0.next..<max($0.next, liveNext ?? doneBelow) }
        )
        let feed = add(hash, account, ledger)
        if let first {
            feed.inheritGap(from: GapStart(publishedAt: first.cursorPublishedAt, isRead: !first.lacksPublishedAt))
        }
        return feed
    }

    /// The feed of bundles beyond those that have cursors of their own, for a record of one of them.
    func overflow(_ hash: AppHash, account: AppAccount) -> AppFeed {
        if feeds[.others]?.ledger.isLive ?? true { overflowed = [] }
        if overflowed?.count == ShardLimits.overflowedTopics { overflowed = nil }
        overflowed?.insert(hash)
        return feed(of: .others, account: account)
    }

    /// The feed for a record that is refused.
    ///
    /// - Parameter hash: of the topic that the record names. Another owner may know it, so it has a cursor of its own.
    func feed(ofRefused hash: AppHash, account: AppAccount) -> AppFeed {
        if let known = feeds[hash] { return claim(known, for: account) }
        guard refusedFeeds < mostRefused else {
            isMixed = true
            return feed(of: .refused, account: account)
        }
        refusedFeeds += 1
        return begin(hash, account)
    }

    /// The feed for a record that names no topic because it cannot be decoded.
    ///
    /// A former owner with another decoder may have known its topic, and then it is not done if that is behind. Of
    /// several such topics one gets it, and the others' cursors wait for it: the next owner may know it again. Met
    /// again, it stays with the feed that has got it.
    ///
    /// - Parameter mayBe: the record may be of a topic, by its key.
    func feed(
        ofUndecodableAt offset: Int64,
        isBehind: Bool,
        account: AppAccount,
        mayBe: (AppFeed) -> Bool
    ) -> AppFeed {
        guard isMixed, offset < doneBelow else { return feed(of: .refused, account: account) }
        func waits(_ feed: AppFeed) -> Bool {
            isBehind ? feed.ledger.gap?.contains(offset) ?? false : feed.ledger.doneBelow <= offset
        }
        func isMarked(_ feed: AppFeed) -> Bool { feed.ledger.alreadyDone.contains(.init(offset: offset, token: 0)) }
        let candidates = sortedFeeds.filter { $0.hash == .refused || $0.hash != .others && mayBe($0) }
        let formers = candidates.filter(waits)
        let holders = candidates.filter { guesses.mayHaveGiven(offset, to: $0.hash) }
        // A holder waits for the record again if it was rewound.
        let choice = holders.isEmpty ? formers : holders.contains(where: waits) ? holders.filter(waits) : holders
        // A run of marks goes over records of other topics, so a mark counts only where there is no other feed.
        let chosen = choice.first { $0.hash == .refused || !isMarked($0) } ?? choice.first
        guard let chosen else { return feed(of: .refused, account: account) }
        for other in formers where other !== chosen { guesses.note(offset, in: chosen.hash, maybeOf: other.hash) }
        return chosen
    }

    /// Forgets feeds of refused topics that have nothing left to do, so that others have room.
    ///
    /// - Parameter account: that of refused records.
    func forgetRefused(_ account: AppAccount) {
        guard refusedFeeds > 0 else { return }
        // Before, records may come that are done by their marks, or not done though their offsets are below.
        guard let liveNext, doneBelow <= liveNext else { return }
        // Made anew, such a feed would inherit what is behind, its own records among it.
        guard feeds[.refused]?.ledger.isLive ?? true else { return }
        refusedFeeds = 0
        for feed in sortedFeeds where feed.account === account && feed.hash != .refused {
            let marked = feed.ledger.alreadyDone.runs.last?.upperBound.offset ?? 0
            if feed.ledger.isIdle, feed.sharers.isEmpty, feed.unacknowledged == 0, marked <= liveNext {
                table.remove(feed)
                feeds[feed.hash] = nil
            } else {
                refusedFeeds += 1
            }
        }
    }

    /// Takes over a topic whose cursor is named in the commit.
    func inherit(_ laggard: PositionMetadata.Laggard, from start: Int64, account: AppAccount) {
        let isNear = start <= laggard.cursor
        let gap = isNear ? nil : laggard.cursor..<start
        let below = isNear ? laggard.cursor : 0
        _ = add(laggard.topic, account, AppLedger(doneBelow: below, alreadyDone: laggard.done, gap: gap))
    }

    /// Feeds a topic anew from its cursor.
    ///
    /// - Returns: the feed that ended; nil: there was nothing to feed again.
    func rewind(_ feed: AppFeed) -> AppFeed? {
        guard feed.ledger.frontier.recordCount > 0, feeds[feed.hash] === feed else { return nil }
        let ledger = feed.ledger.rewound(liveNext: liveNext ?? doneBelow)
        // Before the feed lets go of its records.
        let start = feed.unfinishedStart
        feed.account.pace?.giveBack(feed.ledger.frontier.uncommitted)
        feed.giveBackQuotas()
        table.remove(feed)
        let made = add(feed.hash, feed.account, ledger)
        made.inheritGap(from: start)
        made.inheritUnrememberedRequests(of: feed)
        made.inheritSummaries(of: feed)
        for sharer in feed.sharers { made.share(with: sharer) }
        return feed
    }

    /// Claims the feed of a hash for a topic. It becomes the topic's own if the bundle was not known by name until now;
    /// that of another topic with the same hash is shared.
    func claim(_ feed: AppFeed, for account: AppAccount) -> AppFeed {
        guard feed.account !== account else { return feed }
        guard feed.account.topic == nil, feed.ledger.frontier.recordCount == 0 else {
            feed.share(with: account)
            return feed
        }
        table.remove(feed)
        let made = add(feed.hash, account, feed.ledger)
        made.inheritGap(from: feed.gapStart)
        return made
    }

    /// Ends all feeds.
    func end() -> [AppFeed] {
        phase = .revoking
        // Nothing of it is committed any more.
        liveNext = nil
        let all = sortedFeeds
        for feed in all { table.remove(feed) }
        feeds = [:]
        return all
    }

    private func add(_ hash: AppHash, _ account: AppAccount, _ ledger: AppLedger) -> AppFeed {
        let feed = AppFeed(
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
        var laggards: [(topic: AppHash, cursor: Int64)] = []
        var isHeld = false
        guesses.advance { feeds[$0]?.ledger.cursor(liveNext: liveNext, committed: doneBelow) }
        for (hash, feed) in feeds {
            let own = feed.ledger.cursor(liveNext: liveNext, committed: doneBelow)
            guard let cursor = [own, guesses.cursor(of: hash)].compactMap(\.self).min() else { continue }
            if hash == .others {
                // The next owner may share the bundles out otherwise, so no name tells whose records were not sent.
                end = min(end, cursor)
                isHeld = true
            } else {
                laggards.append((hash, cursor))
            }
        }
        // A next owner with this decoder need not ask any more which topics refused records may be of.
        isMixed = isMixed && laggards.contains { $0.topic == .refused || $0.cursor < doneBelow }
        var position = PositionMetadata.choose(
            laggards,
            liveNext: end,
            salt: salt,
            limitBytes: metadataLimitBytes,
            edition: isMixed ? PositionMetadata.unknownEdition : edition
        ) { [feeds, guesses] hash, limit in
            let done = feeds[hash]?.claimDoneRanges(limit: limit) ?? DoneRanges()
            // A run goes over what another feed has, and a record there may be of this topic.
            return guesses.cursor(of: hash).map(done.dropping(from:)) ?? done
        }
        if isHeld { position.unnamed += 1 }
        return position
    }
}
