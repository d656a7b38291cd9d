import KafkaClient
import Logging
import PipelineCore
import PushTopics

/// Hands publications to the producer until the broker has acknowledged each: a slice in every turn of the shard.
///
/// Hundreds of thousands of notifications may settle in one callback. Their publications wait here, and commits, the
/// group and sockets get their turns in between. One that waits takes less memory than its notification, which counts
/// as in flight until it is done. Bound to the shard's event loop.
final class PublicationDesk {
    private enum Destination: Int, CaseIterable {
        case deadLetters
        case outcomes
        case moves

        init(_ publication: Publication) {
            switch publication.content {
            case .deadLetter: self = .deadLetters
            case .outcome, .summary: self = .outcomes
            case .move: self = .moves
            }
        }
    }

    /// Called when the broker has a publication.
    var onAcknowledged: (Publication, AppFeed) -> Void = { _, _ in }
    /// Called with a record that the brokers do not take for the other lane.
    var onMoveRefused: (_ record: UInt32, AppFeed) -> Void = { _, _ in }
    /// The partitions are this worker's; asked before each move, which another owner would make, too.
    var maySend: () -> Bool = { true }

    private var settings: ShardSettings
    private let feeds: FeedTable
    private let producer: any MessageProducer
    private let logger: Logger
    private let clock: () -> MonotonicTime
    private var table = PublicationTable()
    /// By destination.
    private var lines = Destination.allCases.map { _ in PublicationLine() }
    /// Units that are left in this turn, by destination.
    private var slices: [Int]
    /// The records last decoded for publications about them, the latest first.
    private var rereads: [RereadRecord] = []
    private var logBudget: LineBudget
    /// Publications of which less was published, because the brokers refused them.
    private(set) var cut = 0
    /// The least bytes of a record that the brokers did not take for the other lane, and the time of the next attempt
    /// with that many; 0: they refused its Kafka topic. Nil: moves go on.
    private var trial: (bytes: Int, at: MonotonicTime)?

    init(
        settings: ShardSettings,
        feeds: FeedTable,
        producer: any MessageProducer,
        logger: Logger,
        clock: @escaping () -> MonotonicTime
    ) {
        self.settings = settings
        self.feeds = feeds
        self.producer = producer
        self.logger = logger
        self.clock = clock
        slices = Destination.allCases.map { _ in settings.publicationUnits }
        logBudget = LineBudget(burst: 10, perSecond: 1, now: clock())
    }

    func use(_ changed: ShardSettings) { settings = changed }

    /// Publications that the broker has not acknowledged.
    var count: Int { table.count }

    /// Publications that wait for operators: the brokers refuse them, or their Kafka topic.
    var barredCount: Int { lines.reduce(0) { $0 + $1.barredCount } }

    /// Another slice can be handed over at once.
    var isReady: Bool { Destination.allCases.contains { lines[$0.rawValue].isReady && isOpen($0) } }

    private func isOpen(_ destination: Destination) -> Bool { destination != .moves || maySend() }

    // MARK: Moves

    /// See ``PublicationTable/hasRoom(forMovesOf:times:)``.
    func hasRoom(forMovesOf topic: Topic, times: Int) -> Bool { table.hasRoom(forMovesOf: topic.index, times: times) }

    /// The brokers may take a record for the other lane. After a refusal one is tried at a time, until one is
    /// acknowledged: an answer of true is leave for one.
    func mayMove(bytes: Int) -> Bool {
        guard let trial, trial.bytes <= bytes else { return true }
        let now = clock()
        guard trial.at <= now else { return false }
        self.trial?.at = now + PublicationLine.longestPause
        return true
    }

    private func bytes(of publication: Publication) -> Int? {
        feeds[publication.feed]?.source(of: publication.record).map { $0.batch[$0.index].value.count }
    }

    /// An operator has called the record back since it was to be moved.
    private func isRecalled(_ publication: Publication, of feed: AppFeed, _ message: KafkaMessageView) -> Bool {
        guard case .move(let index) = publication.content, let topic = feed.topics.first(where: { $0.index == index })
        else { return false }
        if topic.flow.isRecalled { return true }
        // In a partition that is being given back nothing is recalled.
        return topic.control.discard?.covers(
            partition: message.partition,
            offset: message.offset,
            publishedAt: message.timestampMilliseconds
        ) ?? false
    }

    // MARK: Inputs

