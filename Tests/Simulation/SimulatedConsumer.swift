import PushTopics
import RequestLanes

@testable import KafkaClient
@testable import Sender
@testable import SimulatedServers

/// A worker's member of the group of its lane; the contract of `KafkaConsumer`.
///
/// Reports of the group are made from inside `consumeBatch`, as there.
final class SimulatedConsumer: GroupConsumer {
    private enum Report {
        case assigned([Int32])
        case revoked([Int32], lost: Bool)
        case committed(KafkaError?, SimulatedCommit)
    }

    /// The client's patience with an answer.
    private static let clientTimeout = VirtualTime.seconds(60)

    let number: Int
    let lane: RequestLane
    /// Partitions of the lane, by the numbers of ``LaneMap``, as everywhere here.
    let partitions: Range<Int32>
    let name: String
    let staticName: String?
    let traits: OwnerTraits
    /// Of the group, as far as this member knows.
    private(set) var generation = -1
    var onAssigned: (([KafkaTopicPartition]) -> Void)?
    var onRevoked: (([KafkaTopicPartition], Bool) -> Void)?
    var onReadable: (() -> Void)?

    unowned let world: World
    let loop: SimulatedEventLoop
    /// The assignment was completed, the revocation was not: by partition.
    private var positions: [Int32: LogPosition] = [:]
    /// Offset at which each partition began.
    private var starts: [Int32: Int64] = [:]
    /// The time at which the worker was told that the log of a partition that it has was cut.
    private(set) var toldOfCutAt: VirtualTime?
    /// Given by the group, be it that the shard does not know yet, and not given back.
    private var held: Set<Int32> = []
    private var paused: Set<Int32> = []
    private var reports: [Report] = []
    private var questions = RebalanceQuestions()
    /// Reported as revoked, not given back yet.
    private var leaving: Set<Int32> = []
    private var whenRevoked: (() -> Void)?
    /// The group has thrown it out while it was giving something back: the rest is lost after that.
    private var isLossPending = false
    /// Commits on their way, oldest first.
    private var commits: [SimulatedCommit] = []
    /// Partitions whose next record is not there: they stand until they are sought.
    private var outOfRange: Set<Int32> = []
    private var isWakeUnderWay = false
    /// Left, or its process is gone.
    private(set) var isGone = false
    /// Does not reach the group before this time.
    var unreachableUntil: VirtualTime = 0
    var commitFaults = SimulatedCommit.Faults()
    /// The next assignment cannot be completed.
    var failsAssignment = false

    init(
        world: World,
        loop: SimulatedEventLoop,
        lane: RequestLane,
        number: Int,
        name: String,
        staticName: String?,
        traits: OwnerTraits
    ) {
        self.world = world
        self.loop = loop
        self.lane = lane
        partitions = world.laneMap.partitions(of: lane)
        self.number = number
        self.name = name
        self.staticName = staticName
        self.traits = traits
    }

    var group: SimulatedGroup { world.broker.group(of: lane) }

    /// The number of a partition of the lane.
    func ordinal(of place: KafkaTopicPartition) -> Int32 { partitions.lowerBound + place.partition }

    private func place(of partition: Int32) -> KafkaTopicPartition { world.laneMap.place(of: partition) }

    // MARK: The group's side

    /// Partitions that another must not have yet.
    func holds(_ partition: Int32) -> Bool { held.contains(partition) }
    func owns(_ partition: Int32) -> Bool { positions[partition] != nil }
    func position(in partition: Int32) -> Int64? { positions[partition]?.offset }
    func tellOfCut() { toldOfCutAt = toldOfCutAt ?? world.clock.now }
    /// Partitions that it has and was not given.
    func surplus(over assignment: [Int32]) -> [Int32] { held.subtracting(assignment).subtracting(leaving).sorted() }

    /// Something of the group reaches the member when it can be reached.
    func hear(after delay: VirtualTime, _ body: @escaping () -> Void) {
        let reachable = max(unreachableUntil, world.broker.awayUntil)
        let wait = reachable > world.clock.now ? reachable - world.clock.now : 0
        loop.deliver(after: wait + delay) { [weak self] in
            if let self, !isGone { body() }
        }
    }

    /// A rebalance begins; `join` is called when this member is ready for the next generation.
    func prepareForRebalance(_ join: @escaping () -> Void) {
        guard !world.plan.options.isCooperative, !held.isEmpty else { return join() }
        revoke(held.sorted(), lost: false, then: join)
    }

    /// The next generation's assignment.
    func take(_ assignment: [Int32], generation: Int) {
        self.generation = generation
        let surplus = surplus(over: assignment)
        let added = assignment.filter { !held.contains($0) }
        held.formUnion(added)
        let kept = held.sorted()
        world.note(.assigned, number, added.count, "\(name) is given \(added), keeps \(kept), gives \(surplus)")
        if !surplus.isEmpty {
            revoke(surplus, lost: false) { [self] in group.rebalance(joining: self) }
        }
        if !added.isEmpty || held.isEmpty {
            reports.append(.assigned(added))
            wake()
        }
    }

