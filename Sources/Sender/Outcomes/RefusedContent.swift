import PipelineCore
import PushSchemas
import PushTopics

/// Notifications that the gateway refused because of their content, collected by record, status and reason.
///
/// A record whose five hundred tokens are refused one after the other so becomes one dead letter, or two if that takes
/// long: each refusal costs a connection, of which there are few. There are more while its partition is given back or
/// its topic stops, for then none waits. Pure.
struct RefusedContent {
    /// Refusals of one record for one reason.
    struct Refused {
        var feed: UInt32
        var record: UInt32
        var tokens: TokenRuns
        var status: UInt16
        var refusal: RecordRefusal
        var round: DoneClaims.Round
    }

    /// The longest wait of a record's first dead letter for further refusals. A second one waits for all of them, if
    /// there is no hurry.
    static let patience = Duration.seconds(5)

    fileprivate struct Place: Hashable {
        var feed: UInt32
        var record: UInt32
    }

    fileprivate struct Key: Hashable {
        var place: Place
        var reason: String
    }

    fileprivate struct Entry {
        var tokens: Set<UInt32>
        var status: UInt16
        var refusal: RecordRefusal
        var since: MonotonicTime
        var round: DoneClaims.Round
        /// Former refusals of the record are in a dead letter.
        var hasLetter = false
    }

    private var entries: [Key: Entry] = [:]

    var isEmpty: Bool { entries.isEmpty }

    /// - Parameter begin: begins the publication; called if no other refusal of the record waits for this reason.
    mutating func add(
        _ reference: NotificationReference,
        status: UInt16,
        _ refusal: RecordRefusal,
        now: MonotonicTime,
        begin: () -> DoneClaims.Round
    ) {
        let key = Key(reference, refusal.reason)
        if entries[key]?.tokens.isEmpty ?? true {
            let round = begin()
            entries[key, default: Entry(tokens: [], status: status, refusal: refusal, since: now, round: round)]
                .round = round
        }
        entries[key]?.tokens.insert(reference.token)
    }

    /// Takes the refusals of one record if none of its other notifications is open.
    mutating func takeRecord(of reference: NotificationReference, reason: String, ifComplete open: Int) -> Refused? {
        let key = Key(reference, reason)
        guard let entry = entries[key], open <= entry.tokens.count else { return nil }
        entries[key] = nil
        return Refused(key, entry)
    }

    /// Takes the refusals that no longer wait.
    ///
    /// - Parameters:
    ///   - isHurried: none of the feed waits.
    ///   - remaining: notifications of a record that are not done; nil: the feed is over.
    mutating func takeDue(
        now: MonotonicTime,
        isHurried: (_ feed: UInt32) -> Bool,
        remaining: (_ feed: UInt32, _ record: UInt32) -> Int?
    ) -> [Refused] {
        var due: [Refused] = []
        // Refusals of one record for several reasons do not wait for each other.
        let waiting = Dictionary(entries.map { ($0.key.place, $0.value.tokens.count) }, uniquingKeysWith: +)
        for (key, entry) in entries {
            guard let open = remaining(key.place.feed, key.place.record) else {
                entries[key] = nil
                continue
            }
            let isComplete = open <= waiting[key.place, default: 0]
            let isLate = !entry.hasLetter && entry.since + Self.patience <= now
            guard isComplete || isLate || isHurried(key.place.feed) else { continue }
            if !entry.tokens.isEmpty { due.append(Refused(key, entry)) }
            entries[key]?.tokens = []
            entries[key]?.hasLetter = true
            if isComplete { entries[key] = nil }
        }
        return due.sorted { ($0.feed, $0.record, $0.refusal.reason) < ($1.feed, $1.record, $1.refusal.reason) }
    }

    /// Forgets feeds that are over.
    mutating func forget(_ feeds: Set<UInt32>) {
        guard !entries.isEmpty else { return }
        entries = entries.filter { !feeds.contains($0.key.place.feed) }
    }
}

extension RefusedContent.Key {
    fileprivate init(_ reference: NotificationReference, _ reason: String) {
        place = RefusedContent.Place(feed: reference.assignment, record: reference.record)
        self.reason = reason
    }
}

extension RefusedContent.Refused {
    fileprivate init(_ key: RefusedContent.Key, _ entry: RefusedContent.Entry) {
        var tokens = TokenRuns()
        for token in entry.tokens.sorted() { tokens.append(token) }
        self.init(
            feed: key.place.feed,
            record: key.place.record,
            tokens: tokens,
            status: entry.status,
            refusal: entry.refusal,
            round: entry.round
        )
    }
}
