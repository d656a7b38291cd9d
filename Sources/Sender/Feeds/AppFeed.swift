import KafkaClient
import PipelineCore
import PushSchemas
import PushTopics
import TokenState

/// One topic in one assignment of one partition: its ledger, and the consumed records behind it.
///
/// Its number is part of every ``NotificationReference``. A topic that is fed anew gets a feed with a new number, so
/// that leftovers of the former one cannot be mistaken for its own. Bound to the shard's event loop.
final class AppFeed {
    /// Never reused in a shard.
    let number: UInt32
    /// Numbers of the feeds that this one took the place of, as far as the gateway keeps notifications of them.
    private(set) var formerNumbers: [UInt32] = []
    let hash: AppHash
    let account: AppAccount
    /// Accounts of other topics that have the same hash, and their records in this feed. Nearly always none.
    private(set) var sharers: [AppAccount] = []
    unowned let partition: PartitionAssignment
    private(set) var ledger: AppLedger
    private var claims: DoneClaims
    /// The round of the publication that is ending now.
    private var endingRound: DoneClaims.Round?
    /// Records that were sent without token state.
    var sentWithoutState = RecordMarks()
    /// Keys of records with a request id, while those are remembered; see ``RequestFingerprint/key(requestID:)``.
    var requestKeys = RecordValues<SipHash>()
    /// The places of records that were moved into the lane, where these name changes of badges.
    var origins = RecordValues<MovedOrigin>()
    /// Records that count against a quota, each with the index of its topic.
    var counted = RecordValues<Int32>()
    /// The outcomes that publishers want to have of their records, where these say so.
    private var reports = RecordValues<RequestReport>()
    /// Some record has said so.
    private(set) var hasReports = false
    /// Records whose notifications may change numbers of tokens in Redis.
    private var badges = RecordMarks()
    /// Some record's outcomes take more than marking it done or publishing by the settings.
    private(set) var hasSpecialRecords = false
    private(set) var summaries = RecordSummaries<OutcomeKind>()
    /// Offsets of requests that arrived and that Redis does not have, by CRC-32 of the token, until a stored commit is
    /// beyond them. A newer request of such a token must not be in Redis either: after a crash the older one is sent
    /// again, and has to be followed by the newer one.
    private(set) var unrememberedRequests: [UInt32: Int64] = [:]
    /// The feed has ended: nothing of it is sent, settled or published.
    private(set) var isOver = false
    /// The offset at which the feed stands although its topic discards: the record there is not meant.
    var keptAt: Int64?

    private let budget: ShardMemory
    /// The start of the gap: the first record that was passed over, with the time of the last one that was taken in
    /// since.
    private(set) var gapStart = GapStart()
    private var sources = RecordSources()

    init(
        number: UInt32,
        hash: AppHash,
        account: AppAccount,
        partition: PartitionAssignment,
        ledger: AppLedger,
        budget: ShardMemory
    ) {
        self.number = number
        self.hash = hash
        self.account = account
        self.partition = partition
        self.ledger = ledger
        claims = DoneClaims(ledger.alreadyDone)
        self.budget = budget
    }

    /// The feed stops and forgets from now on what the gateway keeps of a former one: it was presumed, maybe wrongly.
    func follow(_ former: AppFeed, where isKept: (UInt32) -> Bool) {
        formerNumbers = former.numbers.filter(isKept)
    }

    /// The numbers of all notifications that leave with the feed.
    var numbers: [UInt32] { formerNumbers + [number] }

    // MARK: Topics

    /// Takes in records of another topic with the same hash, too.
    func share(with account: AppAccount) {
        guard !sharers.contains(where: { $0 === account }) else { return }
        // A bundle that waited without a topic may be the one that comes now; if not, its next record tells.
        sharers.removeAll { $0.topic == nil }
        sharers.append(account)
    }

    /// The topics of its records.
    var topics: [Topic] { ([account] + sharers).compactMap(\.topic) }

    func carries(_ topic: Topic) -> Bool {
        account.topic === topic || sharers.contains { $0.topic === topic }
    }

    // MARK: Ledger

