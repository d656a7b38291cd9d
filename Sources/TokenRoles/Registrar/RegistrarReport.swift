import BelfrySupport
import PushTopics

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
    /// The reason why the host's clock may not decide; nil: it may.
    var clockObstacle: String?
    /// Nil: nothing is ever swept.
    var sweep: Sweep?
    /// Of its appliers.
    var serverTimes: [RecordApplier.ServerTimes] = []

    struct Sweep: Sendable, Equatable {
        var counters: RetentionSweep.Counters
        var hasLease: Bool
    }
}

/// The registrar's part of `/status`.
extension RegistrarReport {
    /// - Parameter kafkaTopic: the one whose registrations are applied.
    func describe(_ kafkaTopic: String, in status: inout RoleStatus) {
        status.partitions += partitions.map {
            .init(kafkaTopic: kafkaTopic, number: $0.number, lagRecords: $0.lagRecords)
        }
        status.totals["applied", default: 0] += applied.applied
        status.totals["deadLetters", default: 0] += applied.deadLetters
        status.totals["tombstones", default: 0] += applied.tombstones
    }
}
