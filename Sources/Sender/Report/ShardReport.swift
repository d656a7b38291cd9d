import BelfrySupport
import PipelineCore
import RequestLanes

/// The state of a shard at one moment, for metrics and readiness.
package struct ShardReport: Sendable, Equatable {
    /// The reason why an assigned partition is not read.
    enum Standing: Sendable, Equatable {
        /// This program does not understand the metadata of its commit.
        case unknownMetadata
        /// The group has no commit of it, though it was read before.
        case noCommit
        /// The group has no commit of it, and it is not known yet whether it was read before.
        case undecided
    }

    /// One assigned partition of a lane.
    struct Partition: Sendable, Equatable {
        var lane = RequestLane.normal
        var number: Int32
        /// Offsets between the lowest cursor and the end of the partition; nil before the first fetch.
        var lagRecords: Int64?
        /// Notifications taken in and not behind the cursors of their topics.
        var uncommitted: Int
        /// Topics fed by the catch-up reader.
        var behind: Int
        /// Topics that do not fit into the commit's metadata, so that they hold the offset.
        var unnamed: Int
        /// The partition is not read.
        var isStanding: Bool
        /// The reason of that.
        var standsFor: Standing?
        /// Offsets still to be read for topics that work: those before the live reader, and those of the stretch that
        /// the catch-up reader has to go through.
        var waitingRecords: Int64 = 0
    }

    /// One bundle in one environment.
    struct Topic: Sendable, Equatable {
        /// The shard's.
        var lane = RequestLane.normal
        var bundleID: String
        var environment: String
        /// Notifications handed to connections and not settled.
        var inFlight: Int
        /// Notifications encoded, but not handed to a connection, or to be sent again.
        var waiting: Int
        var openConnections: Int
        /// The reason why the topic does not work; nil: it works.
        var reason: String?
        /// Bytes held of the topic.
        var bytes: Int
        /// Offsets between its lowest cursors and the ends of the partitions in which it lags; 0: it lags nowhere.
        var lagRecords: Int64
        /// The lowest in each partition in which it lags, by partition.
        var cursors: [RoleStatus.Cursor] = []
        /// The publishing time of the record at the oldest cursor, UNIX milliseconds; nil: it lags nowhere, or that is
        /// not known.
        var cursorPublishedAt: Int64?
        /// The time since its oldest notification without an outcome was taken in; nil when all have theirs.
        var oldestUnconfirmed: Duration?
        var counters: WorkerAppCounters
        /// The levers that operators have set, by the lane in which they hold, the shard's or another; lanes in which
        /// none holds are left out.
        var levers: [RequestLane: AppControl] = [:]

        /// The levers that hold in the shard's lane.
        var control: AppControl { levers[lane] ?? AppControl() }
    }

    var lane = RequestLane.normal
    var counters: WorkerCounters
    var partitions: [Partition]
    var topics: [Topic]
    /// The time since the oldest notification without an outcome was taken in; nil when all have theirs.
    var oldestUnconfirmed: Duration?
    /// The publishing time of the oldest record with a notification without an outcome, taken in or not, UNIX
    /// milliseconds; nil when all have theirs.
    var oldestPublishedAt: Int64?
    /// Outcomes, dead letters and hand-offs that the broker has not acknowledged.
    var unacknowledged: Int
    /// Publications that wait because the brokers refuse them, or their Kafka topic; tombstones, too.
    var barred = 0
    /// Notifications that wait for newer ones of their coalescing key.
    var coalescing: Int
    /// The shard has its place in the group; an empty assignment is one.
    var hasJoined: Bool
    /// The token state is ready; nil without token state.
    var isTokenStateReady: Bool?
    var isDraining: Bool
    var times = DeliveryTimes()
    /// Nil: not measured.
    var redisRoundTrips: Histogram?
    /// Nil: not measured.
    var acknowledgements: Histogram?
    /// See ``WorkerShard/tickLateness``.
    var tickLateness = Histogram.tickLateness
    /// By environment.
    var connections: [ConnectionReport] = []

    /// The obstacle of partitions that are not read because the group has no commit of them; nil: there are none.
    func missingCommits(ofShard number: Int) -> Readiness.Obstacle? {
        let lacking = partitions.filter { $0.standsFor == .noCommit || $0.standsFor == .undecided }
        guard !lacking.isEmpty else { return nil }
        let names = lacking.map { "\($0.number)" }.joined(separator: ", ")
        let remedy =
            lacking.contains { $0.standsFor == .noCommit }
            ? "it was read before: use belfry offsets set, or choose worker.start"
            : "Redis has not told yet whether it was read before"
        let place = lane == .normal ? "partition" : "the \(lane) lane's partition"
        return Readiness.Obstacle(.kafka, "shard \(number): the group has no commit of \(place) \(names); \(remedy)")
    }
}
