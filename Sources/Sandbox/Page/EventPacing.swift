/// Decides when pages are told of flashes and counts. Pure: it is asked once per ``SandboxLimits/eventInterval``.
///
/// Flashes go out whenever there are any. Counts are calm: they go out twice a second while they change, and every five
/// seconds as a sign of life: a page that hears nothing for longer has lost its connection.
struct EventPacing: Sendable {
    /// Intervals between two looks at the counts.
    static let statsPeriod = 5
    /// Intervals after which counts are sent although they did not change.
    static let signOfLifePeriod = 50

    private var interval = 0
    private var last: [UInt8] = []
    private var lastSent = 0

    /// Begins an interval.
    ///
    /// - Returns: whether it is time to look at the counts.
    mutating func tick() -> Bool {
        interval += 1
        return interval % Self.statsPeriod == 0
    }

    /// - Parameter stats: the counts as they are now.
    /// - Returns: whether to send them.
    mutating func shouldSend(_ stats: [UInt8]) -> Bool {
        guard stats != last || interval - lastSent >= Self.signOfLifePeriod else { return false }
        last = stats
        lastSent = interval
        return true
    }
}

/// One page that is open, as far as its reading keeps up. Pure: the time is an argument, in milliseconds.
///
/// Nothing is kept for a slow page: flashes are dropped, and of the counts it gets the newest as soon as it reads
/// again.
struct EventSubscriber: Sendable {
    /// The action in an interval.
    enum Action: Equatable, Sendable {
        /// Write these: flashes, counts or both.
        case send(flashes: Bool, stats: Bool)
        /// It has not read for too long.
        case close
        case nothing
    }

    private var owesStats = true
    private var stalledSince: Int64?

    /// - Parameters:
    ///   - isWritable: whether what was written before has gone out, but for a bounded rest.
    ///   - hasNewStats: whether there are counts to send to all.
    ///   - stallMilliseconds: see ``SandboxLimits/eventStreamStall``.
    mutating func tick(
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
