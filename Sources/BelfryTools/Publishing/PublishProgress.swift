import BelfrySupport

/// The tokens of a publication that are done, for a progress line.
public struct PublishProgress: Equatable, Sendable {
    /// Acknowledged, in earlier runs too.
    public var done: Int
    public var total: Int
    /// Of those done, by earlier runs.
    public var earlier: Int
    /// Since this run began.
    public var elapsed: Duration

    /// A bar, numbers, and once there is something to judge by, rate and time left.
    public var text: String {
        let share = total > 0 ? Double(done) / Double(total) : 1
        let numbers = "\(ProgressLine.bar(share)) \(done) of \(counted(total, "token"))"
        let seconds = elapsed / .seconds(1)
        let fresh = done - earlier
        guard seconds >= 1, fresh > 0 else { return numbers }
        let rate = Double(fresh) / seconds
        return "\(numbers), \(Int(rate.rounded())) a second, \(Self.text(seconds: Double(total - done) / rate)) left"
    }

    /// For a person, who wants no more than two units.
    static func text(seconds: Double) -> String {
        let seconds = Int(seconds.rounded(.up))
        if seconds < 60 { return "\(seconds) s" }
        if seconds < 3600 { return "\(seconds / 60) min \(seconds % 60) s" }
        return "\(seconds / 3600) h \(seconds / 60 % 60) min"
    }
}
