import PipelineCore

/// What a shard tells about itself at one moment, for metrics and readiness.
struct ShardReport: Sendable, Equatable {
    /// One assigned partition of push.requests.
    struct Partition: Sendable, Equatable {
        var number: Int32
        /// Records between what may be committed and the end of the partition; nil before the first fetch.
        var lagRecords: Int64?
        /// Notifications taken in beyond the commit frontier.
        var uncommitted: Int
        /// Offsets of push.parked between the first copy that is not done and the end.
        var parkedRecords: Int64
    }

    /// One bundle in one environment.
    struct Topic: Sendable, Equatable {
        var bundleID: String
        var environment: String
        /// Handed to connections and not settled.
        var inFlight: Int
        /// Encoded, but not handed to a connection, or to be sent again.
        var waiting: Int
        var openConnections: Int
        /// The topic does not work, as far as is known: what is new is parked.
        var isParked: Bool
        var counters: TopicCounters
    }

    var counters: WorkerCounters
    var partitions: [Partition]
    var topics: [Topic]
    /// Since the oldest notification without an outcome was taken in; nil when all have theirs.
    var oldestUnconfirmed: Duration?
    /// Outcomes, dead letters and hand-offs that the broker has not acknowledged.
    var unacknowledged: Int
    /// Notifications that wait for newer ones of their coalescing key.
    var coalescing: Int
    /// The group has said which partitions are this shard's, be it none.
    var hasJoined: Bool
    /// Nil without token state.
    var isTokenStateReady: Bool?
    var isDraining: Bool
}