    func publish(_ publication: Publication, of feed: AppFeed) {
        var publication = publication
        publication.round = feed.beginPublication()
        publication.decidedAtMilliseconds = settings.unixMilliseconds()
        let destination = Destination(publication)
        lines[destination.rawValue].add(table.insert(publication))
        handOver(to: destination)
    }

    /// Hands over the next slice.
    func beginTurn() {
        for destination in Destination.allCases {
            slices[destination.rawValue] = settings.publicationUnits
            handOver(to: destination)
        }
    }

    /// Tries a full producer again, though it has reported nothing.
    func retry() {
        for destination in Destination.allCases { lines[destination.rawValue].roomCame() }
    }

    /// The broker's report on a publication.
    func delivered(_ number: UInt64, error: KafkaError?) {
        guard let publication = table[number] else { return }
        for destination in Destination.allCases { lines[destination.rawValue].roomCame() }
        if let error { return failed(number, publication, error) }
        lines[Destination(publication).rawValue].acknowledged()
        if case .move = publication.content, let trial, trial.bytes <= bytes(of: publication) ?? 0 { self.trial = nil }
        table.remove(number)
        guard let feed = feeds[publication.feed] else { return }
        feed.endPublication(publication.round) { onAcknowledged(publication, feed) }
    }

    /// Forgets feeds that are over: the topics' next owners come to their own outcomes.
    func forget(_ numbers: Set<UInt32>) {
        rereads.removeAll { numbers.contains($0.feed) }
        for destination in Destination.allCases {
            lines[destination.rawValue].removeAll { number in
                guard let publication = table[number], numbers.contains(publication.feed) else { return false }
                table.remove(number)
                return true
            }
        }
    }

    /// Decodes a record, or returns one of those decoded last: outcomes of one record mostly follow each other, or
    /// alternate with those of its neighbours, each of which may be dear to decode.
    func reread(_ record: UInt32, of feed: AppFeed) -> RereadRecord? {
        if let kept = kept(record, of: feed) { return kept }
        guard let (batch, index) = feed.source(of: record) else { return nil }
        let reread = RereadRecord(
            feed: feed.number,
            record: record,
            batch: batch,
            index: index,
            movesFrom: settings.movesFrom
        )
        rereads.insert(reread, at: 0)
        if rereads.count > ShardLimits.rereadRecords { rereads.removeLast() }
        return reread
    }

    private func kept(_ record: UInt32, of feed: AppFeed) -> RereadRecord? {
        guard let place = rereads.firstIndex(where: { $0.feed == feed.number && $0.record == record }) else {
            return nil
        }
        if place > 0 { rereads.swapAt(0, place) }
        return rereads[0]
    }

    /// The outcome that a notification was presumed to have is under way.
    func presumes(_ reference: NotificationReference) -> Bool { table.presumes(reference) }

    var presumesAny: Bool { table.presumesAny }

    // MARK: Handing over

    private func handOver(to destination: Destination) {
        let place = destination.rawValue
        while slices[place] > 0, isOpen(destination), let number = lines[place].takeNext(now: clock()) {
            slices[place] -= handOver(number)
        }
    }

    /// - Returns: the units that it took.
    private func handOver(_ number: UInt64) -> Int {
        guard let publication = table[number] else { return 1 }
        let feed = feeds[publication.feed]
        let isKept = feed.map { kept(publication.record, of: $0) != nil } ?? false
        guard let feed, let origin = reread(publication.record, of: feed) else {
            // The feed is over, and the topic's next owner comes to its own outcome; or the notification has its
            // outcome already.
            feeds[publication.feed]?.endPublication(publication.round)
            table.remove(number)
            return 1
        }
        guard !isRecalled(publication, of: feed, origin.message) else {
            // The record is fed anew, or the next owner's.
            table.remove(number)
            feed.endPublication(publication.round)
            return 1
        }
        var bytes = isKept ? 0 : origin.message.value.count
        if Destination(publication) != .outcomes { bytes += origin.message.value.count }
        do throws(KafkaError) {
            try produce(publication, number, origin, isWithoutState: feed.sentWithoutState.contains(publication.record))
        } catch {
            failed(number, publication, error)
        }
        return 1 + bytes / ShardLimits.bytesPerPublicationUnit
    }

