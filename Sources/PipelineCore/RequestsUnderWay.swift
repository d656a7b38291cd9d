/// The requests on their way to their tokens: a repetition that comes meanwhile is found here, for the token store learns of
/// a request only when it has arrived.
///
/// An entry holds until its notification is done. When the store was told before that, look-ups made earlier do not know it
/// yet, so the entry then holds for every batch taken in so far. Batches are numbered as in ``RefusedTokens``, and enter in
/// that order.
public struct RequestsUnderWay {
    private struct Entry {
        var reference: NotificationReference
        /// The last batch whose look-up may not know that the store was told; 0: it was not told.
        var through: UInt64
    }

    private var entries: [RequestFingerprint: Entry] = [:]
    /// The number of entries at which those that hold no more are cleared away.
    private var sweepCount = RequestsUnderWay.leastSweep

    private static let leastSweep = 1024

    public init() {}

    /// Entries kept, some of which may hold no more.
    public var count: Int { entries.count }

    /// A request is about to be sent to a token.
    ///
    /// - Parameters:
    ///   - batch: number of the batch it came with.
    ///   - isDone: whether a notification has its outcome, or belongs to nobody any more.
    /// - Returns: false: it is on its way already.
    public mutating func enter(
        _ fingerprint: RequestFingerprint,
        _ reference: NotificationReference,
        batch: UInt64,
        isDone: (NotificationReference) -> Bool
    ) -> Bool {
        if let entry = entries[fingerprint], batch <= entry.through || !isDone(entry.reference) { return false }
        entries[fingerprint] = Entry(reference: reference, through: 0)
        if entries.count >= sweepCount {
            entries = entries.filter { batch <= $0.value.through || !isDone($0.value.reference) }
            sweepCount = max(Self.leastSweep, entries.count * 2)
        }
        return true
    }

    /// The token store has been told of a request.
    ///
    /// - Parameter batch: the last one taken in so far.
    public mutating func remembered(_ fingerprint: RequestFingerprint, through batch: UInt64) {
        entries[fingerprint]?.through = batch
    }
}