    /// Takes a record in, which counts towards the limits until its cursor has passed it.
    ///
    /// - Parameters:
    ///   - payloadBytes: most bytes of the payload in the frame of each token.
    ///   - keptBytes: of payloads that the record's batch holds for tokens to choose from, and of its summary.
    ///   - isWhole: see ``CommitFrontier/append(offset:tokens:bytes:alreadyDone:isWhole:)``.
    func addRecord(
        _ message: KafkaMessageView,
        at index: Int,
        of batch: KafkaBatch,
        tokens: Int,
        payloadBytes: Int = 0,
        keptBytes: Int = 0,
        isWhole: Bool = false,
        now: MonotonicTime
    ) -> UInt32 {
        let frameBytes = ShardLimits.notificationBytes + payloadBytes
        let bytes = message.memoryBytes + keptBytes + tokens * frameBytes
        // The rest of the gap was published later.
        if !ledger.isLive { gapStart.publishedAt = message.timestampMilliseconds }
        let number = change {
            $0.addRecord(offset: message.offset, tokens: tokens, bytes: bytes, isWhole: isWhole)
        }
        if !sources.extend(to: number, batch: batch, index: index) {
            trimSources()
            sources.append(number, batch: batch, index: index, takenAt: now)
        }
        if ledger.frontier.remaining(of: number) == 0 { change { $0.advance() } }
        return number
    }

    /// - Parameter start: the record; asked for only at the first of a gap.
    func passOver(_ offset: Int64, as start: @autoclosure () -> GapStart = GapStart()) {
        if ledger.isLive { gapStart = start() }
        ledger.passOver(offset)
    }

    func fed(upTo offset: Int64) { ledger.fed(upTo: offset) }

    /// Goes on where the log begins now.
    ///
    /// - Returns: the records of the gap that it has no more; nil: it has all.
    func skip(to low: Int64) -> LostRecords? {
        guard let gap = ledger.gap, ledger.skip(to: low) > 0 else { return nil }
        var lost = LostRecords(gap.next...min(gap.last, low - 1))
        lost.since = gapStart.publishedAt
        lost.topics = topics.map { "\($0.bundleID) in \($0.environment)" }
        if let request = gapStart.request, lost.offsets.contains(request.offset) { lost.requestIDs = [request.id] }
        // The record at the cursor is another one now.
        gapStart = GapStart()
        return lost
    }

    @discardableResult
    func markDone(_ record: UInt32, token: UInt32) -> Bool {
        change { $0.markDone(record, token: token) }
    }

    /// Marks notifications of a lane's log done, from the first on, which is the feed's, to the first of another feed.
    ///
    /// - Returns: how many were not done before, and the first entry that was not looked at.
    func markDone(_ entries: Range<UInt64>, of log: borrowing FrameLog) -> (marked: Int, end: UInt64) {
        change { $0.markDone(entries, of: log, assignment: number) }
    }

    func isDone(_ record: UInt32, token: UInt32) -> Bool { isOver || hasOutcome(record, token: token) }

    /// Tells of a feed that is over, too.
    func hasOutcome(_ record: UInt32, token: UInt32) -> Bool {
        if ledger.isDone(record, token: token) { return true }
        guard !summaries.isEmpty, let offset = ledger.frontier.offset(of: record) else { return false }
        return summaries.isSettled(offset, token: token)
    }

    /// Notifications of a record without an outcome, and other things that it waits for.
    func remaining(of record: UInt32) -> Int {
        let remaining = ledger.frontier.remaining(of: record)
        guard !summaries.isEmpty, let offset = ledger.frontier.offset(of: record) else { return remaining }
        return remaining - summaries.settledCount(offset)
    }

    func hold(_ record: UInt32) { ledger.hold(record) }
    func release(_ record: UInt32) { change { $0.release(record) } }

    // MARK: Reports

    /// The outcomes that the publisher of a record wants to have; nil: it has not said so.
    func report(of record: UInt32) -> RequestReport? { reports[record] }