    /// The group has thrown this member out; it begins anew.
    func lose() {
        world.note(.revoked, number, held.count, "\(name) has lost \(held.sorted())")
        generation = -1
        reports.removeAll { if case .committed = $0 { false } else { true } }
        guard whenRevoked == nil else {
            isLossPending = true
            whenRevoked = { [self] in group.join(self) }
            return
        }
        revoke(held.sorted(), lost: true) { [self] in group.join(self) }
    }

    private func revoke(_ partitions: [Int32], lost: Bool, then body: @escaping () -> Void) {
        // One at a time: what is being given back already is waited for.
        let isUnderWay = whenRevoked != nil
        whenRevoked = body
        guard !isUnderWay else { return }
        leaving.formUnion(partitions)
        reports.append(.revoked(partitions, lost: lost))
        wake()
    }

    /// Tells the owner that there is something to take.
    func wake() {
        guard !isWakeUnderWay, !isGone else { return }
        isWakeUnderWay = true
        loop.deliver(after: world.dice.time(0...3)) { [weak self] in
            guard let self, !isGone else { return }
            isWakeUnderWay = false
            onReadable?()
        }
    }

    /// The process is gone, without a word.
    func die() {
        isGone = true
        world.auditor.released(self, Array(positions.keys))
        positions = [:]
        held = []
        toldOfCutAt = nil
    }

    // MARK: The shard's side

    func consumeBatch(max: Int, timeoutMilliseconds: Int32) -> KafkaBatch? {
        deliverReports()
        let broker = world.broker
        guard !broker.isAway else { return nil }
        var records: [KafkaRecord] = []
        // Mostly there is nothing new.
        for (partition, stored) in zip(Int32(0)..., broker.partitions) {
            guard let position = positions[partition] else { continue }
            let isCut = broker.isCut(before: position, in: partition)
            guard isCut || position.offset < broker.end(of: partition) else { continue }
            guard !paused.contains(partition), !outOfRange.contains(partition), broker.answersFetches(of: partition)
            else { continue }
            let first = broker.place(of: position.offset, in: partition)
            let offset = isCut ? position.offset : stored[first].record.offset
            if isCut || offset < broker.low[Int(partition)] {
                guard records.isEmpty else { break }
                outOfRange.insert(partition)
                if isCut { tellOfCut() }
                world.note(.fetched, number, -1, "\(name): the next offset of \(partition) is out of range")
                return .failed(.offsetOutOfRange, at: offset, place(of: partition))
            }
            var next = first
            while next < stored.count, records.count < max, stored[next].time <= world.clock.now {
                records.append(traits.seen(stored[next].record))
                world.auditor.fetched(stored[next].ordinal, by: self)
                next += 1
            }
            guard next > first else { continue }
            positions[partition] = LogPosition(
                offset: stored[next - 1].record.offset + 1,
                isOfFormerLog: broker.cut?.partition != partition
            )
        }
        guard !records.isEmpty else { return nil }
        world.note(.fetched, number, records.count, "\(name) fetched \(records.count) records")
        return KafkaBatch(records)
    }

    private func deliverReports() {
        while !reports.isEmpty, !isGone {
            switch reports.removeFirst() {
            case .assigned(let partitions):
                questions.assign(partitions)
                world.auditor.heardAssignment(self)
                onAssigned?(partitions.map(place))
            case .revoked(let partitions, let lost):
                world.auditor.noteQuotas(of: self)
                questions.withdraw(partitions, isCooperative: world.plan.options.isCooperative)
                questions.revoke(partitions, lost: lost)
                if lost {
                    release(partitions)
                    world.auditor.fenced(self)
                }
                onRevoked?(partitions.map(place), lost)
            case .committed(let error, let commit): tell(commit, error)
            }
        }
    }

    private func start(_ partitions: [Int32], from offset: (Int32) -> Int64?) {
        group.movedAt = world.clock.now
        for partition in partitions where held.contains(partition) {
            let first = offset(partition) ?? KafkaOffset.beginning
            let start = first < 0 ? world.broker.low[Int(partition)] : first
            positions[partition] = LogPosition(offset: start)
            outOfRange.remove(partition)
            starts[partition] = start
            // One that stood still may hear of its assignment when the group has thrown it out.
            if group.contains(self) { world.auditor.assigned(self, partition) }
        }
        wake()
    }

    private func release(_ partitions: [Int32]) {
        group.movedAt = world.clock.now
        world.auditor.released(self, partitions.filter { positions[$0] != nil })
        if let cut = world.broker.cut, partitions.contains(cut.partition) { toldOfCutAt = nil }
        for partition in partitions {
            positions[partition] = nil
            held.remove(partition)
            leaving.remove(partition)
            paused.remove(partition)
        }
    }

    func completeAssign(_ offsets: [KafkaPartitionOffset]) throws(KafkaError) {
        guard !failsAssignment else {
            failsAssignment = false
            throw .fatal
        }
        guard let partitions = questions.takeAssign() else { return }
        start(partitions) { partition in offsets.first { ordinal(of: $0.place) == partition }?.offset }
    }

