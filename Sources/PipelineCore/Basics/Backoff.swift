/// The wait before the next attempt after failures: exponential, jittered, never below a floor.
///
/// The gateway treats rapid connecting and disconnecting as denial of service ([10]); jitter keeps a fleet from
/// reconnecting in step.
public struct Backoff: Equatable, Sendable {
    /// Upper bound of the first wait.
    public var base: Duration
    /// Upper bound of every wait.
    public var cap: Duration
    /// Lower bound of every wait.
    public var floor: Duration

    public init(base: Duration, cap: Duration, floor: Duration) {
        precondition(.zero <= floor && floor <= base && base <= cap)
        self.base = base
        self.cap = cap
        self.floor = floor
    }

    /// The wait before attempt `failures + 1`: uniform between the floor and `min(cap, base × 2^(failures − 1))`.
    ///
    /// - Parameters:
    ///   - failures: failures in a row so far, 1 or more.
    ///   - random: 64 uniformly random bits.
    public func delay(failures: Int, random: UInt64) -> Duration {
        precondition(failures >= 1)
        var ceiling = base
        var remaining = failures - 1
        while remaining > 0, ceiling < cap {
            ceiling *= 2
            remaining -= 1
        }
        let low = floor.wholeNanoseconds
        let spread = min(ceiling, cap).wholeNanoseconds - low
        let picked = low + random.multipliedFullWidth(by: spread).high
        return .nanoseconds(Int64(clamping: picked))
    }
}
