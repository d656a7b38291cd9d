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
        case leaving([AppFeed])
        /// Feeds have ended.
        case over([AppFeed])
        /// A partition can be read, or could be given back.
        case changed
        /// An assignment could not be carried out, and the client takes no other answer to it.
        case failed(KafkaError)
    }

    typealias Member = GroupMember<EarlierLife.Start>

    /// Called for every event, after the change.
    var onEvent: (Event) -> Void = { _ in }

    let feeds: FeedTable
    let memory: ShardMemory
    let commits: Commits
    let directory: AppDirectory
    let member: Member
    private let consumer: any GroupConsumer
    private let earlierLife: EarlierLife
    /// As they were at the start.
    private let settings: ShardSettings
    let logger: Logger

    /// The assigned partitions, by number.
    private(set) var assigned: [Int32: PartitionAssignment] = [:] {
        didSet { inOrder = nil }
    }
    /// The assigned partitions in order, for every turn needs them; nil: not sorted yet.
    private var inOrder: [PartitionAssignment]?
    /// Assigned partitions that are not read, each with the reason.
    private(set) var standing: [Int32: ShardReport.Standing] = [:]
    private var nextLookAtStanding: MonotonicTime
    /// The ends of the lanes that must be settled before partitions are given back.
    private var barriers: [LaneBarrier] = []
    /// Called at a stop when everything is committed, or cannot be.
    private var whenDrained: (() -> Void)?

    init(
        consumer: any GroupConsumer,
        earlierLife: EarlierLife,
        settings: ShardSettings,
        directory: AppDirectory,
        feeds: FeedTable,
        memory: ShardMemory,
        commits: Commits,
        logger: Logger,
        clock: @escaping () -> MonotonicTime
    ) {
        self.consumer = consumer
        self.earlierLife = earlierLife
        self.settings = settings
        self.directory = directory
        self.feeds = feeds
        self.memory = memory
        self.commits = commits
        self.logger = logger
        nextLookAtStanding = clock()
        // A stopped worker stays in its group until all its shards are drained.
        member = GroupMember(
            consumer: consumer,
            topic: settings.names.requests,
            machine: MembershipStateMachine(limits: .init(settings), stays: true),
            logger: logger,
            clock: clock
        )
        member.findStarts = { earlierLife.findStarts(of: $0, $1) }
        member.begin = { [unowned self] in $0.map(begin) }
        member.work = { [unowned self] in work() }
        member.commitLast = { [unowned self] in commits.commitLast($0.compactMap { assigned[$0] }, then: $1) }
        member.onEvent = { [unowned self] in handle($0) }
    }

    func use(_ changed: ShardSettings) { member.use(.init(changed)) }

    /// Partitions being fed, in order.
    var active: [PartitionAssignment] {
        let all = inOrder ?? assigned.values.sorted { $0.number < $1.number }
        inOrder = all
        return all.allSatisfy { $0.phase == .active } ? all : all.filter { $0.phase == .active }
    }

    /// An assignment, possibly empty, was answered, and none was lost or came since.
    var hasJoined: Bool { member.machine.hasJoined && !member.machine.isAssignmentOpen }

    /// The shard has its place in the group.
    var isInGroup: Bool { hasJoined && member.isInGroup }

    private func handle(_ event: Member.Event) {
        switch event {
        case .assigned(let partitions):
            // If that fails, messages of those that stand are ignored all the same.
            let mustStand = partitions.filter { standing[$0] != nil }
            if !mustStand.isEmpty { _ = member.pause(true, mustStand) }
            onEvent(.changed)
        case .failed(let error):
            onEvent(.failed(error))
            onEvent(.changed)
        case .abandoned(let partitions):
            // Others are fetched anew.
            guard partitions.allSatisfy({ assigned[$0]?.phase == .revoking }) else { return }
            logger.warning("revocation timed out; the next owner sends notifications in flight again")
        case .ended(let partitions):
            for partition in partitions { standing[partition] = nil }
            end(partitions.compactMap { assigned[$0] })
        case .revoked:
            barriers = []
            if whenDrained == nil { onEvent(.changed) }
        case .left:
            let body = whenDrained
            whenDrained = nil
            body?()
        }
    }

    // MARK: Coming

    /// Takes an assignment of the group; the partitions start at their last commit.
    func assign(_ places: [KafkaTopicPartition]) {
        // Not when the positions are known: the group's assignment may be old by then.
        commits.assigned()
        member.assign(places)
    }

    /// Begins an assignment.
    ///
    /// - Returns: the start of its live reader.
    private func begin(_ start: EarlierLife.Start) -> KafkaPartitionOffset {
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
        let isNear = position.offset - lowest <= settings.nearRecords
        let start = isNear ? min(lowest, position.offset) : position.offset
        add(position.place, metadata, isMixed: isMixed, offset: position.offset, start: start)
        return KafkaPartitionOffset(position.place, offset: start)
    }

    /// Reads the metadata of a committed offset, and prepares it for this owner's decoder.
    ///
    /// - Returns: nil: the partition must stand; `isMixed`: see ``PartitionAssignment/isMixed``.
    private func read(_ position: KafkaPartitionOffset) -> (metadata: PositionMetadata, isMixed: Bool)? {
        var metadata = PositionMetadata()
        var place: Logger.Metadata = ["partition": "\(position.partition)", "offset": "\(position.offset)"]
        do throws(PositionMetadata.DecodingError) {
            metadata = try PositionMetadata(decoding: position.metadata, committedOffset: position.offset)
        } catch {
            switch error {
            case .missing:
                logger.critical("committed offset has no metadata: set by hand; starting there", metadata: place)
            case .unknownVersion, .malformed:
                logger.critical(
                    "commit metadata is not understood; the partition stands until its offset is set",
                    metadata: place
                )
                return nil
            case .madeFor(let offset, _):
                place["made_for"] = "\(offset)"
                logger.critical(
                    "commit metadata was made for another offset; the partition stands until its offset is set",
                    metadata: place
                )
                return nil
            }
        }
        let isMixed = metadata.adapt(to: settings.decoderEdition, committedOffset: position.offset)
        if isMixed, metadata.refused != nil {
            logger.warning(
                "refused records of a former owner may be of any topic; notifications may be sent again",
                metadata: place
            )
        }
        return (metadata, isMixed)
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
            lane: settings.lane,
            claimedAt: settings.unixMilliseconds(),
            salt: salt(under: metadata),
            doneBelow: offset,
            edition: settings.decoderEdition,
            isMixed: isMixed,
            mostRefused: settings.topicLimits.refused,
            table: feeds,
            budget: memory,
            nearBytes: settings.nearBytes
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
                default: known[laggard.topic] ?? AppAccount(nil)
                }
            partition.inherit(laggard, from: start, account: account)
        }
        assigned[place.partition] = partition
    }

    /// The key of a partition's hashes: that of the commit, or a new one. Names of an earlier version, which have none,
    /// stay until an assignment begins without any.
    private func salt(under metadata: PositionMetadata) -> AppSalt {
        metadata.salt == .none && metadata.laggards.isEmpty ? settings.newSalt() : metadata.salt
    }

    /// Looks once more at partitions that stand.
    func lookAtStanding(now: MonotonicTime) {
        guard !standing.isEmpty, nextLookAtStanding <= now, !member.isGivingBack else { return }
        // Redis answers soon; what an operator has to do takes longer.
        let isUndecided = standing.values.contains(.undecided)
        nextLookAtStanding = now + (isUndecided ? ShardLimits.retryInterval : ShardLimits.standingInterval)
        let places = standing.keys.sorted().map { KafkaTopicPartition(topic: settings.names.requests, partition: $0) }
        earlierLife.findStarts(of: places) { [weak self] result in
            guard let self, !member.machine.hasLeft, case .success(let found) = result else { return }
            for start in found where standing[start.place.partition] != nil { release(start) }
        }
    }

    private func release(_ found: EarlierLife.Start) {
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

    /// Pauses partitions while there is no room, so that polling brings events only. Those whose log was cut stay so.
    func pause(_ isBlocked: Bool) {
        func rests(_ partition: PartitionAssignment) -> Bool { isBlocked || partition.isCut }
        guard assigned.values.contains(where: { $0.isPaused != rests($0) }) else { return }
        for partition in active where partition.isPaused != rests(partition) {
            if member.pause(rests(partition), [partition.number]) { partition.isPaused = rests(partition) }
        }
    }

    func watermarks(of partition: PartitionAssignment) -> KafkaWatermarks? {
        consumer.cachedWatermarks(partition.place)
    }

    // MARK: Going

    /// Gives back partitions that the group revokes. Lost ones belong to another member already: nothing of them is
    /// committed.
    ///
    /// - Parameter barriers: the ends of lanes that must be settled, asked for once nothing more is sent.
    func revoke(_ places: [KafkaTopicPartition], lost: Bool, barriers: () -> [LaneBarrier]) {
        for place in places { standing[place.partition] = nil }
        stopSending(places.compactMap { assigned[$0.partition] })
        if !lost { self.barriers = barriers() }
        member.revoke(places, lost: lost)
    }

    /// Gives back all partitions: the worker stops.
    func drain(barriers: () -> [LaneBarrier], then body: @escaping () -> Void) {
        whenDrained = body
        stopSending(Array(assigned.values))
        self.barriers = barriers()
        member.stop()
    }

    private func stopSending(_ partitions: [PartitionAssignment]) {
        for partition in partitions { partition.phase = .revoking }
        onEvent(.leaving(partitions.flatMap(\.sortedFeeds)))
    }

    /// Partitions are given back once everything in flight has settled and everything published is acknowledged.
    private func work() -> MembershipStateMachine.Work {
        let inHand = assigned.values.filter { partition in
            partition.phase == .revoking && partition.feeds.values.contains { $0.unacknowledged > 0 }
        }
        return .init(
            inHand: Set(inHand.map(\.number)),
            isSettled: barriers.allSatisfy(\.isPassed),
            isFenced: commits.isFenced
        )
    }

    private func end(_ partitions: [PartitionAssignment]) {
        var over: [AppFeed] = []
        for partition in partitions {
            if assigned[partition.number] === partition { assigned[partition.number] = nil }
            commits.forget(partition.number)
            over += partition.end()
        }
        onEvent(.over(over))
        if assigned.isEmpty { commits.lostAll() }
    }
}

extension MembershipStateMachine.Limits {
    fileprivate init(_ settings: ShardSettings) {
        self.init(
            settle: settings.settlePatience,
            revoke: settings.revokeDeadline,
            stop: settings.stopTimeout,
            commit: ShardLimits.lastCommitPatience
        )
    }
}
