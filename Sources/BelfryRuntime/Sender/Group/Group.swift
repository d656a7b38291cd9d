import KafkaClient
import Logging
import PipelineCore

/// First stage: the partitions that the group has given to this shard, and how far each of their topics has come.
///
/// Lives on the shard's event loop.
final class Group {
    /// Something the stages behind must know.
    enum Event {
        /// Feeds are on their way out: nothing more of them is sent, what is in flight may settle.
        case leaving([TopicFeed])
        /// Feeds are over.
        case over([TopicFeed])
        /// A partition can be read, or could be given back.
        case changed
    }

    /// Called for every event, after the change.
    var onEvent: (Event) -> Void = { _ in }

    let feeds: FeedTable
    let memory: ShardMemory
    let commits: Commits
    let directory: TopicDirectory
    private let consumer: any GroupConsumer
    private let logger: Logger
    private let metadataBytes: Int
    private let revokeDeadline: Duration
    private let requestsTopic: String
    private let clock: () -> MonotonicTime

    /// By partition.
    private(set) var assigned: [Int32: PartitionAssignment] = [:]
    /// Given by the group, but their start positions are not known yet.
    private var awaitingPositions: [KafkaTopicPartition] = []
    /// Tells answers about positions from those to older questions.
    private var questions: UInt64 = 0
    private var isAsking = false
    /// Partitions whose metadata this program does not understand.
    private(set) var standing: Set<Int32> = []
    private var nextLookAtStanding: MonotonicTime
    private(set) var revocation: Revocation?
    /// The group has said which partitions are this shard's, be it none, and they have begun.
    private(set) var hasJoined = false
    private(set) var isStopping = false
    /// Called when everything is committed, or cannot be, at a stop.
    private var whenDrained: (() -> Void)?

    /// Partitions on their way out.
    struct Revocation {
        enum Step {
            /// What is in flight settles.
            case settling
            /// The last position is being committed.
            case committing
        }

        var partitions: [PartitionAssignment]
        /// What must be settled.
        var barriers: [LaneBarrier]
        var deadline: MonotonicTime
        var step = Step.settling
    }

    init(
        consumer: any GroupConsumer,
        settings: ShardSettings,
        directory: TopicDirectory,
        feeds: FeedTable,
        memory: ShardMemory,
        commits: Commits,
        logger: Logger,
        clock: @escaping () -> MonotonicTime
    ) {
        self.consumer = consumer
        self.directory = directory
        self.feeds = feeds
        self.memory = memory
        self.commits = commits
        self.logger = logger
        self.clock = clock
        metadataBytes = settings.metadataBytes
        revokeDeadline = settings.revokeDeadline
        requestsTopic = settings.names.requests
        nextLookAtStanding = clock()
    }

    /// Partitions that records are fed of, in order.
    var active: [PartitionAssignment] {
        assigned.values.filter { $0.phase == .active }.sorted { $0.number < $1.number }
    }

    // MARK: Coming

    /// The group assigned partitions; they start where their last commit says.
    func assign(_ partitions: [KafkaTopicPartition]) {
        // What came before it and was not answered is answered with it.
        awaitingPositions += partitions.filter { !awaitingPositions.contains($0) }
        hasJoined = false
        isAsking = false
        // Not when its positions are known: the group's word may be old by then.
        commits.assigned()
        // A shard may get none, and after it gave some back in a cooperative group it always hears so; the group waits for
        // the answer to that, too.
        if awaitingPositions.isEmpty { complete([]) } else { requestPositions() }
    }

    /// Asks for the committed positions of newly assigned partitions; asked again if the broker does not answer.
    func requestPositions() {
        guard !awaitingPositions.isEmpty, !isAsking else { return }
        isAsking = true
        questions += 1
        let question = questions
        consumer.committed(
            awaitingPositions,
            timeoutMilliseconds: ShardLimits.questionTimeoutMilliseconds
        ) { [weak self] result in
            self?.positionsArrived(question, result)
        }
    }

    private func positionsArrived(_ question: UInt64, _ result: Result<[KafkaPartitionOffset], KafkaError>) {
        guard question == questions, !isStopping else { return }
        isAsking = false
        switch result {
        case .failure(let error):
            logger.warning("committed positions could not be read; trying again", metadata: ["error": "\(error)"])
        case .success(let positions):
            let wanted = Set(awaitingPositions)
            let starts = positions.filter { wanted.contains($0.place) }
            guard starts.count == wanted.count else { return requestPositions() }
            awaitingPositions = []
            complete(starts.map(begin))
        }
    }