    /// Notes the outcomes that the publisher of a record wants to have.
    ///
    /// - Parameter record: behind all others that were noted.
    func setReport(_ report: RequestReport, of record: UInt32, tokens: Int) {
        hasReports = true
        hasSpecialRecords = true
        reports.append(report, for: record)
        guard report == .summary, let offset = ledger.frontier.offset(of: record) else { return }
        summaries.begin(offset, tokens: tokens)
    }

    /// Counts a token's outcome for the summary of its record; false: it had one before.
    func summarize(_ record: UInt32, token: UInt32, _ outcome: OutcomeKind) -> Bool {
        guard let offset = ledger.frontier.offset(of: record) else { return false }
        return summaries.settle(offset, token: token, outcome)
    }

    /// The done ranges that the commit in the making names.
    ///
    /// - Parameter limit: stop after this many runs.
    func claimDoneRanges(limit: Int) -> DoneRanges {
        trimSources()
        let ranges = claims.claim(ledger.doneRanges(limit: limit))
        return summaries.firstBegun.map(ranges.dropping(from:)) ?? ranges
    }

    /// The summary of a record whose tokens all have their outcomes; nil: some have none, or it is to have none.
    func summary(of record: UInt32) -> [OutcomeKind: UInt32]? {
        guard !summaries.isEmpty, let offset = ledger.frontier.offset(of: record) else { return nil }
        return summaries.counts(offset)
    }

    /// The broker has the summary of a record, or the record in another lane: all of its tokens are done.
    func endSummary(of record: UInt32) {
        guard let offset = ledger.frontier.offset(of: record),
            let tokens = ledger.frontier.tokens(of: record)
        else { return }
        summaries.end(offset)
        for token in 0..<UInt32(tokens) { markDone(record, token: token) }
    }

    /// Takes over from a former feed of the topic, which is fed anew from its cursor.
    func inheritSummaries(of former: AppFeed) { summaries = former.summaries }

    // MARK: Badges

    /// Notes that notifications of a record may change the numbers of their tokens in Redis.
    ///
    /// - Parameter record: behind all others that were noted.
    func noteBadges(of record: UInt32) {
        hasSpecialRecords = true
        badges.mark(record)
    }

    func changesBadges(_ record: UInt32) -> Bool { badges.contains(record) }

    // MARK: Requests

    /// - Parameter checksum: CRC-32 of the token.
    func addUnrememberedRequest(_ record: UInt32, checksum: UInt32) {
        guard let offset = ledger.frontier.offset(of: record) else { return }
        unrememberedRequests[checksum] = max(offset, unrememberedRequests[checksum] ?? offset)
    }

    /// Takes over from a former feed of the topic, which is fed anew from its cursor.
    func inheritUnrememberedRequests(of former: AppFeed) { unrememberedRequests = former.unrememberedRequests }

    /// - Parameter start: the record at the cursor, or an earlier one.
    func inheritGap(from start: GapStart) { gapStart = start }

    /// The log was read for the record at the cursor.
    ///
    /// - Parameter publishedAt: of it, or of the first record behind it; nil: the log does not tell.
    func lookedAtCursor(publishedAt: Int64?) {
        gapStart.isRead = true
        if !ledger.isLive, gapStart.publishedAt == nil { gapStart.publishedAt = publishedAt }
    }

    func forgetUnrememberedRequests(below offset: Int64) {
        guard !unrememberedRequests.isEmpty else { return }
        unrememberedRequests = unrememberedRequests.filter { offset <= $0.value }
    }

    /// Unacknowledged publications about its notifications, and requests on their way into Redis.
    var unacknowledged: Int { claims.unacknowledged }

    /// - Parameter cause: the round of the publication that it is a part of; nil: of that which is ending, if any.
    func beginPublication(after cause: DoneClaims.Round? = nil) -> DoneClaims.Round {
        claims.begin(after: cause ?? endingRound)
    }

    /// Ends a publication.
    ///
    /// - Parameter follow: begins what follows from it, and marks done what is.
    func endPublication(_ round: DoneClaims.Round, then follow: () -> Void = {}) {
        let outer = endingRound
        endingRound = round
        follow()
        endingRound = outer
        claims.end(round)
    }

