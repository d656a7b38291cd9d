/// Turns probation on while a topic has many invalid tokens. Tokens not accepted before then go apart from the others.
///
/// A rare refusal costs less than probation; two within ``rise`` turn it on, and it stays on until none has come for
/// ``fall``. [ours]
public struct ProbationSwitch: Equatable, Sendable {
    public static let rise = Duration.seconds(10)
    public static let fall = Duration.seconds(60)

    private var last: MonotonicTime?
    private var until: MonotonicTime?

    public init() {}

    public func isOn(now: MonotonicTime) -> Bool {
        until.map { now < $0 } ?? false
    }

    /// Probation is off, and no token has been called invalid for ``fall``.
    public func isQuiet(now: MonotonicTime) -> Bool {
        last.map { $0 + Self.fall <= now } ?? true
    }

    /// The gateway called a token invalid.
    public mutating func noteInvalid(now: MonotonicTime) {
        if isOn(now: now) || last.map({ now <= $0 + Self.rise }) ?? false { until = now + Self.fall }
        last = now
    }
}
