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
