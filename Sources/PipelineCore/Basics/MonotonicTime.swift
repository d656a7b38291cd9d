/// A point on a clock that never goes back, in nanoseconds from an arbitrary start.
///
/// Machines take the time as an argument and never read a clock; the shell passes its event loop's time, the simulation
/// its own.
public struct MonotonicTime: Comparable, Hashable, Sendable {
    public var nanoseconds: UInt64

    @inlinable
    public init(nanoseconds: UInt64) {
        self.nanoseconds = nanoseconds
    }

    @inlinable
    public static func < (left: MonotonicTime, right: MonotonicTime) -> Bool {
        left.nanoseconds < right.nanoseconds
    }

    /// `time` later by `duration`; stops at the clock's end instead of wrapping.
    @inlinable
    public static func + (time: MonotonicTime, duration: Duration) -> MonotonicTime {
        let (sum, overflow) = time.nanoseconds.addingReportingOverflow(duration.wholeNanoseconds)
        return MonotonicTime(nanoseconds: overflow ? .max : sum)
    }

    /// The time from this point until `later`; zero if that is not later.
    @inlinable
    public func elapsed(until later: MonotonicTime) -> Duration {
        .nanoseconds(Int64(clamping: later.nanoseconds - min(later.nanoseconds, nanoseconds)))
    }
}

extension Duration {
    /// The duration in nanoseconds, 0 for a negative one, `UInt64.max` for one that does not fit.
    @inlinable
    public var wholeNanoseconds: UInt64 {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        let (scaled, overflow) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, carried) = scaled.addingReportingOverflow(UInt64(attoseconds) / 1_000_000_000)
        return overflow || carried ? .max : sum
    }
}
