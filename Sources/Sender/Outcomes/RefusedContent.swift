import PipelineCore
import PushTopics

/// Notifications that the gateway refused because of their content, collected by record, status and reason.
///
/// A record whose five hundred tokens are refused one after the other so becomes one dead letter. Pure.
struct RefusedContent {
    /// Refusals of one record for one reason.
    struct Refused {
        var feed: UInt32
        var record: UInt32
        var tokens: TokenRuns
        var status: UInt8
        var refusal: RecordRefusal
    }

    /// The longest wait of a refusal for others of its record.
    static let patience = Duration.seconds(5)

    private struct Key: Hashable {
        var feed: UInt32
        var record: UInt32
        var reason: String
    }

    private struct Entry {
        var tokens: Set<UInt32>
        var status: UInt8
        var refusal: RecordRefusal
        var since: MonotonicTime
    }

    private var entries: [Key: Entry] = [:]

    var isEmpty: Bool { entries.isEmpty }

    /// - Returns: true if it is the first of its record and reason.
    mutating func add(
        _ reference: NotificationReference,
        status: UInt8,
        _ refusal: RecordRefusal,
        now: MonotonicTime
    ) -> Bool {
        let key = Key(feed: reference.assignment, record: reference.record, reason: refusal.reason)
        let isFirst = entries[key] == nil
        entries[key, default: Entry(tokens: [], status: status, refusal: refusal, since: now)].tokens
            .insert(reference.token)
        return isFirst
    }

    /// Takes the refusals of one record if none of its other notifications is open.
    mutating func takeRecord(of reference: NotificationReference, reason: String, ifComplete open: Int) -> Refused? {
        let key = Key(feed: reference.assignment, record: reference.record, reason: reason)
        guard let entry = entries[key], open <= entry.tokens.count else { return nil }
        return takeEntry(key, entry)
    }

    /// Takes the refusals that no longer wait.
    ///
    /// - Parameter remaining: notifications of a record that are not done; nil: the feed is over.
    mutating func takeDue(
        now: MonotonicTime,
        remaining: (_ feed: UInt32, _ record: UInt32) -> Int?
    ) -> [Refused] {
        var due: [Refused] = []
        for (key, entry) in entries {
            guard let open = remaining(key.feed, key.record) else {
                entries[key] = nil
                continue
            }
            guard open <= entry.tokens.count || entry.since + Self.patience <= now else { continue }
            due.append(takeEntry(key, entry))
        }
        return due.sorted { ($0.feed, $0.record, $0.refusal.reason) < ($1.feed, $1.record, $1.refusal.reason) }
    }

    private mutating func takeEntry(_ key: Key, _ entry: Entry) -> Refused {
        entries[key] = nil
        var tokens = TokenRuns()
        for token in entry.tokens.sorted() { tokens.append(token) }
        return Refused(feed: key.feed, record: key.record, tokens: tokens, status: entry.status, refusal: entry.refusal)
    }

    /// Forgets feeds that are over.
    mutating func forget(_ feeds: Set<UInt32>) {
        guard !entries.isEmpty else { return }
        entries = entries.filter { !feeds.contains($0.key.feed) }
    }
}
