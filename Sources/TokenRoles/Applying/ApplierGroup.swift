import KafkaClient
import Logging
import PipelineCore
import PushTopics

/// The group's side of a ``RecordApplier``: its member of the group, its positions and their commits, and partitions
/// whose next offset is not in the log.
///
/// Bound to the applier's event loop.
final class ApplierGroup {
    typealias Member = GroupMember<KafkaPartitionOffset>

    /// Called for every event, after the change.
    var onEvent: (Member.Event) -> Void = { _ in }
    /// The partitions of the batches in flight.
    var inHand: () -> Set<Int32> = { [] }

    let member: Member
    let offsetsOutOfRange: OffsetsOutOfRange
    private(set) var positions = AppliedPositions()
    private let consumer: any GroupConsumer
    private let replay: RecordReplay?
    private let source: String
    private let logger: Logger
    private let commits: GroupCommits
    /// Partitions whose position the broker does not have.
    private var changed: Set<Int32> = []
    /// Partitions of the last commit that was sent.
    private var sent: Set<Int32> = []
    private var isPaused = false

    private static let timeoutMilliseconds: Int32 = 5_000
    /// The longest wait for the broker's answer to the last commit of a partition.
    private static let commitPatience = Duration.seconds(5)

    /// - Parameters:
    ///   - source: the Kafka topic.
    ///   - patience: longest wait of a revocation, or a stop, for the batches in flight.
    init(
        consumer: any GroupConsumer,
        replay: RecordReplay?,
        source: String,
        patience: Duration,
        logger: Logger,
        clock: @escaping () -> MonotonicTime
    ) {
        var logger = logger
        logger[metadataKey: "source"] = "\(source)"
        self.consumer = consumer
        self.replay = replay
        self.source = source
        self.logger = logger
        member = GroupMember(
            consumer: consumer,
            topic: source,
            machine: MembershipStateMachine(limits: .init(revoke: patience, commit: Self.commitPatience)),
            logger: logger,
            clock: clock
        )
        commits = GroupCommits(consumer: consumer, logger: logger)
        offsetsOutOfRange = OffsetsOutOfRange(consumer: consumer, source: source, logger: logger)
        member.findStarts = { [unowned self] in findStarts(of: $0, $1) }
        member.begin = { [unowned self] starts in
            positions.begin(at: Dictionary(starts.map { ($0.partition, $0.offset) }) { $1 })
            return starts
        }
        member.work = { [unowned self] in .init(inHand: inHand()) }
        member.commitLast = { [unowned self] partitions, body in
            commits.commitLast({ [unowned self] in commit(changed.intersection(partitions)) }, then: body)
        }
        member.onEvent = { [unowned self] in handle($0) }
        // One that was refused is tried again later: a group in a rebalance refuses every one.
        commits.onStored = { [unowned self] in commitChanged() }
        offsetsOutOfRange.position = { [unowned self] in positions[$0] }
        offsetsOutOfRange.onMoved = { [unowned self] partition, offset in
            // Applying again begins no further than here: the former position may lie beyond the end.
            replay?.applying([partition: offset])
            moved([partition: offset])
            changed.insert(partition)
        }
    }

    /// A further batch may be taken.
    var mayTake: Bool { member.machine.mayTake }

    // MARK: The group

    func revoke(_ places: [KafkaTopicPartition], lost: Bool) {
        guard !member.machine.hasLeft else { return }
        // No end comes for those that are not held yet.
        replay?.end(places.map(\.partition).filter { positions[$0] == nil })
        member.revoke(places, lost: lost)
    }

    /// Takes the steps that are due, and repeats what failed.
    func tick() {
        member.askAgain()
        member.proceed()
        if mayTake { commitChanged() }
    }

    private func findStarts(
        of places: [KafkaTopicPartition],
        _ completion: @escaping (Member.Starts) -> Void
    ) {
        // The servers are asked for their history first; see ``RecordReplay``.
        guard replay?.isReady ?? true else { return completion(nil) }
        consumer.committed(places, timeoutMilliseconds: Self.timeoutMilliseconds) { [weak self] result in
            guard let self, !member.machine.hasLeft else { return }
            guard let replay, case .success(let committed) = result else {
                return completion(result.map { $0.map(\.startPosition) })
            }
            replay.findStarts(committed, in: consumer) { [weak self] result in
                guard let self, !member.machine.hasLeft else { return }
                completion(result)
                // Partitions that were taken back meanwhile have begun there in vain; one that is asked for again may
                // have begun anew.
                replay.end(
                    places.map(\.partition).filter { positions[$0] == nil && !member.machine.isAwaiting($0) }
                )
            }
        }
    }

    private func handle(_ event: Member.Event) {
        switch event {
        case .assigned, .failed:
            if isPaused { pause(true) }
        case .abandoned:
            // Otherwise they are fetched anew by this member.
            if !mayTake {
                logger.warning("partitions are given back with batches in hand; their next owner applies them again")
            }
        case .ended(let partitions):
            positions.end(partitions)
            changed.subtract(partitions)
            sent.subtract(partitions)
            offsetsOutOfRange.forget(partitions)
            replay?.end(partitions)
        case .revoked, .left: break
        }
        onEvent(event)
    }

    // MARK: Work

    /// Everything of a batch is acknowledged.
    ///
    /// - Parameter ends: one past its last offsets, by partition.
    func applied(_ ends: [Int32: Int64]) {
        moved(ends)
        changed.formUnion(ends.keys)
        if mayTake { commitChanged() }
        member.proceed()
    }

    /// Moves partitions on whose next offset is not in the log, and of which nothing is in flight.
    func mendOffsets() { offsetsOutOfRange.mend(except: inHand) }

    /// Reading goes on at other offsets.
    func moved(_ offsets: [Int32: Int64]) { positions.moved(offsets) }

    /// Pauses the partitions while nothing is taken, so that polling brings events only; or lets them go on.
    func pause(_ isBlocked: Bool) {
        guard isBlocked || isPaused else { return }
        // Some may have come since the last call; those that are paused stay so.
        if member.pause(isBlocked, positions.all.keys.sorted()) { isPaused = isBlocked }
    }

    /// Records that have not been applied, by partition; nil: not known yet.
    func lagRecords(of partition: Int32) -> Int64? {
        guard let next = positions[partition], let extent = consumer.cachedWatermarks(place(partition)) else {
            return nil
        }
        return max(0, extent.high - max(next, extent.low))
    }

    /// Commits what has changed. While a commit is on its way nothing is sent: its answer brings the next one.
    private func commitChanged() {
        if !commits.isUnderWay { _ = commit(changed) }
    }

    /// - Returns: true if a commit was sent.
    private func commit(_ partitions: Set<Int32>) -> Bool {
        let isSent = commits.commit(partitions.sorted().compactMap(positionToCommit)) { [unowned self] error, _ in
            if error != nil { changed.formUnion(sent) }
        }
        guard isSent else { return false }
        changed.subtract(partitions)
        sent = partitions
        return true
    }

    private func positionToCommit(_ partition: Int32) -> KafkaPartitionOffset? {
        guard let offset = positions[partition], offset >= 0 else { return nil }
        return KafkaPartitionOffset(
            place(partition),
            offset: offset,
            metadata: replay?.metadata(partition, offset: offset) ?? ""
        )
    }

    private func place(_ partition: Int32) -> KafkaTopicPartition {
        KafkaTopicPartition(topic: source, partition: partition)
    }
}
