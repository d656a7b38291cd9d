import NIOCore

/// The fixed limits of a shard's stages. Those that operators need to change are settings instead.
enum ShardLimits {
    /// Batches taken in before other channels of the event loop get their turn.
    static let batchesPerTurn = 8
    /// Notifications prepared at once: a record may carry tens of thousands.
    static let notificationsPerBatch = 8192
    /// Batches that wait for token state; the next is looked up while this one is encoded.
    static let preparedBatches = 6
    /// Those of them that the live reader may fill; the others are for topics that are behind.
    static let liveBatches = 4
    /// Unacknowledged publications beyond which no more is taken in.
    static let publications = 50_000
    /// Largest value of a record that is decoded; Kafka's default limit of a message.
    static let recordBytes = 1 << 20
    /// What is left of a dead letter's value when the broker refuses its size.
    static let cutBytes = 256 << 10
    /// Records read at once for topics that are behind.
    static let catchUpRecords = 512
    /// Partitions that are read at once for them.
    static let catchUpPartitions = 4
    /// How long the client that reads them is kept without work.
    static let readerIdle = Duration.seconds(30)
    /// Offsets between a cursor and the committed offset that a take-over rather reads and skips than reads apart.
    static let nearRecords: Int64 = 10_000
    /// Judged notifications of a probe of a gateway whose word on tokens is doubted.
    static let probeSample = 20
    /// Refusals of tokens of a topic that may wait until the gateway is trusted.
    static let pendingTombstones = 65_536
    /// Memory that a notification takes beside its record's value: its frame without the payload, its entry and its marks.
    static let notificationBytes = 128
    /// Records of a bundle without a certificate that become dead letters, for each tick.
    static let givenUpPerTick = 20
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
    /// Questions to the broker about positions.
    static let questionTimeoutMilliseconds: Int32 = 5_000
    /// How long the answer to the last commit of a partition is waited for.
    static let lastCommitPatience = Duration.seconds(5)
    /// How often a partition is looked at again whose metadata was not understood.
    static let standingInterval = Duration.seconds(10)
    /// At the end, for the group to let go and for what is published to be acknowledged.
    static let leaveTimeoutMilliseconds: Int32 = 10_000
    static let flushTimeoutMilliseconds: Int32 = 5_000
}