    /// Ends the feed; its records no longer count towards the limits.
    func end() {
        guard !isOver else { return }
        isOver = true
        let frontier = ledger.frontier
        account.addChange(notifications: -frontier.uncommitted, bytes: -frontier.bytes)
        budget.giveBack(frontier.bytes)
        sources = RecordSources()
    }

    private func change<Result>(_ body: (inout AppLedger) -> Result) -> Result {
        let notifications = ledger.frontier.uncommitted
        let bytes = ledger.frontier.bytes
        let result = body(&ledger)
        guard !isOver else { return result }
        let added = ledger.frontier.bytes - bytes
        account.addChange(notifications: ledger.frontier.uncommitted - notifications, bytes: added)
        if added > 0 {
            budget.takeBytes(added, forProbe: account.isProbed)
        } else if added < 0 {
            budget.giveBack(-added)
        }
        return result
    }

    // MARK: Sources

    /// The time of taking in the oldest unfinished record; nil when all are done.
    var oldestTakenAt: MonotonicTime? {
        trimSources()
        return sources.oldestTakenAt
    }

    /// The time of publishing the oldest unfinished record, UNIX milliseconds. Nil when all are done, or the log does
    /// not tell.
    var oldestPublishedAt: Int64? {
        publishedAt(ledger.frontier.firstRecord)
    }

    /// The time of publishing the record at the cursor of a topic that lags, UNIX milliseconds, or an earlier one. Nil:
    /// the topic does not lag, or the time is not known.
    var cursorPublishedAt: Int64? {
        ledger.isLive ? nil : oldestPublishedAt ?? gapStart.publishedAt
    }

    /// The time of publishing the oldest record that is not done, taken in or not, UNIX milliseconds, or an earlier
    /// one. Nil: all are done, or the time is not known.
    var unfinishedPublishedAt: Int64? { oldestPublishedAt ?? cursorPublishedAt }

    /// The start of the gap when the topic is fed anew: the oldest record that is not done, taken in or not.
    var unfinishedStart: GapStart {
        guard let (batch, index) = source(of: ledger.frontier.firstRecord) else {
            return GapStart(publishedAt: cursorPublishedAt, isRead: true, request: gapStart.request)
        }
        return GapStart(batch[index])
    }

    /// The feed lags, and the publishing time of the record at its cursor is not known: it was taken over.
    var lacksPublishedAt: Bool {
        !gapStart.isRead && gapStart.publishedAt == nil && !ledger.isLive && ledger.frontier.recordCount == 0
    }

    /// The time of publishing a record, UNIX milliseconds. Nil once the cursor has passed it, or if the log does not
    /// tell.
    func publishedAt(_ record: UInt32) -> Int64? {
        source(of: record).flatMap { $0.batch[$0.index].timestampMilliseconds }
    }

    /// Releases the batches whose records are all behind the cursor.
    func trimSources() {
        let first = ledger.frontier.firstRecord
        sources.forget(before: first)
        sentWithoutState.forget(before: first)
        requestKeys.forget(before: first)
        origins.forget(before: first)
        counted.forget(before: first)
        badges.forget(before: first)
        if hasReports { reports.forget(before: first) }
        if let offset = ledger.cursor ?? ledger.frontier.nextOffset { claims.forget(below: offset) }
        if !summaries.isEmpty { summaries.forget(below: ledger.cursor ?? .max) }
    }

    /// Copies records taken in before a time out of their fetch buffers, which hold records of other topics, too.
    ///
    /// - Parameter room: the bytes that may be copied; those of the records are taken off.
    func unpinSources(takenBefore time: MonotonicTime, room: inout Int) {
        trimSources()
        sources.unpin(takenBefore: time, room: &room)
    }

    /// Copies the latest records out of the fetch buffers of their batch.
    func unpinSources(of batch: KafkaBatch) {
        trimSources()
        sources.unpin(of: batch)
    }

    /// The source of a record; nil once the cursor has passed it.
    func source(of record: UInt32) -> (batch: KafkaBatch, index: Int)? { sources.source(of: record) }
}