    func completeRevoke() throws(KafkaError) {
        guard let (partitions, _) = questions.takeRevoke() else { return }
        world.note(.revoked, number, partitions.count, "\(name) has given back \(partitions)")
        release(partitions)
        let body = whenRevoked
        whenRevoked = nil
        if isLossPending, let body {
            isLossPending = false
            return revoke(held.sorted(), lost: true, then: body)
        }
        if let body { hear(after: world.dice.time(1...20), body) }
    }

    func commit(_ offsets: [KafkaPartitionOffset], completion: ((KafkaError?) -> Void)?) throws(KafkaError) {
        guard !isGone else { throw .alreadyClosed }
        let now = world.clock.now
        guard commitFaults.throwsUntil <= now else { throw .queueFull }
        let deferral = commitFaults.deferral(now: now)
        let commit = SimulatedCommit(
            offsets: offsets,
            sentAt: now,
            generation: deferral > 0 ? generation : nil,
            isOnTheWire: deferral > 0 && !commitFaults.deferred.isInClient,
            completion: completion
        )
        commits.append(commit)
        world.note(.committing, number, offsets.count, "\(name) commits: \(world.ledgers(of: self))")
        world.auditor.commitSent(self)
        world.clock.after(deferral + world.broker.roundTrip()) { [self] in arriveFirstCommit() }
    }

    /// The oldest commit on its way comes to its end.
    private func arriveFirstCommit() {
        guard !commits.isEmpty else { return }
        let commit = commits.removeFirst()
        guard !isGone else {
            if commit.isOnTheWire { _ = submit(commit) }
            return
        }
        if world.clock.now < commitFaults.unanswered.until {
            if commitFaults.unanswered.isApplied { _ = submit(commit) }
            return loop.deliver(after: Self.clientTimeout) { [weak self] in
                guard let self, !isGone else { return }
                answer(commit, .timedOut)
            }
        }
        let error = submit(commit)
        let late = world.clock.now < commitFaults.answersLateUntil ? world.dice.time(500...9000) : 0
        hear(after: late + world.dice.time(1...10)) { [self] in
            answer(commit, error)
        }
    }

    /// The answer has a signal of its own, as with a `KafkaConsumer`, or comes as late as with the next call.
    private func answer(_ commit: SimulatedCommit, _ error: KafkaError?) {
        if world.plan.options.answersApart { return tell(commit, error) }
        reports.append(.committed(error, commit))
        wake()
    }

    private func tell(_ commit: SimulatedCommit, _ error: KafkaError?) {
        world.auditor.commitAnswered(self, error, sentAt: commit.sentAt)
        commit.completion?(error)
    }

    private func submit(_ commit: SimulatedCommit) -> KafkaError? {
        if world.clock.now < unreachableUntil { return .timedOut }
        let isLost = world.clock.now < commitFaults.lost.until
        guard !isLost || commitFaults.lost.isApplied else { return .timedOut }
        let error = world.broker.commit(commit.offsets, by: self, in: commit.generation ?? generation)
        return isLost ? .timedOut : error
    }

    func pause(_ partitions: [KafkaTopicPartition]) throws(KafkaError) {
        paused.formUnion(partitions.map(ordinal))
    }

    /// Now and then some records come once more, as they do with librdkafka.
    func resume(_ partitions: [KafkaTopicPartition]) throws(KafkaError) {
        for partition in partitions.map(ordinal).sorted() where paused.remove(partition) != nil {
            guard let position = positions[partition], let start = starts[partition] else { continue }
            // Dice of its own: the worker does not choose the order in which partitions are resumed.
            var dice = Dice(seed: world.plan.seed ^ world.clock.now, stream: UInt64(partition))
            guard dice.chance(25) else { continue }
            let place = world.broker.place(of: position.offset, in: partition)
            let back = max(world.broker.place(of: start, in: partition), place - dice.pick(1...4))
            guard back < place else { continue }
            positions[partition]?.offset = world.broker.partitions[Int(partition)][back].record.offset
        }
        wake()
    }

    func seekWithoutWaiting(to positions: [KafkaPartitionOffset]) throws(KafkaError) {
        for position in positions {
            let partition = ordinal(of: position.place)
            guard owns(partition) else { continue }
            outOfRange.remove(partition)
            self.positions[partition] = LogPosition(offset: max(0, position.offset))
        }
        wake()
    }

    func nextRound(_ body: @escaping () -> Void) {
        loop.assumeIsolated().scheduleTask(in: .socketTurn) { [self] in
            if !isGone { body() }
        }
    }

    /// Leaves the group; a static member's place is kept for it.
    func close(timeoutMilliseconds: Int32) -> Bool {
        guard !isGone else { return true }
        die()
        let group = group
        if staticName == nil {
            group.remove(self)
        } else {
            world.clock.after(SimulatedGroup.sessionTimeout) { [self] in group.remove(self) }
        }
        return true
    }
}
