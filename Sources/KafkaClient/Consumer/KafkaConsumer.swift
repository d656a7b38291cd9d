import CRdKafka
import NIOCore

/// A member of a consumer group.
///
/// One thread makes all calls (with ``start(on:onReadable:)``: the event loop) and gets all handlers, never from inside
/// a call of librdkafka. Several threads on one consumer lose messages in librdkafka 2.0.2, so this class is not
/// `Sendable`.
///
/// Life: `init` joins the group; ``consumeBatch(max:timeoutMilliseconds:)`` yields messages and serves everything else
/// (rebalances, errors, log, and answers to commits, which also come without it: see ``start(on:onReadable:)``);
/// ``close(timeoutMilliseconds:)`` leaves the group and must be called before the last reference goes.
///
/// Defaults: `enable.auto.commit` and `enable.auto.offset.store` are false, because commits with metadata are explicit.
public final class KafkaConsumer {
    /// The group assigned these partitions to this member. No message of them comes before ``completeAssign(_:)``,
    /// which may be called later, but within `max.poll.interval.ms`. Without a handler they start at their committed
    /// positions.
    public var onAssigned: (([KafkaTopicPartition]) -> Void)?

    /// The group takes these partitions back and waits for ``completeRevoke()``, which may be called later, within
    /// `max.poll.interval.ms`. Until then they can still be committed; no new messages of them come. `lost`: they may
    /// belong to another member already, and a commit of them fails. So it is told after a failed rebalance, too, and
    /// an answer to that does nothing. Without a handler they are given back at once.
    public var onRevoked: (([KafkaTopicPartition], _ lost: Bool) -> Void)?

    /// The broker's answer to each ``commit(_:completion:)``; nil: committed.
    public var onCommitted: ((KafkaError?) -> Void)?

    /// Errors of brokers, from which librdkafka recovers by itself; failed rebalances. If the error `isFatal`, the
    /// client failed permanently (fenced by a newer member of its name): it takes and commits nothing more, and can
    /// only be closed.
    public var onError: ((KafkaError) -> Void)?

    public var onLog: ((KafkaLogLine) -> Void)?

    /// The group has let this member go after ``beginClose()``.
    public var onClosed: (() -> Void)?

    let inbox: KafkaInbox
    /// Nil once closed.
    var handle: KafkaHandle?
    /// The queue to serve: librdkafka's consumer queue. While closing, the queue that it is forwarded to.
    var queue: OpaquePointer
    /// The queue for the answers to commits. Apart, because `queue` is polled only while messages are taken, and an
    /// answer must not wait behind messages.
    let commitQueue: OpaquePointer
    /// The queue served before; destroyed with the current one.
    var formerQueue: OpaquePointer?
    var assignment = KafkaAssignment()
    /// Rebalances reported and not answered, oldest first.
    var unanswered: [KafkaRebalance] = []
    var commits: [UInt: PendingCommit] = [:]
    var lastCommit: UInt = 0
    let fetched = KafkaFetchBuffer()
    var phase = Phase.open
    var wakeUp: QueueWakeUp?
    var commitWakeUp: QueueWakeUp?
    var keepAlive: RepeatedTask?
    /// Nil before `start`; outlives `close`, to answer later questions.
    var questions: KafkaQuestions?
    /// Half of the time after which librdkafka takes a consumer that is not served for dead.
    let keepAliveMilliseconds: Int64

    /// Ends of partitions are handed out as the caller's `enable.partition.eof` says. librdkafka is always asked to
    /// tell them, for ``cachedWatermarks(_:)``.
    let tellsEnds: Bool

    /// The client is abandoned rather than freed at closing.
    let mustNotBeFreed: Bool

    enum Phase {
        case open
        /// Leaving the group; still served.
        case closing
        /// Has left; still to be freed by `close`.
        case left
        case closed
    }

    struct PendingCommit {
        var ticket: KafkaCommitTicket
        var completion: ((KafkaError?) -> Void)?
    }

    private static let endName = "enable.partition.eof"
    private static let defaults: KafkaProperties = ["enable.auto.commit": "false", "enable.auto.offset.store": "false"]

    /// Makes a client and joins the group; brokers are contacted in the background.
    ///
    /// - Parameters:
    ///   - properties: at least `bootstrap.servers`.
    ///   - group: the group's ID.
    ///   - topics: the topics to subscribe to; a name that starts with `^` is a regular expression.
    /// - Throws: `KafkaError`, with `isConfiguration` for a wrong property.
    public init(properties: KafkaProperties, group: String, topics: [String]) throws(KafkaError) {
        let inbox = KafkaInbox()
        var properties = properties
        properties["group.id"] = group
        tellsEnds = properties[Self.endName] == "true"
        properties[Self.endName] = "true"
        let configuration = try KafkaConfiguration(
            properties,
            defaults: Self.defaults,
            isConsumer: true,
            inbox: inbox
        )
        keepAliveMilliseconds = (configuration.value("max.poll.interval.ms").flatMap { Int64($0) } ?? 300_000) / 2
        mustNotBeFreed = Self.crashesWhenFreed(strategy: configuration.value("partition.assignment.strategy") ?? "")
        let handle = try configuration.makeHandle(inbox: inbox)
        // From here on one queue carries messages and everything else.
        rd_kafka_poll_set_consumer(handle.pointer)
        let subscription = KafkaPartitionList(topics: topics)
        let code = rd_kafka_subscribe(handle.pointer, subscription.pointer)
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR else {
            throw KafkaError(code, "subscription to \(topics.joined(separator: ", "))")
        }
        guard let queue = rd_kafka_queue_get_consumer(handle.pointer) else {
            preconditionFailure("a consumer has a consumer queue")
        }
        guard let commitQueue = rd_kafka_queue_new(handle.pointer) else {
            preconditionFailure("librdkafka makes a queue or aborts")
        }
        self.inbox = inbox
        self.handle = handle
        self.queue = queue
        self.commitQueue = commitQueue
    }

    deinit {
        precondition(phase == .closed, "a Kafka consumer is closed before it is let go")
    }

    /// The partitions of this member: the assignment was completed, and no revocation was.
    public var assignedPartitions: [KafkaTopicPartition] { assignment.partitions }

    /// The strategy makes librdkafka 2.0.2 abort the process when the consumer is freed. That happens with a sticky
    /// strategy and a member that never led its group (`rd_kafka_sticky_assignor_state_destroy: Assertion
    /// assignor_state failed`). From 2.4 on these strategies are trusted.
    private static func crashesWhenFreed(strategy: String) -> Bool {
        strategy.contains("sticky") && rd_kafka_version() < 0x0204_0000
    }

    /// The client; throws for a closed one.
    func openHandle(_ context: String) throws(KafkaError) -> KafkaHandle {
        guard let handle else { throw KafkaError.closed(context) }
        return handle
    }
}
