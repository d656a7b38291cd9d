/// The dead letters that somebody means: those that fit everything that is set.
public struct DeadLetterFilter: Sendable {
    /// Empty: all.
    public var reasons: Set<String> = []
    /// Empty: all.
    public var bundleIDs: Set<String> = []
    /// UNIX milliseconds; nil: any time. A letter without a time fits.
    public var since: Int64?

    public init() {}

    func admits(_ letter: StoredDeadLetter) -> Bool {
        (reasons.isEmpty || reasons.contains(letter.reason))
            && (bundleIDs.isEmpty || bundleIDs.contains(letter.bundleID))
            && (since == nil || letter.writtenAt.map { $0 >= since ?? 0 } ?? true)
    }

    /// The filter as text, for knowing an order again.
    var text: String {
        "\(reasons.sorted()) \(bundleIDs.sorted()) \(since.map(String.init) ?? "")"
    }
}
