import KafkaClient
import Logging
import PipelineCore
import PushTopics

/// Commits finished work in the assignment that did it, and watches the broker's answers.
///
/// Bound to the shard's event loop.
final class Commits {
    private let consumer: any GroupConsumer
    private let metadataBytes: Int
    private let logger: Logger
    private let clock: () -> MonotonicTime
    private var permit: SendPermit
    private var nextCommit: MonotonicTime
    /// A commit is on its way.
    private(set) var isUnderWay = false
    private(set) var count = 0
    /// Topics that did not fit into the metadata of the last commits, by partition.
    private(set) var unnamed: [Int32: Int] = [:]
    private var afterNext: [() -> Void] = []
    /// A commit was answered, or the group has assigned partitions.
    var onAnswer: () -> Void = {}

    init(
        consumer: any GroupConsumer,
        patience: Duration,
        metadataBytes: Int,
        logger: Logger,
        clock: @escaping () -> MonotonicTime
    ) {
        self.consumer = consumer
        self.metadataBytes = metadataBytes
        self.logger = logger
        self.clock = clock
        permit = SendPermit(patience: patience)
        nextCommit = clock()
    }

    /// The shard may send.
    func maySend(now: MonotonicTime) -> Bool { permit.isOpen(now: now) }

    /// The group does not know the member, or not in this generation: it stores no commit.
    var isFenced: Bool { permit.isFenced }

    func loopStoodStill(for time: Duration) { permit.loopStoodStill(for: time) }
    func assigned() {
        permit.assigned()
        onAnswer()
    }
    func lostAll() { permit.lostAll() }

    /// Commits changed positions, at intervals.
    func commitIfDue(_ partitions: [PartitionAssignment], now: MonotonicTime) {
        guard nextCommit <= now, !isUnderWay else { return }
        nextCommit = now + ShardLimits.commitInterval
        commit(partitions, evenIfUnchanged: permit.wantsCommit)
    }

    /// Commits partitions that are given back. Calls `body` after the answer, or when the allowed time is over.
    ///
    /// An earlier commit is waited for first, so that the newest position is the last to arrive.
    func commitLast(_ partitions: [PartitionAssignment], then body: @escaping () -> Void) {
        guard !isUnderWay else {
            afterNext.append { [self] in commitLast(partitions, then: body) }
            return
        }
        guard commit(partitions, evenIfUnchanged: false) else { return body() }
        afterNext.append(body)
    }

    /// - Returns: true if a commit was sent.
    @discardableResult
    private func commit(_ partitions: [PartitionAssignment], evenIfUnchanged: Bool) -> Bool {
        var offsets: [KafkaPartitionOffset] = []
        var changed: [PartitionAssignment] = []
        for partition in partitions.sorted(by: { $0.number < $1.number }) {
            guard let position = partition.position(metadataLimitBytes: metadataBytes) else { continue }
            guard evenIfUnchanged || position != partition.committed else { continue }
            unnamed[partition.number] = position.unnamed
            partition.beginCommit(position)
            changed.append(partition)
            offsets.append(
                KafkaPartitionOffset(partition.place, offset: position.offset, metadata: position.metadata)
            )
        }
        guard !offsets.isEmpty else { return false }
        let number = permit.commitSent(now: clock())
        do throws(KafkaError) {
            isUnderWay = true
            try consumer.commit(offsets) { [weak self] error in self?.answered(number, changed, error) }
            return true
        } catch {
            isUnderWay = false
            for partition in changed { partition.endCommit(isStored: false) }
            logger.warning("commit failed", metadata: ["error": "\(error)"])
            return false
        }
    }

    private func answered(_ number: UInt64, _ partitions: [PartitionAssignment], _ error: KafkaError?) {
        isUnderWay = false
        for partition in partitions { partition.endCommit(isStored: error == nil) }
        permit.commitAnswered(number, SendPermit.Answer(error))
        if let error {
            // Positions that were not committed are committed by the next attempt, or their records sent again by the
            // next owner: a repetition, no loss.
            logger.warning("commit failed", metadata: ["error": "\(error)"])
        } else {
            count += 1
        }
        onAnswer()
        let bodies = afterNext
        afterNext = []
        for body in bodies { body() }
    }

    /// Forgets a partition: nothing of it is committed any more, and no answer is awaited.
    func forget(_ partition: Int32) { unnamed[partition] = nil }
}

extension SendPermit.Answer {
    /// The meaning of the broker's or the client's answer to a commit.
    fileprivate init(_ error: KafkaError?) {
        guard let error else {
            self = .stored
            return
        }
        self = error.isFencing ? .fenced : error.isFromGroup ? .known : .unknown
    }
}
