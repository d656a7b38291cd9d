import PushTopics

@testable import KafkaClient
@testable import SimulatedServers

/// An applier's member of the group; the contract of `KafkaConsumer`.
final class ApplyingMember: GroupConsumer {
    private enum Report {
        case assigned([Int32])
        case revoked([Int32], lost: Bool)
        case committed(KafkaError?, ((KafkaError?) -> Void)?)

        var isRebalance: Bool {
            if case .committed = self { false } else { true }
        }
    }

    /// Differs from all others in the world.
    let number: Int
    /// The static member's; nil: it is none.
    let name: Int?
    unowned let log: ApplyingLog
    private(set) var generation = -1
    private(set) var isGone = false
    var onAssigned: ([KafkaTopicPartition]) -> Void = { _ in }
    var onRevoked: ([KafkaTopicPartition], _ lost: Bool) -> Void = { _, _ in }
    var onReadable: () -> Void = {}

    private unowned let world: ApplyingWorld
    private let loop: SimulatedEventLoop
    /// Given by the group and not given back.
    private var held: Set<Int32> = []
    /// The partitions whose assignment was answered, with the next offset; negative: the beginning.
    private var positions: [Int32: Int64] = [:]
    private var starts: [Int32: Int64] = [:]
    private var paused: Set<Int32> = []
    private var outOfRange: Set<Int32> = []
    /// Not delivered yet.
    private var reports: [Report] = []
    /// Delivered, and not answered.
    private var questions = RebalanceQuestions() {
        didSet { unansweredSince = questions.isEmpty ? nil : unansweredSince ?? world.clock.now }
    }
    /// Since when there is something without an answer.
    private var unansweredSince: VirtualTime?
    /// Called when everything is answered.
    private var whenFree: (() -> Void)?
    private var lastPoll: VirtualTime

    init(log: ApplyingLog, world: ApplyingWorld, loop: SimulatedEventLoop, number: Int, name: Int?) {
        self.log = log
        self.world = world
        self.loop = loop
        self.number = number
        self.name = name
        lastPoll = world.clock.now
    }

    func holds(_ partition: Int32) -> Bool { held.contains(partition) }

    /// Partitions given by the group and not given back.
    var heldCount: Int { held.count }

    var title: String { "member \(number) of \(log.source.topic)" }

    // MARK: The group's side

    /// Something of the broker reaches the member, when it can be reached.
    func hear(after delay: VirtualTime, _ body: @escaping () -> Void) {
        loop.deliver(after: world.broker.wait + delay) { [weak self] in
            if let self, !isGone { body() }
        }
    }

    /// A rebalance begins; `join` is called when this member is ready for the next generation.
    func prepare(_ join: @escaping () -> Void) {
        whenFree = { [unowned self] in
            guard !world.options.isCooperative, !held.isEmpty else { return join() }
            whenFree = join
            report(.revoked(held.sorted(), lost: false))
        }
        goOnIfFree()
    }

    func take(_ assignment: [Int32], generation: Int) {
        self.generation = generation
        let surplus = held.subtracting(assignment).sorted()
        let added = assignment.filter { !held.contains($0) }
        held.formUnion(added)
        world.note(.assigned, number, added.count, "\(title): \(assignment) assigned, \(added) of it new")
        if !surplus.isEmpty { report(.revoked(surplus, lost: false)) }
        if !added.isEmpty || surplus.isEmpty { report(.assigned(added)) }
    }

    /// The group has thrown this member out; it begins anew.
    func lose() {
        generation = -1
        reports.removeAll(where: \.isRebalance)
        whenFree = { [unowned self] in log.group.join(self) }
        report(.revoked(held.sorted(), lost: true))
    }

    /// The process is gone, without a word.
    func die() {
        isGone = true
        held = []
        positions = [:]
        whenFree = nil
    }

    private func report(_ report: Report) {
        reports.append(report)
        wake()
    }

    func wake() {
        loop.deliver(after: world.dice.time(0...3)) { [weak self] in
            if let self, !isGone { onReadable() }
        }
    }

    private func goOnIfFree() {
        guard questions.isEmpty, !reports.contains(where: \.isRebalance), let body = whenFree else { return }
        whenFree = nil
        body()
    }

    // MARK: The applier's side

    func consumeBatch(max: Int, timeoutMilliseconds: Int32) -> KafkaBatch? {
        guard !isGone else { return nil }
        world.auditor.polled(
            self,
            since: Swift.max(lastPoll, loop.heldUntil),
            unansweredSince: unansweredSince.map { Swift.max($0, loop.heldUntil) }
        )
        lastPoll = world.clock.now
        while !reports.isEmpty, !isGone { deliver(reports.removeFirst()) }
        guard !world.broker.isAway else { return nil }
        for partition in positions.keys.sorted() where !paused.contains(partition) && !outOfRange.contains(partition) {
            if let batch = read(partition, max: Swift.min(max, world.dice.pick(1...20))) { return batch }
        }
        return nil
    }

    private func deliver(_ report: Report) {
        world.delivers(to: self)
        switch report {
        case .assigned(let partitions):
            questions.assign(partitions)
            onAssigned(partitions.map(place))
        case .revoked(let partitions, let lost):
            questions.withdraw(partitions, isCooperative: world.options.isCooperative)
            questions.revoke(partitions, lost: lost)
            if lost { for partition in partitions { positions[partition] = nil } }
            onRevoked(partitions.map(place), lost)
        case .committed(let error, let completion):
            completion?(error)
        }
    }

