import PipelineCore
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
        group.positions.all.keys.sorted().map { .init(number: $0, lagRecords: group.lagRecords(of: $0)) }
    }

    /// Records of push.tombstones without an acknowledgement.
    var pendingTombstones: Int { writer.tombstones.count }

    /// The times that Redis and the brokers take.
    var serverTimes: ServerTimes {
        .init(roundTrips: clients.redis.roundTrips, acknowledgements: clients.producer.acknowledgements)
    }

    /// Nil: not measured.
    struct ServerTimes: Sendable, Equatable {
        var roundTrips: Histogram?
        var acknowledgements: Histogram?
    }

    /// The reason why the host's clock may not decide; nil: it may.
    var clockObstacle: String? { clients.clock?.obstacle }

    var isRedisReady: Bool { clients.redis.isReady }

    /// The consumer has its place in the group; an empty assignment is one.
    var isInGroup: Bool { group.member.isInGroup }
}
