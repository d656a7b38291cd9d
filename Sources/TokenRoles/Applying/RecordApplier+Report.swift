import PushTopics
import TokenState

// An applier's report to those who operate it.

extension RecordApplier {
    /// An assigned partition of the topic that is applied.
    struct Partition: Sendable, Equatable {
        var number: Int32
        /// Records that have not been applied; nil: not known yet.
        var lagRecords: Int64?
    }

    /// The assigned partitions, with what has not been applied of them: what is in hand waits as well.
    var partitions: [Partition] {
        group.positions.keys.sorted().map { .init(number: $0, lagRecords: group.lagRecords(of: $0)) }
    }

    /// Records of push.tombstones without an acknowledgement.
    var pendingTombstones: Int { writer.tombstones.count }

    var isRedisReady: Bool { clients.redis.isReady }

    /// The consumer has its place in the group; an empty assignment is one.
    var isInGroup: Bool { group.isInGroup }
}
