/// Work and state of a registrar, at one moment.
package struct RegistrarReport: Sendable, Equatable {
    var applied: RecordApplier.Counters
    /// By push.tombstones.
    var kept = RecordApplier.Counters()
    /// Records of push.tombstones that the broker has not acknowledged.
    var pendingTombstones: Int
    /// Of push.registrations.
    var partitions: [RecordApplier.Partition]
    var isRedisReady: Bool
    /// Its consumers have their places in their groups; an empty assignment is one.
    var isInGroup: Bool
    /// Nil: nothing is ever swept.
    var sweep: Sweep?

    struct Sweep: Sendable, Equatable {
        var counters: RetentionSweep.Counters
        var hasLease: Bool
    }
}
