/// Decides when a wait without outcomes looks for an obstacle, and tells each one once. Pure.
struct ObstacleWatch {
    /// Time without an outcome before the first look. [ours]
    private static let firstPause = Duration.seconds(5)
    /// Time between two looks, at most: each doubles it. [ours]
    private static let longestPause = Duration.seconds(60)

    private var quietSince: ContinuousClock.Instant
    private var pause: Duration
    private var told: String?

    init(now: ContinuousClock.Instant) {
        quietSince = now
        pause = Self.firstPause
    }

    /// An outcome came.
    mutating func came(now: ContinuousClock.Instant) {
        quietSince = now
        pause = Self.firstPause
    }

    /// Nothing has come for so long that it is time to look.
    func isDue(now: ContinuousClock.Instant) -> Bool { quietSince.duration(to: now) >= pause }

    /// Takes the result of a look, which may have taken long.
    ///
    /// - Parameter obstacle: nil: nothing is known to hold the outcomes up.
    /// - Returns: what is to be told; nil: nothing that was not told before.
    mutating func looked(_ obstacle: String?, now: ContinuousClock.Instant) -> String? {
        quietSince = now
        pause = min(pause * 2, Self.longestPause)
        defer { told = obstacle }
        return obstacle == told ? nil : obstacle
    }
}
