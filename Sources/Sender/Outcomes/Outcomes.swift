import KafkaClient
import Logging
import NIOCore
import PipelineCore
import PushSchemas
import PushTopics
import TokenState

/// Last stage: ends every notification, at once or when the broker has acknowledged the publication about it.
///
/// Calls no earlier stage; marks finished notifications in the ledgers of the feeds. Bound to the shard's event loop.
final class Outcomes {
    private var settings: ShardSettings
    private let feeds: FeedTable
    private let badges: BadgeReturns
    private let desk: PublicationDesk
    private var refusals = RefusedContent()
    private var deadLetterLog: DeadLetterLog
    private(set) var counters = OutcomeCounters()
    /// By index of the topic: notifications that went on in another lane.
    private(set) var moved: [Int32: Int] = [:]
    /// Called with a record that the brokers do not take for the other lane: it is to be sent here after all.
    var onMoveRefused: (_ record: UInt32, AppFeed) -> Void = { _, _ in }

    init(
        settings: ShardSettings,
        feeds: FeedTable,
        badges: BadgeReturns,
        producer: any MessageProducer,
        logger: Logger,
        clock: @escaping () -> MonotonicTime
    ) {
        self.settings = settings
        self.feeds = feeds
        self.badges = badges
        desk = PublicationDesk(settings: settings, feeds: feeds, producer: producer, logger: logger, clock: clock)
        deadLetterLog = DeadLetterLog(logger: logger)
        desk.onAcknowledged = { [unowned self] in acknowledged($0, of: $1) }
        desk.onMoveRefused = { [unowned self] in onMoveRefused($0, $1) }
    }

    /// Publishes the outcomes that other settings name, from now on.
    func use(_ changed: ShardSettings) {
        settings = changed
        desk.use(changed)
    }

    /// Outcomes, dead letters and moved records that the broker has not acknowledged.
    var unacknowledged: Int { desk.count }

    /// Publications that wait for operators: the brokers refuse them, or their Kafka topic.
    var barred: Int { desk.barredCount }

    /// Publications of which less was published, because the brokers refused them.
    var cut: Int { desk.cut }

    /// Further publications can be handed over at once.
    var isReady: Bool { desk.isReady }

    /// The feed of a notification; nil: it is over.
    func feed(of reference: NotificationReference) -> AppFeed? { feeds[reference.assignment] }

    /// The names of a notification for a log line; empty: it is done. Decodes its record.
    func coordinates(of reference: NotificationReference) -> Logger.Metadata {
        guard let feed = feeds[reference.assignment] else { return [:] }
        return desk.reread(reference.record, of: feed)?.coordinates(of: reference.token) ?? [:]
    }

    // MARK: Settling

    /// Gives a notification its outcome; the first one stands.
    @inline(__always)
    func settle(_ reference: NotificationReference, _ outcome: OutcomeKind, status: UInt16 = 0, reason: String = "") {
        guard let feed = feeds[reference.assignment] else { return }
        guard !feed.hasSpecialRecords else {
            return settleSpecial(reference, of: feed, outcome, status: status, reason: reason)
        }
        guard !settings.publishes(outcome) else {
            return publish(reference, of: feed, outcome, status: status, reason: reason)
        }
        guard !desk.presumes(reference) else { return }
        if feed.markDone(reference.record, token: reference.token) { counters.outcomes.count(outcome) }
    }

    /// The first outcome stands: it is done, or on its way to the broker.
    private func isSettled(_ reference: NotificationReference, in feed: AppFeed) -> Bool {
        feed.isDone(reference.record, token: reference.token) || desk.presumes(reference)
    }

    /// Gives a part of a lane's log its outcome, except dropped entries; the first outcome of each stands.
    ///
    /// Notifications that follow each other mostly are of one feed, which marks them together.
    func settle(_ entries: Range<UInt64>, of log: borrowing FrameLog, _ outcome: OutcomeKind) {
        let isPublished = settings.publishes(outcome)
        var sequence = entries.lowerBound
        while sequence < entries.upperBound {
            let entry = log.entry(at: sequence)
            if !entry.isDropped, let feed = feeds[entry.reference.assignment] {
                if !isPublished, !feed.hasSpecialRecords, !desk.presumesAny {
                    let (marked, end) = feed.markDone(sequence..<entries.upperBound, of: log)
                    counters.outcomes.count(outcome, marked)
                    sequence = end
                    continue
                }
                settle(entry.reference, outcome)
            }
            sequence += 1
        }
    }

