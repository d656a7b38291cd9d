import KafkaClient
import Logging
import PipelineCore
import PushTopics

/// The group's side of a ``RecordApplier``: carries out what ``MembershipStateMachine`` says, commits, and moves
/// partitions whose next offset is not in the log.
///
/// Bound to the applier's event loop.
final class ApplierGroup {
    /// An event for the applier.
    enum Event {
        /// Nothing further of what was fetched of these partitions is applied.
        case dropped([Int32])
        /// Partitions have come or gone.
        case changed
        /// Everything is given back: the consumer may be closed.
        case left
    }

    /// Called for every event, after the change.
    var onEvent: (Event) -> Void = { _ in }
    /// The partitions of the batches in flight.
    var inHand: () -> Set<Int32> = { [] }

    let offsetsOutOfRange: OffsetsOutOfRange
    private let consumer: any GroupConsumer
    private let replay: RecordReplay?
    private let source: String
    private let logger: Logger
    private let clock: () -> MonotonicTime
    private let commits: PositionCommits
    private var machine: MembershipStateMachine
    private var isPaused = false
    private var hasLeft = false

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
        self.consumer = consumer
        self.replay = replay
        self.source = source
        self.logger = logger
        self.clock = clock
        machine = MembershipStateMachine(limits: .init(batch: patience, commit: Self.commitPatience))
        commits = PositionCommits(consumer: consumer, logger: logger)
        offsetsOutOfRange = OffsetsOutOfRange(consumer: consumer, source: source, logger: logger)
        commits.position = { [unowned self] in positionToCommit($0) }
        offsetsOutOfRange.position = { [unowned self] in machine.positions[$0] }
        offsetsOutOfRange.onMoved = { [unowned self] partition, offset in
            // Applying again begins no further than here: the former position may lie beyond the end.
            replay?.applying([partition: offset])
            moved([partition: offset])
            commits.notePartitions([partition])
        }
    }

    /// The first offset that has not been applied, by held partition; negative: the beginning.
    var positions: [Int32: Int64] { machine.positions }

    /// A further batch may be taken.
    var mayTake: Bool { machine.mayTake }

    /// The member has its place in the group; an empty assignment is one.
    var isInGroup: Bool { machine.isInGroup(now: clock()) }

    /// The role stops, or has stopped.
    var isStopping: Bool { machine.isStopping }

    /// A record is to be applied; see ``MembershipStateMachine/wants(_:offset:)``.
    func wants(_ partition: Int32, offset: Int64) -> Bool { machine.wants(partition, offset: offset) }

    // MARK: The group

    func assign(_ places: [KafkaTopicPartition]) {
        guard !hasLeft else { return }
        carryOut(machine.assigned(places.map(\.partition)))
    }

    func revoke(_ places: [KafkaTopicPartition], lost: Bool) {
        guard !hasLeft else { return }
        logger.info(
            lost ? "partitions lost" : "partitions revoked",
            metadata: ["source": "\(source)", "partitions": "\(places.map(\.partition).sorted())"]
        )
        let inHand = inHand()
        // No end comes for those that are not held yet.
        replay?.end(places.map(\.partition).filter { machine.positions[$0] == nil })
        carryOut(machine.revoked(places.map(\.partition), lost: lost, inHand: inHand, now: clock()))
    }

    /// Gives everything back; ``Event/left`` follows.
    func stop() {
        let inHand = inHand()
        carryOut(machine.stop(inHand: inHand, now: clock()))
    }

    /// Takes the steps that are due, and repeats what failed.
    func tick() {
        guard !hasLeft else { return }
        requestPositions()
        proceed()
        if machine.mayTake { commits.commit() }
    }

    /// Asks for positions that are not known yet, unless the question is under way.
    func requestPositions() {
        guard !hasLeft else { return }
        carryOut(machine.askAgain())
    }

    // MARK: Work

    /// Everything of a batch is acknowledged.
    ///
    /// - Parameter ends: one past its last offsets, by partition.
    func applied(_ ends: [Int32: Int64]) {
        machine.moved(ends)
        commits.notePartitions(ends.keys)
        if machine.mayTake { commits.commit() }
        proceed()
    }

    /// Moves partitions on whose next offset is not in the log, and of which nothing is in flight.
    func mendOffsets() { offsetsOutOfRange.mend(except: inHand) }

    /// Reading goes on at other offsets.
    func moved(_ offsets: [Int32: Int64]) { machine.moved(offsets) }

    /// Pauses the partitions while nothing is taken, so that polling brings events only; or lets them go on.
    func pause(_ isBlocked: Bool) {
        guard isBlocked || isPaused else { return }
        let places = machine.positions.keys.sorted().map(place)
        do throws(KafkaError) {
            // Some may have come since the last call; those that are paused stay so.
            if isBlocked { try consumer.pause(places) } else { try consumer.resume(places) }
            isPaused = isBlocked
        } catch {
            logger.error(
                "partition could not be paused or resumed",
                metadata: ["source": "\(source)", "error": "\(error)"]
            )
        }
    }

    /// Records that have not been applied, by partition; nil: not known yet.
    func lagRecords(of partition: Int32) -> Int64? {
        guard let next = machine.positions[partition], let extent = consumer.cachedWatermarks(place(partition)) else {
            return nil
        }
        return max(0, extent.high - max(next, extent.low))
    }

    // MARK: Steps

    private func proceed() {
        let inHand = inHand()
        carryOut(machine.proceed(inHand: inHand, now: clock()))
    }

    private func carryOut(_ actions: [MembershipStateMachine.Action]) {
        for action in actions {
            switch action {
            case .askPositions(let partitions, let question): ask(partitions, question)
            case .completeAssign(let partitions): completeAssign(partitions)
            case .abandon(let partitions): abandon(partitions)
            case .commitLast(let partitions, let commit):
                commits.commitLast(partitions) { [weak self] in
                    guard let self else { return }
                    carryOut(machine.lastCommitEnded(commit, now: clock()))
                }
            case .end(let partitions): end(partitions)
            case .completeRevoke: completeRevoke()
            case .leave:
                hasLeft = true
                onEvent(.left)
            }
        }
    }

    private func ask(_ partitions: [Int32], _ question: UInt64) {
        // The servers are asked for their history first; see ``RecordReplay``.
        guard replay?.isReady ?? true else { return machine.positionsFailed(question: question) }
        consumer.committed(partitions.map(place), timeoutMilliseconds: Self.timeoutMilliseconds) { [weak self] result in
            guard let self, !hasLeft else { return }
            switch result {
            case .success(let committed): findStarts(committed, question)
            case .failure(let error): positionsFailed(error, question)
            }
        }
    }

    private func findStarts(_ committed: [KafkaPartitionOffset], _ question: UInt64) {
        guard let replay else { return begin(at: committed.map(\.startPosition), question) }
        replay.findStarts(committed, in: consumer) { [weak self] result in
            guard let self, !hasLeft else { return }
            switch result {
            case .success(let starts): begin(at: starts, question)
            case .failure(let error): positionsFailed(error, question)
            }
            // Partitions that were taken back meanwhile have begun there in vain; one that is asked for again may have
            // begun anew.
            replay.end(
                committed.map(\.partition).filter { machine.positions[$0] == nil && !machine.isAwaiting($0) }
            )
        }
    }

    private func begin(at starts: [KafkaPartitionOffset], _ question: UInt64) {
        let offsets = Dictionary(starts.map { ($0.partition, $0.offset) }) { $1 }
        carryOut(machine.positionsArrived(offsets, question: question))
    }

    private func positionsFailed(_ error: KafkaError, _ question: UInt64) {
        machine.positionsFailed(question: question)
        logger.warning("committed positions could not be read; trying again", metadata: ["error": "\(error)"])
    }

    private func completeAssign(_ partitions: [Int32]) {
        let starts = partitions.map { partition in
            KafkaPartitionOffset(place(partition), offset: machine.positions[partition] ?? KafkaOffset.none)
        }
        do throws(KafkaError) {
            try consumer.completeAssign(starts)
            logger.info("partitions assigned", metadata: ["source": "\(source)", "partitions": "\(partitions)"])
        } catch {
            logger.error("partitions could not be assigned", metadata: ["source": "\(source)", "error": "\(error)"])
            carryOut(machine.notAssigned(partitions))
        }
        if isPaused { pause(true) }
        onEvent(.changed)
    }

    private func abandon(_ partitions: [Int32]) {
        // Otherwise they are fetched anew by this member.
        if !machine.mayTake {
            logger.warning("partitions are given back with batches in hand; their next owner applies them again")
        }
        onEvent(.dropped(partitions))
    }

    private func end(_ partitions: [Int32]) {
        commits.forget(partitions)
        offsetsOutOfRange.forget(partitions)
        replay?.end(partitions)
        onEvent(.dropped(partitions))
    }

    private func completeRevoke() {
        do throws(KafkaError) {
            try consumer.completeRevoke()
        } catch {
            logger.error("partitions could not be given back", metadata: ["source": "\(source)", "error": "\(error)"])
        }
        onEvent(.changed)
    }

    private func positionToCommit(_ partition: Int32) -> KafkaPartitionOffset? {
        guard let offset = machine.positions[partition], offset >= 0 else { return nil }
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
