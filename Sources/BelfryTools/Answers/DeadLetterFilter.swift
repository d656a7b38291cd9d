/// The dead letters that are meant: those that fit everything that is set.
public struct DeadLetterFilter: Sendable {
    /// Empty: all.
    public var reasons: Set<String> = []
    /// Empty: all.
    public var bundleIDs: Set<String> = []
    /// UNIX milliseconds; nil: any time. A letter without a time fits.
    public var since: Int64?
    /// `since` as it was typed, for instance `6h`; nil: any time.
    public var sinceText: String?

    public init() {}

    func admits(_ letter: StoredDeadLetter) -> Bool {
        (reasons.isEmpty || reasons.contains(letter.reason))
            && (bundleIDs.isEmpty || bundleIDs.contains(letter.bundleID))
            && (since == nil || letter.writtenAt.map { $0 >= since ?? 0 } ?? true)
    }
}
