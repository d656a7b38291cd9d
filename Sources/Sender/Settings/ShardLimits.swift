import NIOCore
import PipelineCore

/// The fixed limits of a shard's stages. Those that operators need to change are settings instead.
enum ShardLimits {
    /// Batches taken in before other channels of the event loop get their turn.
    static let batchesPerTurn = 7
    /// Most notifications prepared at once: a record may carry tens of thousands.
    static let notificationsPerBatch = 8192
    /// Bytes of records from which on a batch takes no more: each byte may cost some time, whatever becomes of it.
    static let bytesPerBatch = 1 << 20
    /// Bytes of records from which on no further batch is taken in before the event loop gets its turn.
    static let bytesPerTurn = 2 << 20
    /// A byte of a record that cannot be used in place counts as so many of one that can.
    static let workOfDecoding = 4
    /// Work of routing in one turn, in notifications. What is left goes on in the next.
    static let routedPerTurn = 32_768
    /// The work of making the payload of one token, in notifications.
    static let workOfPayload = 16
    /// The work of finding out which tokens share a payload, for each token with values of its own, in notifications.
    static let workOfChoice = 4
    /// The work of a notification with a coalescing key, and with a request id, beyond that of another one.
    static let workOfCoalescing = 64
    static let workOfRequestID = 2
    /// Most groups of coalesced requests that end in one turn.
    static let dueAtOnce = 512
    /// Bytes of a payload that are as much work as a notification.
    static let payloadBytesPerUnit = 256
    /// Most notifications that are routed before the turn's work is looked at.
    static let routedAtOnce = 8192
    /// Most units of work that are routed before the turn's work is looked at.
    static let workAtOnce = routedPerTurn / 2
    /// Work of asking Redis in one turn: one of the units is the question about a token. What is left is asked in the
    /// next.
    static let askedPerTurn = 8192
    /// The work of asking whether a request has arrived, and of counting a badge.
    static let workOfRequest = 2
    static let workOfBadge = 4
    /// Batches that wait for token state; the next is looked up while one is encoded.
    static let preparedBatches = 6
    /// Batches among `preparedBatches` that the live reader may fill; the others are for lagging topics.
    static let liveBatches = 4
    /// Ciphertext read from a gateway at a time.
    static var readAllocator: AdaptiveRecvByteBufferAllocator {
        AdaptiveRecvByteBufferAllocator(minimum: 1024, initial: 2048, maximum: 16_384)
    }
    /// Requests over HTTP/2 that are written at once: a gateway begins with the first while others are made.
    static let requestsPerWrite = 64
    /// Most unacknowledged publications before the intake stops.
    static let publications = 50_000
    /// Most records under way to another lane, well below the limit of publications. A topic may have as many as are
    /// left, so that one alone has half. [ours]
    static let moves = 16_384
    /// Records kept decoded for publications about them.
    static let rereadRecords = 4
    /// Work on the publications to one Kafka topic in one turn: an outcome is one unit. Bytes that are read again or
    /// copied come on top.
    static let publicationUnits = 1024
    static let bytesPerPublicationUnit = 4096
    /// Records read at once for lagging topics.
    static let catchUpRecords = 512
    /// Partitions read at once for lagging topics.
    static let catchUpPartitions = 4
    /// The time for which the oldest batch waits for token state before topics that need none of it pass.
    static let passedAfter = Duration.seconds(2)
    /// Batches beside the limits above that others may pass.
    static let passedBatches = 16
    /// The time an idle catch-up client is kept.
    static let readerIdle = Duration.seconds(30)
    /// The longest distance of a near cursor from the committed offset, in offsets. A take-over reads and skips a near
    /// stretch. Beyond it the topic is read apart.
    static let nearRecords: Int64 = 10_000
    /// Most bytes of a near stretch: what is new waits behind it. The rest of a longer one is read apart.
    static let nearBytes = 16 << 20
    /// Most refused tokens of a topic that wait until the gateway is trusted.
    static let pendingTombstones = 65_536
    /// A batch is pinned by records that make up at least one in so many of its bytes; fewer are copied out.
    static let pinnedShare = 4
    /// Bytes of records that one tick copies out of batches that are held for long.
    static let copiedPerTick = 4 << 20
    /// Memory of a notification beside its record's value, in bytes: its frame without the payload, its entry and its
    /// marks.
    static let notificationBytes = 128

    /// Most topics of a partition that are remembered to have records among those of further bundles. [ours]
    static let overflowedTopics = 16_384

    /// The longest wait for later records of the partition, with a coalescing key.
    static let backlogPatience = Duration.seconds(5)
    /// Ticks without a record from a partition after which its end counts as reached: not every offset before the end
    /// is a record. Not a time, because nothing could arrive while this process stood still.
    static let backlogStandstillTicks: UInt64 = 15

    /// Time between two ticks: the granularity of windows, waits and deadlines.
    static let tick = TimeAmount.milliseconds(20)
    /// A topic at rest is looked at in one tick of so many.
    static let ticksAtRest = 10
    /// Bytes of presumed notifications that the lanes of a shard share to keep them for late answers. Lanes of
    /// probation, which are mostly empty, have as much each, and while a connection is young a lane keeps more
    /// (``LaneStateMachine/evictSettled(now:)``).
    static let retainedBytes = 16 << 20
    /// A lane's part of them: enough to name what was presumed last, however many lanes there are. The last chunk may
    /// be almost empty, hence two.
    static func retainedShare(lanes: Int) -> Int { max(2 * FrameLog.chunkBytes, retainedBytes / lanes) }
    /// Time between two ticks above which the event loop was held up.
    static let holdUp = Duration.milliseconds(100)
    static let commitInterval = Duration.milliseconds(500)
    /// Beyond the confirmation window, for what was on its way to the gateway when partitions were taken back.
    static let settleReserve = Duration.seconds(1)
    /// Time between two attempts after a server's refusal.
    static let retryInterval = Duration.seconds(1)
    /// Most writes of a stage of which Redis has not answered: their answers come in one turn, and each may send.
    static let redisWrites = 512
    /// Time before a failed write to Redis is repeated.
    static let writeAgain = TimeAmount.seconds(1)
    /// The longest lack of room before the partitions are paused.
    static let blockedBeforePause = Duration.seconds(1)
    /// Time-out of questions to the broker about positions.
    static let questionTimeoutMilliseconds: Int32 = 5_000
    /// The longest wait for the answer to the last commit of a partition.
    static let lastCommitPatience = Duration.seconds(5)
    /// Time between two looks at a partition with unknown metadata.
    static let standingInterval = Duration.seconds(10)
    /// Time at the end for the group to let go. The flush time-out below is for published records to be acknowledged.
    static let leaveTimeoutMilliseconds: Int32 = 10_000
    static let flushTimeoutMilliseconds: Int32 = 5_000
}
