import NIOCore

/// The fixed limits of a shard's stages. Those that operators need to change are settings instead.
enum ShardLimits {
    /// Batches taken in before other channels of the event loop get their turn.
    static let batchesPerTurn = 8
    /// Notifications prepared at once: a record may carry tens of thousands.
    static let notificationsPerBatch = 8192
    /// Batches that wait for token state: the next is looked up while this one is encoded.
    static let preparedBatches = 4
    /// Unacknowledged publications beyond which no more is taken in.
    static let publications = 50_000
    /// Largest value of a record that is decoded; Kafka's default limit of a message.
    static let recordBytes = 1 << 20
    /// What is left of a dead letter's value when the broker refuses its size.
    static let cutBytes = 256 << 10
    /// Records read from push.parked at once.
    static let parkedRecordsPerBatch = 128
    /// Notifications waiting in a topic's lanes above which no more return.
    static let returningNotifications = 8192
    /// The same while the topic is probed.
    static let probingNotifications = 32
    /// Offsets of push.parked to go at which a topic's new notifications wait in memory rather than be parked.
    static let catchUpRecords: Int64 = 1000
    /// Most of those.
    static let heldNotifications = 10_000
    /// Notifications that a gateway whose word on tokens was doubted is judged by.
    static let probeSample = 20
    /// How often an unchanged position of push.parked is committed, so that the broker does not let it expire.
    static let parkedCommitInterval = Duration.seconds(3600)
    /// Most commit metadata; Kafka's default limit.
    static let metadataBytes = 4096

    /// How long a request with a coalescing key waits at most for what lies behind it in its partition.
    static let backlogPatience = Duration.seconds(5)
    /// Ticks in which nothing comes of a partition until its end counts as reached: what lies before the end need not be
    /// records. Not a time, for in one in which this process stood still nothing could come.
    static let backlogStandstillTicks: UInt64 = 15

    /// How often time is looked at: granularity of windows, waits and deadlines.
    static let tick = TimeAmount.milliseconds(20)
    /// Time from one tick to the next above which something held the event loop up.
    static let holdUp = Duration.milliseconds(100)
    /// How long the next turn waits so that sockets are looked at before: longer than it takes to get there.
    static let socketTurn = TimeAmount.microseconds(50)
    static let commitInterval = Duration.milliseconds(500)
    /// Between attempts at what a server refused.
    static let retryInterval = Duration.seconds(1)
    /// Before Redis is asked once more to write what it did not.
    static let writeAgain = TimeAmount.seconds(1)
    /// How long there may be no room before the partitions are paused.
    static let blockedBeforePause = Duration.seconds(1)
    static let positionsTimeoutMilliseconds: Int32 = 5_000
    static let commitTimeoutMilliseconds: Int32 = 5_000
    /// At the end, for the group to let go and for what is published to be acknowledged.
    static let leaveTimeoutMilliseconds: Int32 = 10_000
    static let flushTimeoutMilliseconds: Int32 = 5_000
}
