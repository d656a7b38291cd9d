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
    /// A tombstone from a clock that is ahead would outweigh all registrations until that time. So two clocks date it,
    /// and the earlier one counts: that of this process, and a witness' time less the refusal's age. It is never later
    /// than the witness' present. One that is too early silences nobody, and the next refusal makes another.
    ///
    /// - Parameters:
    ///   - refusedAt: the time of the refusal by this process' clock, UNIX seconds.
    ///   - age: the time since the refusal when the witness was asked, by a clock that nobody sets.
    ///   - witness: the answer of another machine's clock, UNIX milliseconds.
    public static func date(refusedAt: UInt32, age: Duration, witness: Int64) -> UInt32 {
        let witnessed = witness - Int64(clamping: age.wholeNanoseconds / 1_000_000)
        return min(refusedAt, UInt32(clamping: witnessed / 1000))
    }
}
