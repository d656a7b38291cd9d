import KafkaClient
import Logging
import PipelineCore
import PushTopics

/// Commits finished work in the assignment that did it, and watches the broker's answers.
///
/// Bound to the shard's event loop.
final class Commits {
    private let commits: GroupCommits
    private let metadataBytes: Int
    private let clock: () -> MonotonicTime
    /// The clock of the permit: it does not stand still with the host.
    private let hostClock: () -> MonotonicTime
    private var permit: SendPermit
    private var nextCommit: MonotonicTime
    /// The time of the last look for a standstill, by the host's clock.
    private var lastLook: MonotonicTime
    /// Partitions whose stored position is not known: a commit of a former assignment may have come after later ones.
    private var doubted: Set<Int32> = []
    private(set) var count = 0
    /// Topics that did not fit into the metadata of the last commits, by partition.
    private(set) var unnamed: [Int32: Int] = [:]
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
        commits = GroupCommits(consumer: consumer, logger: logger)
        self.metadataBytes = metadataBytes
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
        return permit.isOpen(now: now) && !stoodStill(until: now)
    }

    /// The loop, or its host, has not come to a look for so long that the partitions may be another's.
    var stoodStill: Bool { stoodStill(until: hostClock()) }

    private func stoodStill(until now: MonotonicTime) -> Bool { lastLook.elapsed(until: now) >= permit.patience }

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
        commits.beginAssignment()
        onAnswer()
    }

    func lostAll() { permit.lostAll() }

    /// Commits what has changed with the next tick.
    func hurry() { nextCommit = clock() }

    /// Commits changed positions, at intervals.
    func commitIfDue(_ partitions: @autoclosure () -> [PartitionAssignment], now: MonotonicTime) {
        guard nextCommit <= now, !commits.isUnderWay else { return }
        nextCommit = now + ShardLimits.commitInterval
        commit(partitions(), evenIfUnchanged: permit.wantsCommit)
    }

    /// Commits partitions that are given back. Calls `body` after the answer, at once if nothing is to be committed.
    func commitLast(_ partitions: [PartitionAssignment], then body: @escaping () -> Void) {
        commits.commitLast({ [unowned self] in commit(partitions, evenIfUnchanged: false) }, then: body)
    }

    /// A position on its way to the broker.
    private struct Sent {
        var partition: PartitionAssignment
        var position: PositionMetadata.Position
    }

    /// - Returns: a commit was sent.
    @discardableResult
    private func commit(_ partitions: [PartitionAssignment], evenIfUnchanged: Bool) -> Bool {
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
        guard !offsets.isEmpty else { return false }
        let number = permit.commitSent(now: hostClock())
        return commits.commit(offsets) { [unowned self] error, isLate in
            answered(number, sent, SendPermit.Answer(error), isLate: isLate)
        }
    }

    /// - Parameter isLate: the commit is one of a former assignment.
    private func answered(_ number: UInt64, _ sent: [Sent], _ answer: SendPermit.Answer, isLate: Bool) {
        if !isLate, answer == .stored {
            for commit in sent {
                commit.partition.committed = commit.position
                onStored(commit.partition, commit.position.offset)
            }
        } else if isLate, answer == .stored || answer == .unknown {
            doubted.formUnion(sent.map(\.partition.number))
            // An older position may be stored: until the newest is, a take-over would repeat what lies between.
            nextCommit = clock()
        }
        permit.commitAnswered(number, answer)
        if answer == .stored { count += 1 }
        onAnswer()
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
