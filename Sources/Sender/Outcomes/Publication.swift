import PipelineCore
import PushSchemas
import PushTopics

/// A record that the broker must acknowledge before notifications are done: an outcome, a summary, a dead letter, or a
/// record that is moved.
struct Publication: Sendable {
    enum Content: Sendable {
        case outcome(token: UInt32, OutcomeKind, status: UInt16, reason: String)
        /// All tokens of the record have their outcomes; it is done when the broker has their numbers.
        case summary([OutcomeKind: UInt32])
        /// When the dead letter is acknowledged, each of its tokens gets its outcome.
        case deadLetter(DeadTokens, status: UInt16, reason: String, detail: String)
        /// The record goes on in another lane, and is done here when it is acknowledged there. With the index of its
        /// topic.
        case move(topic: Int32)
    }

    /// The tokens of a record that a dead letter concerns.
    enum DeadTokens: Sendable, Equatable {
        /// All tokens of the record, with their number.
        case all(UInt32)
        case some(TokenRuns)
    }

    /// Number of the ``AppFeed``.
    var feed: UInt32
    var record: UInt32
    var content: Content
    /// UNIX time.
    var decidedAtMilliseconds: Int64 = 0
    /// After the broker refused the size, a smaller one. An outcome that is cut goes without the texts of the request's
    /// producer.
    var form = DeadLetter.Form.whole
    var round = DoneClaims.Round.first

    /// The form after a refusal; nil: there is no smaller one.
    var smallerForm: DeadLetter.Form? {
        switch content {
        case .deadLetter: form.smaller
        case .outcome, .summary: form == .whole ? .cut : nil
        case .move: nil
        }
    }
}

/// The publications under way, by a number that comes back from the producer with the delivery report.
struct PublicationTable {
    private var slots: [Publication?] = []
    private var free: [Int] = []
    /// Notifications with an outcome under way that a late answer may seem to change. The others have a final one.
    private var presumed: Set<NotificationReference> = []
    /// Moves by index of the topic, and all of them.
    private var moves: [Int32: Int] = [:]
    private var allMoves = 0

    /// Most slots kept free for the next storm.
    private static let keptSlots = 4096

    /// Publications that are not acknowledged.
    var count: Int { slots.count - free.count }

    /// The outcome that a notification was presumed to have is under way.
    func presumes(_ reference: NotificationReference) -> Bool { presumesAny && presumed.contains(reference) }

    var presumesAny: Bool { !presumed.isEmpty }

    /// So many moves of a topic are fewer than those that are left.
    func hasRoom(forMovesOf topic: Int32, times: Int) -> Bool {
        moves[topic, default: 0] * times < ShardLimits.moves - allMoves
    }

    private mutating func countMove(_ publication: Publication, _ change: Int) {
        guard case .move(let topic) = publication.content else { return }
        moves[topic, default: 0] += change
        allMoves += change
    }

    mutating func insert(_ publication: Publication) -> UInt64 {
        countMove(publication, 1)
        if let reference = publication.presumed { presumed.insert(reference) }
        if let slot = free.popLast() {
            slots[slot] = publication
            return UInt64(slot)
        }
        slots.append(publication)
        return UInt64(slots.count - 1)
    }

    subscript(number: UInt64) -> Publication? {
        get { number < slots.count ? slots[Int(number)] : nil }
        set { slots[Int(number)] = newValue }
    }

    @discardableResult
    mutating func remove(_ number: UInt64) -> Publication? {
        guard let publication = self[number] else { return nil }
        countMove(publication, -1)
        if let reference = publication.presumed { presumed.remove(reference) }
        slots[Int(number)] = nil
        free.append(Int(number))
        if count == 0, slots.count > Self.keptSlots {
            slots = []
            free = []
        }
        return publication
    }
}

extension Publication {
    /// The notification that it says to be presumed accepted.
    fileprivate var presumed: NotificationReference? {
        guard case .outcome(let token, .presumed, _, _) = content else { return nil }
        return NotificationReference(assignment: feed, record: record, token: token)
    }
}

extension Publication.DeadTokens {
    /// Nil: the whole record.
    var runs: TokenRuns? {
        switch self {
        case .all: nil
        case .some(let runs): runs
        }
    }
}
