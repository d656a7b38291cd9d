/// The rules by which a report of a token's death outweighs a registration, and for the time of one's own report.
public enum TombstoneRule {
    /// A token is dead unless it registered at or after the time of the report ([10]; same second: it lives).
    ///
    /// - Parameters:
    ///   - registeredAt: last registration, UNIX seconds; nil when none is known.
    ///   - missingAt: the feedback timestamp, UNIX seconds.
    public static func isDead(registeredAt: UInt32?, missingAt: UInt32) -> Bool {
        guard let registeredAt else { return true }
        return registeredAt < missingAt
    }

    /// The time of a tombstone for a token that a gateway has refused, UNIX seconds.
    ///
    /// A tombstone from a clock that is ahead would outweigh all registrations until that time. So the earliest time
    /// counts: that of the refusal as it was noted, and the present of each clock less the refusal's age. The tombstone
    /// lies ahead of none of these clocks, not even of one that was set back since the refusal. One that is too early
    /// silences no device, and the next refusal makes another.
    ///
    /// - Parameters:
    ///   - refusedAt: the time of the refusal as it was noted, UNIX seconds.
    ///   - age: the time since the refusal, by a clock that is never set.
    ///   - clocks: the present by this process' clock and those of other machines, UNIX milliseconds.
    public static func date(refusedAt: UInt32, age: Duration, clocks: [Int64]) -> UInt32 {
        guard let earliest = clocks.min() else { return refusedAt }
        let milliseconds = earliest - Int64(clamping: age.wholeNanoseconds / 1_000_000)
        return min(refusedAt, UInt32(clamping: milliseconds / 1000))
    }
}
