import KafkaClient
import Logging
import PipelineCore
import PushTopics

/// First stage: the partitions that the group has given to this shard, and the progress of each of their topics.
///
/// Bound to the shard's event loop.
final class Group {
    /// An event for the stages behind this one.
    enum Event {
        /// Feeds are being given back: nothing more of them is sent, notifications in flight may settle.
        case leaving([TopicFeed])
        /// Feeds have ended.
        case over([TopicFeed])
        /// A partition can be read, or could be given back.
        case changed
        /// An assignment could not be carried out, and the client takes no other answer to it.
        case failed(KafkaError)
    }

    /// Called for every event, after the change.
    var onEvent: (Event) -> Void = { _ in }

    let feeds: FeedTable
    let memory: ShardMemory
    let commits: Commits
    let directory: TopicDirectory
    let consumer: any GroupConsumer
    let starts: PartitionStarts
    let logger: Logger
    private let nearRecords: Int64
    private let nearBytes: Int
    var revokeDeadline: Duration
    private let settlePatience: Duration
    private let requestsTopic: String
    let decoderEdition: UInt8
    private let mostRefused: Int
    private let clock: () -> MonotonicTime
    private let unixMilliseconds: () -> Int64
    private let newSalt: () -> TopicSalt

    /// The assigned partitions, by number.
    private(set) var assigned: [Int32: PartitionAssignment] = [:] {
        didSet { inOrder = nil }
    }
    /// The assigned partitions in order, for every turn needs them; nil: not sorted yet.
    private var inOrder: [PartitionAssignment]?
    /// Assigned partitions that are not read, each with the reason.
    private(set) var standing: [Int32: ShardReport.Standing] = [:]
    private var nextLookAtStanding: MonotonicTime
    private(set) var revocation: Revocation?
    private var revocationsBegun: UInt64 = 0
    /// Revocations of the group without an answer: each needs its own, also those that are carried out together.
    private var openRevocations = 0
    /// The first assignment, possibly empty, was answered.
    private(set) var hasJoined = false
    /// The time when partitions were given back; nil once the next assignment is answered.
    private(set) var rejoiningSince: MonotonicTime?
    private(set) var isStopping = false
    /// Called at a stop when everything is committed, or cannot be.
    private var whenDrained: (() -> Void)?

    init(
        consumer: any GroupConsumer,
        starts: PartitionStarts,
        settings: ShardSettings,
        directory: TopicDirectory,
        feeds: FeedTable,
        memory: ShardMemory,
        commits: Commits,
        logger: Logger,
        clock: @escaping () -> MonotonicTime
    ) {
        self.consumer = consumer
        self.starts = starts
        self.directory = directory
        self.feeds = feeds
        self.memory = memory
        self.commits = commits
        self.logger = logger
        self.clock = clock
        nearRecords = settings.nearRecords
        nearBytes = settings.nearBytes
        revokeDeadline = settings.revokeDeadline
        settlePatience = settings.settlePatience
        requestsTopic = settings.names.requests
        decoderEdition = settings.decoderEdition
        mostRefused = settings.topicLimits.refused
        unixMilliseconds = settings.unixMilliseconds
        newSalt = settings.newSalt
        nextLookAtStanding = clock()
        starts.onKnown = { [unowned self] in complete($0) }
    }

    /// Partitions being fed, in order.
    var active: [PartitionAssignment] {
        let all = inOrder ?? assigned.values.sorted { $0.number < $1.number }
        inOrder = all
        return all.allSatisfy { $0.phase == .active } ? all : all.filter { $0.phase == .active }
    }

    // MARK: Coming

    /// Takes an assignment of the group; the partitions start at their last commit.
    func assign(_ partitions: [KafkaTopicPartition]) {
        hasJoined = false
        // Not when the positions are known: the group's assignment may be old by then.
        commits.assigned()
        starts.assign(partitions)
    }

    private func complete(_ found: [PartitionStarts.Start]) {
        let starts = found.map(begin)
        defer { onEvent(.changed) }
        do throws(KafkaError) {
            try consumer.completeAssign(starts)
        } catch {
            // They are not read here, and a commit of them would overtake their next owner.
            for start in starts { standing[start.partition] = nil }
            end(starts.compactMap { assigned[$0.partition] })
            logger.error("partitions could not be assigned", metadata: ["error": "\(error)"])
            return onEvent(.failed(error))
        }
        hasJoined = true
        rejoiningSince = nil
        let mustStand = starts.filter { standing[$0.partition] != nil }.map(\.place)
        do throws(KafkaError) {
            if !mustStand.isEmpty { try consumer.pause(mustStand) }
        } catch {
            // Their messages are ignored all the same.
            logger.error(
                "partition could not be paused or resumed",
                metadata: ["partition": "\(mustStand.map(\.partition).sorted())", "error": "\(error)"]
            )
        }
        logger.info("partitions assigned", metadata: ["partitions": "\(starts.map(\.partition).sorted())"])
    }

