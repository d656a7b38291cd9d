/// Tells a few answers with status 5xx from a service that does not work.
///
/// A few are sent again after a back-off. Many in a row mean that the topic does not work: it lags at its cursor then,
/// so that no notification waits in memory for the 15 minutes that Apple advises. [ours]
struct ServiceTrouble {
    /// Answers in a row that are many.
    static let most = 10
    /// Two answers so far apart are many, too, if no acceptance came between them.
    static let longest = Duration.seconds(5)

    private var answers = 0
    private var since = MonotonicTime(nanoseconds: 0)
    /// The time of the latest acceptance.
    private(set) var acceptedAt = MonotonicTime(nanoseconds: 0)

    mutating func accepted(now: MonotonicTime) {
        acceptedAt = now
        answers = 0
    }

    /// The service answered with a trouble of its own. Returns true if there were many.
    mutating func failed(now: MonotonicTime) -> Bool {
        if answers == 0 { since = now }
        answers = min(answers + 1, Self.most)
        return answers == Self.most || answers > 1 && since.elapsed(until: now) >= Self.longest
    }
}
