/// The requests on their way to their tokens, for finding repetitions. The token store learns of a request only when it
/// has arrived.
///
/// An entry holds until its notification is done. If the store was told before that, earlier look-ups do not know of it
/// yet, so the entry then holds for every batch taken in so far. Batches are numbered as in ``RefusedTokens``, and
/// mostly enter in that order.
public struct RequestsUnderWay {
    private struct Entry {
        var reference: NotificationReference
        /// The last batch whose look-up may not know of the report to the store; 0: nothing was reported.
        var through: UInt64
    }

    /// A fingerprint is of token and id alone: Redis keeps it under a key of its topic. Two bundles may use one id for
    /// one token, for instance if a service sends for both.
    private struct Request: Hashable {
        var topic: Int32
        var fingerprint: RequestFingerprint
    }

    private var entries = PartedDictionary<Request, Entry>()

    public init() {}

    /// Entries kept, some of which may be expired.
    public var count: Int { entries.count }

    /// A request is about to be sent to a token.
    ///
    /// - Parameters:
    ///   - topic: number of the request's topic in the shard.
    ///   - batch: number of the request's batch.
    ///   - oldest: number of the oldest batch that may still enter.
    ///   - isDone: whether a notification has its outcome, or has lost its owner.
    public mutating func enter(
        _ fingerprint: RequestFingerprint,
        of topic: Int32,
        _ reference: NotificationReference,
        batch: UInt64,
        oldest: UInt64,
        isDone: (NotificationReference) -> Bool
    ) -> Bool {
        let request = Request(topic: topic, fingerprint: fingerprint)
        if let entry = entries[request], batch <= entry.through || !isDone(entry.reference) { return false }
        entries.makeRoom(for: request) { oldest <= $0.through || !isDone($0.reference) }
        entries[request] = Entry(reference: reference, through: 0)
        return true
    }

    /// The token store was told of a request.
    ///
    /// - Parameter batch: the last one taken in so far.
    public mutating func remembered(_ fingerprint: RequestFingerprint, of topic: Int32, through batch: UInt64) {
        entries[Request(topic: topic, fingerprint: fingerprint)]?.through = batch
    }
}