    private func read(_ partition: Int32, max: Int) -> KafkaBatch? {
        guard let position = positions[partition] else { return nil }
        let stored = log[partition]
        let next = position < 0 ? stored.low : position
        guard (stored.low...stored.high).contains(next) else {
            outOfRange.insert(partition)
            // librdkafka tells the offset that the broker refused.
            return .failed(.offsetOutOfRange, at: next, place(partition))
        }
        let entries = stored.entries.dropFirst(Int(next)).prefix(max)
        guard !entries.isEmpty else { return nil }
        positions[partition] = next + Int64(entries.count)
        world.note(.fetched, number, entries.count, "\(title) reads \(entries.count) of \(partition) from \(next)")
        // There may be more, which gives no sign of its own.
        return KafkaBatch(entries.enumerated().map { record($1, partition, offset: next + Int64($0)) })
    }

    private func record(_ entry: ApplyingLog.Entry, _ partition: Int32, offset: Int64) -> KafkaRecord {
        KafkaRecord(
            topic: log.source.topic,
            partition: partition,
            offset: offset,
            key: entry.key,
            value: entry.value,
            timestampMilliseconds: ApplyingRecord.published * 1000
        )
    }

    func commit(_ offsets: [KafkaPartitionOffset], completion: ((KafkaError?) -> Void)?) throws(KafkaError) {
        guard !isGone else { throw .alreadyClosed }
        world.clock.after(world.broker.roundTrip()) { [weak self, generation] in
            // One on its way arrives, even if its process is gone.
            guard let self else { return }
            let error = world.broker.commit(offsets, by: self, generation: generation)
            hear(after: world.dice.time(1...10)) { [self] in report(.committed(error, completion)) }
        }
    }

    func completeAssign(_ offsets: [KafkaPartitionOffset]) throws(KafkaError) {
        for partition in questions.takeAssign() ?? [] where held.contains(partition) {
            let start = offsets.first { $0.partition == partition }?.offset ?? KafkaOffset.beginning
            positions[partition] = start
            starts[partition] = start
            outOfRange.remove(partition)
            paused.remove(partition)
        }
        wake()
        goOnIfFree()
    }

    func completeRevoke() throws(KafkaError) {
        guard let (partitions, lost) = questions.takeRevoke() else { return }
        for partition in partitions { positions[partition] = nil }
        held.subtract(partitions)
        paused.subtract(partitions)
        outOfRange.subtract(partitions)
        world.note(.revoked, number, partitions.count, "\(title) gives \(partitions) back")
        // A cooperative member that gives partitions up asks for the next round.
        if world.options.isCooperative, !lost {
            hear(after: world.dice.time(1...20)) { [self] in
                if log.group.contains(self) { log.group.rebalance() }
            }
        }
        goOnIfFree()
    }

    func pause(_ partitions: [KafkaTopicPartition]) throws(KafkaError) {
        paused.formUnion(partitions.map(\.partition))
    }

    /// Now and then some records come once more, as they do with librdkafka.
    func resume(_ partitions: [KafkaTopicPartition]) throws(KafkaError) {
        for partition in partitions.map(\.partition).sorted() where paused.remove(partition) != nil {
            guard let position = positions[partition], position >= 0, world.dice.chance(25) else { continue }
            positions[partition] = max(0, starts[partition] ?? 0, position - Int64(world.dice.pick(1...4)))
        }
        wake()
    }

    func seekWithoutWaiting(to offsets: [KafkaPartitionOffset]) throws(KafkaError) {
        for offset in offsets where positions[offset.partition] != nil {
            positions[offset.partition] = offset.offset
            starts[offset.partition] = offset.offset
            outOfRange.remove(offset.partition)
        }
        wake()
    }

    func committed(
        _ partitions: [KafkaTopicPartition],
        timeoutMilliseconds: Int32,
        completion: @escaping (Result<[KafkaPartitionOffset], KafkaError>) -> Void
    ) {
        ask(completion) { [log] in
            partitions.map { place in
                let stored = log[place.partition]
                return KafkaPartitionOffset(
                    place,
                    offset: stored.committed ?? KafkaOffset.none,
                    metadata: stored.metadata
                )
            }
        }
    }

    func watermarks(
        of places: [KafkaTopicPartition],
        timeoutMilliseconds: Int32,
        completion: @escaping (Result<[KafkaWatermarks], KafkaError>) -> Void
    ) {
        ask(completion) { [self] in places.map(extent) }
    }

    func cachedWatermarks(_ place: KafkaTopicPartition) -> KafkaWatermarks? { extent(place) }

    private func extent(_ place: KafkaTopicPartition) -> KafkaWatermarks {
        KafkaWatermarks(low: log[place.partition].low, high: log[place.partition].high)
    }

    private func ask<Answer>(
        _ completion: @escaping (Result<Answer, KafkaError>) -> Void,
        _ answer: @escaping () -> Answer
    ) {
        loop.deliver(after: world.dice.time(1...15)) { [weak self] in
            guard let self, !isGone else { return }
            completion(world.broker.isAway ? .failure(.timedOut) : .success(answer()))
        }
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
        if name == nil { log.group.remove(self) } else { expire() }
        return true
    }

    /// The group does not hear of the member any more, and throws it out when the session is over.
    func expire(_ then: @escaping () -> Void = {}) {
        world.clock.after(ApplyingGroup.sessionTimeout) { [self] in
            guard log.group.contains(self) else { return }
            log.group.remove(self)
            then()
        }
    }

    private func place(_ partition: Int32) -> KafkaTopicPartition {
        KafkaTopicPartition(topic: log.source.topic, partition: partition)
    }
}