    /// Gives a notification its outcome; it may have changed its token's number.
    private func settleSpecial(
        _ reference: NotificationReference,
        of feed: AppFeed,
        _ outcome: OutcomeKind,
        status: UInt16,
        reason: String
    ) {
        guard feed.changesBadges(reference.record), badges.counts else {
            return settleReported(reference, of: feed, outcome, status: status, reason: reason)
        }
        guard !badges.contains(reference), !isSettled(reference, in: feed) else { return }
        guard outcome.takesBadgeBack, let change = badgeChange(of: reference, in: feed) else {
            return settleReported(reference, of: feed, outcome, status: status, reason: reason)
        }
        badges.takeBack(change) { [weak self] in
            guard let self, let feed = feeds[reference.assignment] else { return }
            settleReported(reference, of: feed, outcome, status: status, reason: reason)
        }
    }

    /// The change of its token's number that a notification may have made.
    private func badgeChange(of reference: NotificationReference, in feed: AppFeed) -> BadgeReturns.Change? {
        guard let origin = desk.reread(reference.record, of: feed),
            let token = origin.token(at: reference.token),
            let topic = origin.topic(among: feed.topics),
            let mark = feed.badgeMark(of: reference.record, position: reference.token, token: token)
        else { return nil }
        return BadgeReturns.Change(
            reference: reference,
            topic: topic,
            token: Array(token),
            mark: mark
        )
    }

    /// Gives a notification its outcome; its publisher may have said how much it wants to have.
    private func settleReported(
        _ reference: NotificationReference,
        of feed: AppFeed,
        _ outcome: OutcomeKind,
        status: UInt16,
        reason: String
    ) {
        guard !desk.presumes(reference) else { return }
        let isPublished: Bool
        switch feed.report(of: reference.record) {
        case nil: isPublished = settings.publishes(outcome)
        case .all: isPublished = true
        case .failures: isPublished = outcome.isFailure
        case .summary:
            guard feed.summarize(reference.record, token: reference.token, outcome) else { return }
            counters.outcomes.count(outcome)
            return publishSummary(reference.record, of: feed)
        }
        if isPublished { return publish(reference, of: feed, outcome, status: status, reason: reason) }
        if feed.markDone(reference.record, token: reference.token) { counters.outcomes.count(outcome) }
    }

    /// Publishes the summary of a record, if all of its tokens have their outcomes.
    func publishSummary(_ record: UInt32, of feed: AppFeed) {
        guard let counts = feed.summary(of: record) else { return }
        desk.publish(Publication(feed: feed.number, record: record, content: .summary(counts)), of: feed)
    }

    /// Ends a notification without sending, because its token is dead.
    func silence(_ reference: NotificationReference, _ death: TokenRecord.Reason?) {
        settle(reference, .tombstoned, reason: death?.name ?? "")
    }

    private func publish(
        _ reference: NotificationReference,
        of feed: AppFeed,
        _ outcome: OutcomeKind,
        status: UInt16,
        reason: String
    ) {
        // Settled before: a late answer after it was presumed.
        guard !isSettled(reference, in: feed) else { return }
        counters.outcomes.count(outcome)
        desk.publish(
            Publication(
                feed: feed.number,
                record: reference.record,
                content: .outcome(token: reference.token, outcome, status: status, reason: reason)
            ),
            of: feed
        )
    }

    // MARK: Dead letters

    /// Publishes one dead letter for a whole record, then the outcome of each of its tokens.
    func deadLetter(record: UInt32, of feed: AppFeed, tokens: UInt32, _ refusal: RecordRefusal) {
        // Done before this assignment: the record has had its dead letter.
        guard (0..<tokens).contains(where: { !feed.isDone(record, token: $0) }) else { return }
        // The outcomes come after the dead letter's acknowledgement; the record must not be done before that.
        feed.hold(record)
        publish(.all(tokens), of: record, feed, refusal)
    }

    /// Publishes one dead letter for some tokens of a record, for one reason, then their outcomes.
    func deadLetter(record: UInt32, of feed: AppFeed, tokens: TokenRuns, _ refusal: RecordRefusal) {
        publish(.some(tokens), of: record, feed, refusal)
    }

    /// Notes that the gateway refused a notification because of its content.
    ///
    /// Other notifications of its record are mostly refused for the same reason, so the dead letter waits for them:
    /// until nothing else of the record is open, or, if it is the first, for ``RefusedContent/patience``.
    func deadLetter(_ reference: NotificationReference, status: UInt16, _ refusal: RecordRefusal, now: MonotonicTime) {
        guard let feed = feeds[reference.assignment], !isSettled(reference, in: feed) else { return }
        // The feed has something to wait for until the publication.
        refusals.add(reference, status: status, refusal, now: now) { feed.beginPublication() }
        let open = feed.remaining(of: reference.record)
        if let refused = refusals.takeRecord(of: reference, reason: refusal.reason, ifComplete: open) {
            publish(refused)
        }
    }

