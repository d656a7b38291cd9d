/// What a registrar has done and where it stands, at one moment.
struct RegistrarReport: Sendable, Equatable {
    var applied: RecordApplier.Counters
    /// By push.tombstones.
    var kept = RecordApplier.Counters()
    /// Records of push.tombstones that the broker has not acknowledged.
    var pendingTombstones: Int
    var partitions: [Partition]
    var isRedisReady: Bool
    /// Nil: nothing is ever swept.
    var sweep: Sweep?

    /// An assigned partition of push.registrations.
    struct Partition: Sendable, Equatable {
        var number: Int32
        /// Records that have not been applied; nil: not known yet.
        var lagRecords: Int64?
    }

    struct Sweep: Sendable, Equatable {
        var counters: RetentionSweep.Counters
        var hasLease: Bool
    }
}
