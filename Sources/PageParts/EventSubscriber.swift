/// One page that is open, as far as its reading keeps up. Pure: the time is an argument, in milliseconds.
///
/// Nothing is kept for a slow page: flashes are dropped, and of the counts it gets the newest as soon as it reads
/// again.
package struct EventSubscriber: Sendable {
    /// The action in an interval.
    package enum Action: Equatable, Sendable {
        /// Write these: flashes, counts or both.
        case send(flashes: Bool, stats: Bool)
        /// It has not read for too long.
        case close
        case nothing
    }

    private var owesStats = true
    private var stalledSince: Int64?

    package init() {}

    /// Looks at the page once in an interval.
    ///
    /// - Parameters:
    ///   - isWritable: whether what was written before has gone out, but for a bounded rest.
    ///   - hasNewStats: whether there are counts to send to all.
    ///   - stallMilliseconds: the time after which a page that does not read is left.
    package mutating func tick(
        isWritable: Bool,
        hasFlashes: Bool,
        hasNewStats: Bool,
        nowMilliseconds: Int64,
        stallMilliseconds: Int64
    ) -> Action {
        owesStats = owesStats || hasNewStats
        guard isWritable else {
            let since = stalledSince ?? nowMilliseconds
            stalledSince = since
            return nowMilliseconds - since >= stallMilliseconds ? .close : .nothing
        }
        stalledSince = nil
        guard hasFlashes || owesStats else { return .nothing }
        defer { owesStats = false }
        return .send(flashes: hasFlashes, stats: owesStats)
    }
}