    /// Begins an assignment.
    ///
    /// - Returns: the start of its live reader.
    private func begin(_ start: PartitionStarts.Start) -> KafkaPartitionOffset {
        // Still there only if a rebalance failed in between: its leftovers must not be sent beside the records fetched
        // anew.
        if let former = assigned.removeValue(forKey: start.place.partition) { end([former]) }
        standing[start.place.partition] = nil
        switch start {
        case .committed(let position): return begin(position)
        case .first(let place, let decision): return begin(place, decision)
        }
    }

    private func begin(_ place: KafkaTopicPartition, _ decision: FirstStart.Decision) -> KafkaPartitionOffset {
        switch decision {
        case .start(let offset):
            add(place, PositionMetadata(), isMixed: false, offset: offset, start: offset)
            // The next owner tells by the commit that the partition is not fresh.
            commits.hurry()
            return KafkaPartitionOffset(place, offset: offset)
        case .stands:
            standing[place.partition] = .noCommit
            logger.critical(
                "group has no commit of a partition that was read before; it stands until its offset is set",
                metadata: ["partition": "\(place.partition)", "remedy": "belfry offsets set, or worker.start"]
            )
        case .undecided:
            standing[place.partition] = .undecided
            logger.warning(
                "group has no commit of a partition; it stands until Redis tells whether it was read before",
                metadata: ["partition": "\(place.partition)"]
            )
        }
        return KafkaPartitionOffset(place, offset: KafkaOffset.end)
    }

    private func begin(_ position: KafkaPartitionOffset) -> KafkaPartitionOffset {
        guard let (metadata, isMixed) = read(position) else {
            standing[position.partition] = .unknownMetadata
            return position
        }
        // With a near cursor the live reader starts there and skips finished records.
        let lowest = metadata.laggards.map(\.cursor).min() ?? position.offset
        let isNear = position.offset - lowest <= nearRecords
        let start = isNear ? min(lowest, position.offset) : position.offset
        add(position.place, metadata, isMixed: isMixed, offset: position.offset, start: start)
        return KafkaPartitionOffset(position.place, offset: start)
    }

    private func add(
        _ place: KafkaTopicPartition,
        _ metadata: PositionMetadata,
        isMixed: Bool,
        offset: Int64,
        start: Int64
    ) {
        let partition = PartitionAssignment(
            place: place,
            claimedAt: unixMilliseconds(),
            salt: salt(under: metadata),
            doneBelow: offset,
            edition: decoderEdition,
            isMixed: isMixed,
            mostRefused: mostRefused,
            table: feeds,
            budget: memory,
            nearBytes: nearBytes
        )
        if start >= 0 { partition.moveLive(to: start) }
        partition.mayEndEarly = start < offset
        let known = metadata.laggards.isEmpty ? [:] : directory.accounts(metadata.salt)
        for laggard in metadata.laggards {
            let account =
                switch laggard.topic {
                case .refused: directory.refused
                case .others: directory.others
                // The bundle of the hash is known with its first record.
                default: known[laggard.topic] ?? TopicAccount(nil)
                }
            partition.inherit(laggard, from: start, account: account)
        }
        assigned[place.partition] = partition
    }

    /// The key of a partition's hashes: that of the commit, or a new one. Names of an earlier version, which have none,
    /// stay until an assignment begins without any.
    private func salt(under metadata: PositionMetadata) -> TopicSalt {
        metadata.salt == .none && metadata.laggards.isEmpty ? newSalt() : metadata.salt
    }

    /// Looks once more at partitions that stand.
    func lookAtStanding(now: MonotonicTime) {
        guard !standing.isEmpty, nextLookAtStanding <= now, revocation == nil else { return }
        // Redis answers soon; what an operator has to do takes longer.
        let isUndecided = standing.values.contains(.undecided)
        nextLookAtStanding = now + (isUndecided ? ShardLimits.retryInterval : ShardLimits.standingInterval)
        let places = standing.keys.sorted().map { KafkaTopicPartition(topic: requestsTopic, partition: $0) }
        starts.find(places) { [weak self] result in
            guard let self, !isStopping, case .success(let found) = result else { return }
            for start in found where standing[start.place.partition] != nil { release(start) }
        }
    }

