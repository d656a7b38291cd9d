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
    /// The clock of the permit: it does not stand still with the host.
    private let hostClock: () -> MonotonicTime
    private var permit: SendPermit
    private var nextCommit: MonotonicTime
    /// The time of the last look for a standstill, by the host's clock.
    private var lastLook: MonotonicTime
    /// Number of the commit on its way in the present assignment; nil: none. One of a former assignment may be on its
    /// way beside it: its answer can take a minute, and is not waited for.
    private var underWay: UInt64?
    /// Partitions whose stored position is not known: a commit of a former assignment may have come after later ones.
    private var doubted: Set<Int32> = []
    private(set) var count = 0
    /// Topics that did not fit into the metadata of the last commits, by partition.
    private(set) var unnamed: [Int32: Int] = [:]
    /// Calls that wait for the answer to a commit, by its number.
    private var afterAnswer: [UInt64: [() -> Void]] = [:]
    /// A commit was answered, or the group has assigned partitions.
    var onAnswer: () -> Void = {}
    /// A commit of a partition, with this offset, was stored in its assignment.
    var onStored: (PartitionAssignment, _ offset: Int64) -> Void = { _, _ in }

    init(
        consumer: any GroupConsumer,
        patience: Duration,
        metadataBytes: Int,
        logger: Logger,
        clock: @escaping () -> MonotonicTime,
        hostClock: @escaping () -> MonotonicTime
    ) {
        self.consumer = consumer
        self.metadataBytes = metadataBytes
        self.logger = logger
        self.clock = clock
        self.hostClock = hostClock
        lastLook = hostClock()
        permit = SendPermit(patience: patience)
        nextCommit = clock()
    }

    /// The shard may send, and nothing has stood still since the last look: what comes before the next one after that
    /// must not be written.
    var maySend: Bool {
        let now = hostClock()
        return permit.isOpen(now: now) && lastLook.elapsed(until: now) < permit.patience
    }

    /// The group does not know the member, or not in this generation: it stores no commit.
    var isFenced: Bool { permit.isFenced }

    /// Notes the time since the last call: if that was long, the loop or its host stood still, and the group may have
    /// given the partitions to others.
    ///
    /// - Returns: false: the shard may not send.
    func mayGoOn() -> Bool {
        let now = hostClock()
        permit.loopStoodStill(for: lastLook.elapsed(until: now))
        lastLook = now
        return permit.isOpen(now: now)
    }

    func assigned() {
        permit.assigned()
        underWay = nil
        onAnswer()
    }
    func lostAll() { permit.lostAll() }

    /// Commits what has changed with the next tick.
    func hurry() { nextCommit = clock() }

    /// Commits changed positions, at intervals.
    func commitIfDue(_ partitions: @autoclosure () -> [PartitionAssignment], now: MonotonicTime) {
        guard nextCommit <= now, underWay == nil else { return }
        nextCommit = now + ShardLimits.commitInterval
        commit(partitions(), evenIfUnchanged: permit.wantsCommit)
    }

    /// Commits partitions that are given back. Calls `body` after the answer, or when the allowed time is over.
    ///
    /// An earlier commit of the same assignment is waited for first, so that the newest position is the last to arrive.
    func commitLast(_ partitions: [PartitionAssignment], then body: @escaping () -> Void) {
        if let underWay {
            afterAnswer[underWay, default: []].append { [self] in commitLast(partitions, then: body) }
            return
        }
        guard let number = commit(partitions, evenIfUnchanged: false) else { return body() }
        afterAnswer[number, default: []].append(body)
    }

    /// A position on its way to the broker.
    private struct Sent {
        var partition: PartitionAssignment
        var position: PositionMetadata.Position
    }

    /// - Returns: the number of the commit; nil: none was sent.
    @discardableResult
    private func commit(_ partitions: [PartitionAssignment], evenIfUnchanged: Bool) -> UInt64? {
        var offsets: [KafkaPartitionOffset] = []
        var sent: [Sent] = []
        for partition in partitions.sorted(by: { $0.number < $1.number }) {
            guard let position = partition.position(metadataLimitBytes: metadataBytes) else { continue }
            if doubted.remove(partition.number) != nil { partition.committed = nil }
            guard evenIfUnchanged || position != partition.committed else { continue }
            unnamed[partition.number] = position.unnamed
            sent.append(Sent(partition: partition, position: position))
            offsets.append(
                KafkaPartitionOffset(partition.place, offset: position.offset, metadata: position.metadata)
            )
        }
        guard !offsets.isEmpty else { return nil }
        let number = permit.commitSent(now: hostClock())
        do throws(KafkaError) {
            underWay = number
            try consumer.commit(offsets) { [weak self] error in self?.answered(number, sent, error) }
            return number
        } catch {
            underWay = nil
            logger.warning("commit failed", metadata: ["error": "\(error)"])
            return nil
        }
    }

    private func answered(_ number: UInt64, _ sent: [Sent], _ error: KafkaError?) {
        let answer = SendPermit.Answer(error)
        if underWay == number {
            underWay = nil
            if answer == .stored {
                for commit in sent {
                    commit.partition.committed = commit.position
                    onStored(commit.partition, commit.position.offset)
                }
            }
        } else if answer == .stored || answer == .unknown {
            doubted.formUnion(sent.map(\.partition.number))
            // An older position may be stored: until the newest is, a take-over would repeat what lies between.
            nextCommit = clock()
        }
        permit.commitAnswered(number, answer)
        if let error {
            // Positions that were not committed are committed by the next attempt, or their records sent again by the
            // next owner: a repetition, no loss.
            logger.warning("commit failed", metadata: ["error": "\(error)"])
        } else {
            count += 1
        }
        onAnswer()
        for body in afterAnswer.removeValue(forKey: number) ?? [] { body() }
    }

    /// Forgets a partition: nothing of it is committed any more, and no answer is awaited.
    func forget(_ partition: Int32) {
        unnamed[partition] = nil
        doubted.remove(partition)
    }
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