    private func complete(_ starts: [KafkaPartitionOffset]) {
        do throws(KafkaError) {
            try consumer.completeAssign(starts)
            hasJoined = true
            let mustStand = starts.filter { standing.contains($0.partition) }.map(\.place)
            if !mustStand.isEmpty { try consumer.pause(mustStand) }
            logger.info("partitions assigned", metadata: ["partitions": "\(starts.map(\.partition).sorted())"])
        } catch {
            logger.error("partitions could not be assigned", metadata: ["error": "\(error)"])
        }
        onEvent(.changed)
    }

    /// Begins an assignment.
    ///
    /// - Returns: where its live reader starts.
    private func begin(_ position: KafkaPartitionOffset) -> KafkaPartitionOffset {
        // Still there only if a rebalance failed in between: what it left must not be sent beside what is fetched anew.
        if let former = assigned.removeValue(forKey: position.partition) { end([former]) }
        standing.remove(position.partition)
        guard position.offset >= 0 else {
            add(position.place, PositionMetadata(), offset: -1, start: -1)
            return KafkaPartitionOffset(position.place, offset: KafkaOffset.beginning)
        }
        var metadata = PositionMetadata()
        do throws(PositionMetadata.DecodingError) {
            metadata = try PositionMetadata(decoding: position.metadata, committedOffset: position.offset)
        } catch {
            switch error {
            case .missing:
                logger.critical(
                    "committed offset has no metadata: set by hand; starting there",
                    metadata: ["partition": "\(position.partition)", "offset": "\(position.offset)"]
                )
            case .unknownVersion, .malformed:
                standing.insert(position.partition)
                logger.critical(
                    "commit metadata is not understood; the partition stands until its offset is set",
                    metadata: ["partition": "\(position.partition)", "offset": "\(position.offset)"]
                )
                return position
            }
        }
        // With a cursor near by the live reader starts there and skips what is done.
        let lowest = metadata.laggards.map(\.cursor).min() ?? position.offset
        let isNear = position.offset - lowest <= ShardLimits.nearRecords
        let start = isNear ? min(lowest, position.offset) : position.offset
        add(position.place, metadata, offset: position.offset, start: start)
        return KafkaPartitionOffset(position.place, offset: start)
    }

    private func add(_ place: KafkaTopicPartition, _ metadata: PositionMetadata, offset: Int64, start: Int64) {
        let partition = PartitionAssignment(
            place: place,
            doneBelow: offset,
            doneOfAll: metadata.doneOfAll,
            table: feeds,
            budget: memory
        )
        if start >= 0 { partition.moveLive(to: start) }
        for laggard in metadata.laggards {
            let account =
                switch laggard.topic {
                case .refused: directory.refused
                case .others: directory.others
                // Whose hash it is shows with its first record.
                default: directory.account(of: laggard.topic) ?? TopicAccount(nil)
                }
            partition.inherit(laggard, from: start, account: account)
        }
        assigned[place.partition] = partition
    }

    /// Looks once more at partitions whose metadata was not understood.
    func lookAtStanding(now: MonotonicTime) {
        guard !standing.isEmpty, nextLookAtStanding <= now, revocation == nil else { return }
        nextLookAtStanding = now + ShardLimits.standingInterval
        let places = standing.sorted().map { KafkaTopicPartition(topic: requestsTopic, partition: $0) }
        consumer.committed(
            places,
            timeoutMilliseconds: ShardLimits.questionTimeoutMilliseconds
        ) { [weak self] result in
            guard let self, !isStopping, case .success(let positions) = result else { return }
            for position in positions where standing.contains(position.partition) { release(position) }
        }
    }

    private func release(_ position: KafkaPartitionOffset) {
        let start = begin(position)
        guard !standing.contains(position.partition) else { return }
        do throws(KafkaError) {
            try consumer.seekWithoutWaiting(to: [start])
            try consumer.resume([position.place])
        } catch {
            logger.error("partition could not be resumed", metadata: ["error": "\(error)"])
        }
        onEvent(.changed)
    }

    // MARK: Going

    /// The group takes partitions back. Lost ones belong to another already: nothing of them is committed.
    ///
    /// - Parameter barriers: what must be settled, asked for once nothing more is sent.
    func revoke(_ places: [KafkaTopicPartition], lost: Bool, barriers: () -> [LaneBarrier]) {
        awaitingPositions.removeAll { places.contains($0) }
        for place in places { standing.remove(place.partition) }
        if lost { hasJoined = false }
        let leaving = places.compactMap { assigned[$0.partition] }
        logger.info(
            lost ? "partitions lost" : "partitions revoked",
            metadata: ["partitions": "\(places.map(\.partition).sorted())"]
        )
        startRevocation(of: leaving, within: lost ? .zero : revokeDeadline, barriers)
        if lost {
            end(leaving)
            finishRevocation()
        }
    }