    private func produce(
        _ publication: Publication,
        _ number: UInt64,
        _ origin: RereadRecord,
        isWithoutState: Bool
    ) throws(KafkaError) {
        let topics = feeds[publication.feed]?.topics ?? []
        switch publication.content {
        case .outcome(let token, let kind, let status, let reason):
            let outcome = OutcomeRecord(
                token: token,
                kind: kind.message,
                status: status,
                reason: reason,
                decidedAtMilliseconds: publication.decidedAtMilliseconds,
                isWithoutState: isWithoutState,
                warning: origin.warning(of: token, among: topics),
                isCut: publication.form != .whole
            )
            try outcome.publish(origin, settings, through: producer, opaque: number)
        case .summary(let counts):
            let summary = OutcomeRecord(
                token: nil,
                kind: .summary,
                status: 0,
                reason: "",
                decidedAtMilliseconds: publication.decidedAtMilliseconds,
                isWithoutState: isWithoutState,
                warning: origin.warning(among: topics),
                isCut: publication.form != .whole,
                counts: counts
            )
            try summary.publish(origin, settings, through: producer, opaque: number)
        case .deadLetter(let tokens, _, let reason, let detail):
            let letter = DeadLetter(
                source: settings.names.requests,
                offset: origin.message.offset,
                reason: reason,
                detail: detail,
                tokens: tokens.runs,
                form: publication.form
            )
            try letter.publish(origin.message, to: settings.names.deadLetters, through: producer, opaque: number)
        case .move:
            let place = MovedOrigin(movingFrom: settings.names.requests, origin.message)
            try place.publish(origin.message, to: settings.movesTo, through: producer, opaque: number)
        }
    }

    /// Publishes less: the broker refuses the publication as it is. Tokens without room go in letters of their own.
    private func shrink(_ number: UInt64, _ publication: Publication, to form: DeadLetter.Form, _ error: KafkaError) {
        let destination = Destination(publication).rawValue
        cut += 1
        var publication = publication
        publication.form = form
        defer {
            table[number] = publication
            lines[destination].add(number)
        }
        if let passedOver = logBudget.take(now: clock()) {
            logger.warning(
                "publication was refused by the broker; less of it is published",
                metadata: ["error": "\(error)", "passed-over": "\(passedOver)"]
            )
        }
        guard form == .cut, let feed = feeds[publication.feed],
            case .deadLetter(.some(let tokens), let status, let reason, let detail) = publication.content
        else { return }
        for (index, part) in DeadLetter.parts(of: tokens).enumerated() {
            let content = Publication.Content.deadLetter(.some(part), status: status, reason: reason, detail: detail)
            guard index > 0 else {
                publication.content = content
                continue
            }
            var further = publication
            further.content = content
            further.form = .further
            further.round = feed.beginPublication(after: publication.round)
            lines[destination].add(table.insert(further))
        }
    }

    private func failed(_ number: UInt64, _ publication: Publication, _ error: KafkaError) {
        let now = clock()
        let destination = Destination(publication).rawValue
        if case .move = publication.content, [.barred, .unfit].contains(error.refusal) {
            return endMove(number, publication, error, now: now)
        }
        if error.isMessageRefused, let form = publication.smallerForm {
            return shrink(number, publication, to: form, error)
        }
        lines[destination].refused(number, error.refusal, now: now)
        // A storm of failures is one fault.
        guard !error.isQueueFull, let passedOver = logBudget.take(now: now) else { return }
        logger.error(
            "publication was not delivered; it is tried again",
            metadata: ["error": "\(error)", "passed-over": "\(passedOver)"]
        )
    }

    /// A record that cannot be moved is to be sent after all, for it is urgent; all that wait, if the Kafka topic is
    /// refused.
    private func endMove(_ number: UInt64, _ publication: Publication, _ error: KafkaError, now: MonotonicTime) {
        let bytes = error.isTopicRefused ? 0 : bytes(of: publication) ?? .max
        trial = (bytes: min(trial?.bytes ?? .max, bytes), at: now + PublicationLine.longestPause)
        if let feed = feeds[publication.feed], let passedOver = logBudget.take(now: now) {
            var metadata = reread(publication.record, of: feed)?.coordinates ?? [:]
            metadata["error"] = "\(error)"
            metadata["passed-over"] = "\(passedOver)"
            logger.warning("record over a quota cannot be moved; it is sent as urgent", metadata: metadata)
        }
        var ended = [number]
        if error.isTopicRefused {
            lines[Destination.moves.rawValue].removeAll { waiting in
                ended.append(waiting)
                return true
            }
        }
        for number in ended {
            guard let publication = table.remove(number), let feed = feeds[publication.feed] else { continue }
            feed.endPublication(publication.round) { onMoveRefused(publication.record, feed) }
        }
    }
}