    /// - Parameter isStopping: dead letters of the feed do not wait for others, as in a partition that is given back.
    private func publishRefusals(now: MonotonicTime, isStopping: (AppFeed) -> Bool = { _ in false }) {
        guard !refusals.isEmpty else { return }
        let due = refusals.takeDue(now: now) { number in
            guard let feed = feeds[number] else { return false }
            return feed.partition.phase == .revoking || isStopping(feed)
        } remaining: { number, record in
            feeds[number]?.remaining(of: record)
        }
        for refused in due { publish(refused) }
    }

    private func publish(_ refused: RefusedContent.Refused) {
        guard let feed = feeds[refused.feed] else { return }
        feed.endPublication(refused.round) {
            publish(.some(refused.tokens), of: refused.record, feed, refused.refusal, status: refused.status)
        }
    }

    private func publish(
        _ tokens: Publication.DeadTokens,
        of record: UInt32,
        _ feed: AppFeed,
        _ refusal: RecordRefusal,
        status: UInt16 = 0
    ) {
        desk.publish(
            Publication(
                feed: feed.number,
                record: record,
                content: .deadLetter(tokens, status: status, reason: refusal.reason, detail: refusal.detail)
            ),
            of: feed
        )
    }

    // MARK: Moves

    /// See ``PublicationDesk/maySend``.
    var maySend: () -> Bool {
        get { desk.maySend }
        set { desk.maySend = newValue }
    }

    /// See ``PublicationDesk/hasRoom(forMovesOf:times:)``.
    func hasRoom(forMovesOf topic: Topic, times: Int) -> Bool { desk.hasRoom(forMovesOf: topic, times: times) }

    /// See ``PublicationDesk/mayMove(bytes:)``.
    func mayMove(bytes: Int) -> Bool { desk.mayMove(bytes: bytes) }

    /// Publishes a record of a topic to another lane. All of its tokens are done when the broker has it.
    func move(_ record: UInt32, of feed: AppFeed, _ topic: Topic) {
        desk.publish(Publication(feed: feed.number, record: record, content: .move(topic: topic.index)), of: feed)
    }

    // MARK: Time

    /// Publishes a topic's dead letters that wait for others of their records: the topic has stopped.
    func hurry(_ topic: Topic, now: MonotonicTime) {
        publishRefusals(now: now) { $0.carries(topic) }
    }

    /// Hands the next publications to the producer. Once in each turn of the shard.
    func beginTurn() { desk.beginTurn() }

    /// Tries a full producer again, and publishes dead letters that have waited for others long enough. Those of a
    /// partition that is being given back do not wait.
    func retry(now: MonotonicTime) {
        deadLetterLog.tick(now: now)
        publishRefusals(now: now)
        desk.retry()
    }

    /// Forgets feeds that are over: nothing of them is published any more.
    func forget(_ feeds: [AppFeed]) {
        let numbers = Set(feeds.map(\.number))
        refusals.forget(numbers)
        desk.forget(numbers)
    }

    // MARK: Acknowledgements

    /// The broker's report on a publication.
    func delivered(_ number: UInt64, error: KafkaError?) { desk.delivered(number, error: error) }

    private func acknowledged(_ publication: Publication, of feed: AppFeed) {
        switch publication.content {
        case .outcome(let token, _, _, _):
            feed.markDone(publication.record, token: token)
        case .summary:
            feed.endSummary(of: publication.record)
        case .move(let topic):
            moved[topic, default: 0] += feed.ledger.frontier.tokens(of: publication.record) ?? 0
            feed.endSummary(of: publication.record)
        case .deadLetter(let tokens, let status, let reason, _):
            counters.deadLetters += 1
            deadLetterLog.tell(tokens, status: status, reason: reason, desk.reread(publication.record, of: feed))
            end(tokens, of: publication.record, feed, status: status, reason: reason)
        }
    }

    private func end(
        _ tokens: Publication.DeadTokens,
        of record: UInt32,
        _ feed: AppFeed,
        status: UInt16,
        reason: String
    ) {
        func end(_ token: UInt32) {
            guard !feed.isDone(record, token: token) else { return }
            settle(
                NotificationReference(assignment: feed.number, record: record, token: token),
                .deadLettered,
                status: status,
                reason: reason
            )
        }
        switch tokens {
        case .all(let count):
            for token in 0..<count { end(token) }
            feed.release(record)
        case .some(let runs):
            for run in runs.runs { for token in run { end(token) } }
        }
    }
}