    /// Everything goes: the worker stops.
    func drain(within limit: Duration, barriers: () -> [LaneBarrier], then body: @escaping () -> Void) {
        whenDrained = body
        startRevocation(of: Array(assigned.values), within: limit, barriers)
    }

    private func startRevocation(
        of partitions: [PartitionAssignment],
        within limit: Duration,
        _ barriers: () -> [LaneBarrier]
    ) {
        for partition in partitions { partition.phase = .revoking }
        onEvent(.leaving(partitions.flatMap(\.sortedFeeds)))
        // A rebalance inside a drain adds nothing: everything is leaving already.
        let former = revocation
        revocation = Revocation(
            partitions: partitions.filter { partition in
                !(former?.partitions.contains { $0 === partition } ?? false)
            } + (former?.partitions ?? []),
            barriers: barriers(),
            deadline: min(former?.deadline ?? MonotonicTime(nanoseconds: .max), clock() + limit)
        )
    }

    /// Gives the partitions back once what was in flight has settled and what was published is acknowledged.
    func finishRevocationIfSettled(now: MonotonicTime) {
        guard let revocation else { return }
        switch revocation.step {
        case .settling:
            let isSettled =
                revocation.partitions.allSatisfy { $0.feeds.values.allSatisfy { $0.unacknowledged == 0 } }
                && revocation.barriers.allSatisfy(\.isPassed)
            guard isSettled || revocation.deadline <= now else { return }
            if !isSettled {
                logger.warning("deadline reached with notifications in flight; whoever takes over sends them again")
            }
            self.revocation?.step = .committing
            self.revocation?.deadline = now + ShardLimits.lastCommitPatience
            commits.commitLast(revocation.partitions) { [weak self] in
                guard case .committing = self?.revocation?.step else { return }
                self?.finishRevocation()
            }
        case .committing:
            if revocation.deadline <= now { finishRevocation() }
        }
    }

    private func finishRevocation() {
        guard let revocation else { return }
        self.revocation = nil
        end(revocation.partitions)
        if let whenDrained {
            isStopping = true
            self.whenDrained = nil
            return whenDrained()
        }
        do throws(KafkaError) {
            try consumer.completeRevoke()
        } catch {
            logger.error("partitions could not be given back", metadata: ["error": "\(error)"])
        }
        onEvent(.changed)
    }

    private func end(_ partitions: [PartitionAssignment]) {
        var over: [TopicFeed] = []
        for partition in partitions {
            if assigned[partition.number] === partition { assigned[partition.number] = nil }
            commits.forget(partition.number)
            over += partition.end()
        }
        onEvent(.over(over))
        if assigned.isEmpty { commits.lostAll() }
    }

    // MARK: Topics

    /// A topic does not work and nothing of it is in flight: what was taken in and is not done is fed anew from its cursor.
    ///
    /// - Returns: the feeds that are over; nil: the broker has yet to acknowledge something about it.
    func rewind(_ topic: Topic) -> [TopicFeed]? {
        let all = active.flatMap { partition in
            partition.sortedFeeds.filter { $0.account.topic === topic }.map { (partition, $0) }
        }
        guard all.allSatisfy({ $0.1.unacknowledged == 0 }) else { return nil }
        return all.compactMap { partition, feed in partition.rewind(feed) }
    }

    /// Whether anything of a topic is taken in, or was passed over.
    func hasWork(_ topic: Topic) -> Bool {
        active.contains { partition in
            partition.feeds.values.contains { $0.account.topic === topic && !$0.ledger.isIdle }
        }
    }

    // MARK: Pauses

    /// While there is no room, partitions are paused, so that polling brings events only.
    func pause(_ isBlocked: Bool) {
        for partition in active where partition.isPaused != isBlocked {
            do throws(KafkaError) {
                if isBlocked { try consumer.pause([partition.place]) } else { try consumer.resume([partition.place]) }
                partition.isPaused = isBlocked
            } catch {
                logger.error(
                    "partition could not be paused or resumed",
                    metadata: ["partition": "\(partition.number)", "error": "\(error)"]
                )
            }
        }
    }

    /// One past the last record of a partition, as far as fetches have told.
    func end(of partition: PartitionAssignment) -> Int64? {
        consumer.cachedWatermarks(partition.place)?.high
    }

    func watermarks(of partition: PartitionAssignment) -> KafkaWatermarks? {
        consumer.cachedWatermarks(partition.place)
    }
}