    private func release(_ found: PartitionStarts.Start) {
        let start = begin(found)
        guard standing[start.partition] == nil else { return }
        do throws(KafkaError) {
            try consumer.seekWithoutWaiting(to: [start])
            try consumer.resume([start.place])
        } catch {
            logger.error("partition could not be resumed", metadata: ["error": "\(error)"])
        }
        onEvent(.changed)
    }

    // MARK: Going

    /// Gives back partitions that the group revokes. Lost ones belong to another member already: nothing of them is
    /// committed.
    ///
    /// - Parameter barriers: the ends of lanes that must be settled, asked for once nothing more is sent.
    func revoke(_ places: [KafkaTopicPartition], lost: Bool, barriers: () -> [LaneBarrier]) {
        openRevocations += 1
        starts.withdraw(places)
        for place in places { standing[place.partition] = nil }
        if lost { hasJoined = false }
        let leaving = places.compactMap { assigned[$0.partition] }
        logger.info(
            lost ? "partitions lost" : "partitions revoked",
            metadata: ["partitions": "\(places.map(\.partition).sorted())"]
        )
        if lost { lose(leaving) } else { startRevocation(of: leaving, within: revokeDeadline, barriers) }
    }

    /// Ends partitions that belong to another member already. Others that are being given back still settle and are
    /// committed, at a stop too.
    private func lose(_ partitions: [PartitionAssignment]) {
        for partition in partitions { partition.phase = .revoking }
        onEvent(.leaving(partitions.flatMap(\.sortedFeeds)))
        end(partitions)
        revocation?.partitions.removeAll { partition in partitions.contains { $0 === partition } }
        if revocation?.partitions.isEmpty ?? true { finishRevocation() }
    }

    /// Gives back all partitions: the worker stops.
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
        // A rebalance inside a drain adds nothing: all partitions are leaving already.
        let former = revocation
        revocationsBegun += 1
        revocation = Revocation(
            number: revocationsBegun,
            partitions: partitions.filter { partition in
                !(former?.partitions.contains { $0 === partition } ?? false)
            } + (former?.partitions ?? []),
            barriers: barriers(),
            settlesUntil: former?.settlesUntil ?? clock() + settlePatience,
            deadline: min(former?.deadline ?? MonotonicTime(nanoseconds: .max), clock() + limit)
        )
    }

    /// Gives the partitions back once everything in flight has settled and everything published is acknowledged.
    func finishRevocationIfSettled(now: MonotonicTime) {
        guard let revocation else { return }
        switch revocation.step {
        case .settling:
            let isAcknowledged = revocation.partitions.allSatisfy { partition in
                partition.feeds.values.allSatisfy { $0.unacknowledged == 0 }
            }
            let isSettled = revocation.barriers.allSatisfy(\.isPassed)
            // A topic that does not settle must not delay the partitions of other topics for longer.
            let isPatient = !isSettled && now < revocation.settlesUntil || !isAcknowledged
            guard !isPatient || revocation.deadline <= now || commits.isFenced else { return }
            if !(isSettled && isAcknowledged) {
                logger.warning("revocation timed out; the next owner sends notifications in flight again")
            }
            // Nothing that the group would still store: it has gone on without this member.
            guard !commits.isFenced else { return finishRevocation() }
            self.revocation?.step = .committing
            self.revocation?.deadline = now + ShardLimits.lastCommitPatience
            commits.commitLast(revocation.partitions) { [weak self] in
                // The answer may be that to a former revocation's commit, which was not waited for any longer.
                guard let present = self?.revocation, present.number == revocation.number,
                    case .committing = present.step
                else { return }
                self?.finishRevocation()
            }
        case .committing:
            if revocation.deadline <= now { finishRevocation() }
        }
    }

    private func finishRevocation() {
        let partitions = revocation?.partitions ?? []
        revocation = nil
        end(partitions)
        // Also at a stop: the group waits for the answer with the partitions of all members.
        let answers = openRevocations
        openRevocations = 0
        for _ in 0..<answers { answerRevocation() }
        if let whenDrained {
            isStopping = true
            starts.close()
            self.whenDrained = nil
            return whenDrained()
        }
        rejoiningSince = clock()
        onEvent(.changed)
    }

    private func answerRevocation() {
        do throws(KafkaError) {
            try consumer.completeRevoke()
        } catch {
            logger.error("partitions could not be given back", metadata: ["error": "\(error)"])
        }
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
}
