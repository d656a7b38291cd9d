import PipelineCore

/// What a shard tells about itself at one moment, for metrics and readiness.
struct ShardReport: Sendable, Equatable {
    /// One assigned partition of push.requests.
    struct Partition: Sendable, Equatable {
        var number: Int32
        /// Offsets between the lowest cursor and the end of the partition; nil before the first fetch.
        var lagRecords: Int64?
        /// Notifications taken in and not behind the cursors of their topics.
        var uncommitted: Int
        /// Topics that are fed by the catch-up reader.
        var behind: Int
        /// Topics that have no room in the commit's metadata, so that they hold the offset.
        var unnamed: Int
        /// The partition stands: its commit metadata is not understood.
        var isStanding: Bool
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
        /// Why the topic does not work; nil: it does.
        var reason: String?
        /// Bytes held of it.
        var bytes: Int
        /// Offsets between its lowest cursors and the ends of the partitions that it lags in; 0: it lags nowhere.
        var lagRecords: Int64
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
