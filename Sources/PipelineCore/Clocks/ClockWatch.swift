/// Compares a host's wall clock with the clocks of servers, and says whether anything may be decided by it. Pure.
///
/// A clock far behind makes registrations of the present come from the future; one far ahead makes everything old. A
/// server's time goes on with the monotonic clock, so that a jump of the host's clock is known at once, not with the
/// next answer. The majority is believed: a host that agrees with some server is in line.
public struct ClockWatch: Equatable, Sendable {
    /// A server that tells its time.
    public enum Witness: Hashable, Sendable, CaseIterable {
        case redis
        /// By the time at which it appended a record just now.
        case broker
    }

    public enum Verdict: Equatable, Sendable {
        /// No server has told its time lately.
        case unknown
        case inLine
        /// The host differs from all servers that are known; ahead of the first of them, if positive.
        case outOfLine(aheadSeconds: Int64)
    }

    /// The most that clocks may differ, seconds. Clocks that are kept at all differ by less. A sixth of what
    /// ``ForeignClock`` allows: the rest is left to the clocks that it judges.
    public static let boundSeconds = ForeignClock.toleranceSeconds / 6
    /// The time for which an answer counts: after it the monotonic clock may have strayed, or stood still.
    public static let life = Duration.seconds(300)

    private struct Answer: Equatable {
        var unixMilliseconds: Int64
        var at: MonotonicTime
    }

    private var answers: [Witness: Answer] = [:]
    /// Redis refuses to tell: the host's clock alone is left.
    private var isBlind = false

    public init() {}

    /// A server has told its time just now.
    public mutating func heard(_ witness: Witness, unixMilliseconds: Int64, now: MonotonicTime) {
        if witness == .redis { isBlind = false }
        answers[witness] = Answer(unixMilliseconds: unixMilliseconds, at: now)
    }

    /// Redis does not tell its time, and will not.
    public mutating func cannotTell() {
        isBlind = true
    }

    /// - Parameter host: the host's clock, UNIX milliseconds.
    public func verdict(host: Int64, now: MonotonicTime) -> Verdict {
        let ahead = Witness.allCases.compactMap { answers[$0] }.filter { now < $0.at + Self.life }.map { answer in
            let elapsed = Int64(clamping: answer.at.elapsed(until: now).wholeNanoseconds / 1_000_000)
            let (difference, overflow) = host.subtractingReportingOverflow(answer.unixMilliseconds + elapsed)
            return overflow ? Int64.max : difference / 1000
        }
        guard let first = ahead.first else { return isBlind ? .inLine : .unknown }
        let allowed = -Self.boundSeconds...Self.boundSeconds
        return ahead.contains(where: allowed.contains) ? .inLine : .outOfLine(aheadSeconds: first)
    }
}
