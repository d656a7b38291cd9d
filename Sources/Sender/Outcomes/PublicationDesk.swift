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
    /// Work on the publications to one Kafka topic in one turn. An outcome is one unit; bytes read again or copied come
    /// on top.
    private static let sliceUnits = 1024
    private static let bytesPerUnit = 4096

    private enum Destination: Int, CaseIterable {
        case deadLetters
        case outcomes

        init(_ publication: Publication) {
            if case .deadLetter = publication.content { self = .deadLetters } else { self = .outcomes }
        }
    }

    /// Called when the broker has a publication.
    var onAcknowledged: (Publication, TopicFeed) -> Void = { _, _ in }

    private var settings: ShardSettings
    private let feeds: FeedTable
    private let producer: any MessageProducer
    private let logger: Logger
    private let clock: () -> MonotonicTime
    private var table = PublicationTable()
    /// By destination.
    private var lines = Destination.allCases.map { _ in PublicationLine() }
    /// Units that are left in this turn, by destination.
    private var slices = Destination.allCases.map { _ in PublicationDesk.sliceUnits }
    /// The records last decoded for publications about them, the latest first.
    private var rereads: [RereadRecord] = []
    private var logBudget: LineBudget

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
        logBudget = LineBudget(burst: 10, perSecond: 1, now: clock())
    }

    func use(_ changed: ShardSettings) { settings = changed }

    /// Publications that the broker has not acknowledged.
    var count: Int { table.count }

    /// Another slice can be handed over at once.
    var isReady: Bool { lines.contains(where: \.isReady) }

    // MARK: Inputs

    func publish(_ publication: Publication, of feed: TopicFeed) {
        feed.publicationBegun()
        var publication = publication
        publication.decidedAtMilliseconds = settings.unixMilliseconds()
        lines[Destination(publication).rawValue].add(table.insert(publication))
        handOver()
    }

    /// Hands over the next slice.
    func beginTurn() {
        for destination in Destination.allCases { slices[destination.rawValue] = Self.sliceUnits }
        handOver()
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
        table.remove(number)
        guard let feed = feeds[publication.feed] else { return }
        feed.publicationEnded()
        onAcknowledged(publication, feed)
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
    func reread(_ record: UInt32, of feed: TopicFeed) -> RereadRecord? {
        if let kept = kept(record, of: feed) { return kept }
        guard let (batch, index) = feed.source(of: record) else { return nil }
        let reread = RereadRecord(feed: feed.number, record: record, batch: batch, index: index)
        rereads.insert(reread, at: 0)
        if rereads.count > ShardLimits.rereadRecords { rereads.removeLast() }
        return reread
    }

    private func kept(_ record: UInt32, of feed: TopicFeed) -> RereadRecord? {
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

    private func handOver() {
        for destination in Destination.allCases.map(\.rawValue) {
            while slices[destination] > 0, let number = lines[destination].takeNext(now: clock()) {
                slices[destination] -= handOver(number)
            }
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
            feeds[publication.feed]?.publicationEnded()
            table.remove(number)
            return 1
        }
        var bytes = isKept ? 0 : origin.message.value.count
        if Destination(publication) == .deadLetters { bytes += origin.message.value.count }
        do throws(KafkaError) {
            try produce(publication, number, origin, isWithoutState: feed.sentWithoutState.contains(publication.record))
        } catch {
            failed(number, publication, error)
        }
        return 1 + bytes / Self.bytesPerUnit
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
                isCut: publication.isCut
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
                isCut: publication.isCut,
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
                cutBytes: publication.isCut ? KafkaLimits.cutBytes : nil
            )
            try letter.publish(origin.message, to: settings.names.deadLetters, through: producer, opaque: number)
        }
    }

    private func failed(_ number: UInt64, _ publication: Publication, _ error: KafkaError) {
        let now = clock()
        let destination = Destination(publication).rawValue
        if error.isMessageTooLarge, !publication.isCut {
            table[number]?.isCut = true
            return lines[destination].add(number)
        }
        lines[destination].refused(number, error.refusal, now: now)
        // A storm of failures is one fault.
        guard !error.isQueueFull, let passedOver = logBudget.take(now: now) else { return }
        logger.error(
            "publication was not delivered; it is tried again",
            metadata: ["error": "\(error)", "passed-over": "\(passedOver)"]
        )
    }
}
