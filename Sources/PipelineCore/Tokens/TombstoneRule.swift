/// The rule by which a feedback report outweighs a registration.
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
}
