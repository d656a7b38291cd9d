import NIOCore
import PipelineCore
import PushTopics

@testable import BelfrySupport
@testable import KafkaClient

/// A member of a group, and its log in memory; the contract of `KafkaConsumer`.
///
/// The test plays the group. Its reports are made from inside `consumeBatch`; questions and commits are answered when
/// the event loop runs.
final class SimulatedMember: GroupConsumer {
    /// The log of one partition.
    struct Log {
        var low: Int64 = 0
        /// The records from `low` on.
        var values: [String] = []

        var high: Int64 { low + Int64(values.count) }
    }

    private enum Report {
        case assigned([Int32])
        case revoked([Int32], lost: Bool)
    }

    private typealias Commit = (offsets: [KafkaPartitionOffset], completion: ((KafkaError?) -> Void)?)

    let topic: String
    var onAssigned: ([KafkaTopicPartition]) -> Void = { _ in }
    var onRevoked: ([KafkaTopicPartition], _ lost: Bool) -> Void = { _, _ in }
    var onReadable: () -> Void = {}

    // MARK: The broker

    var logs: [Int32: Log] = [:]
    /// Batches that come before anything else, whatever the positions.
    var batches: [KafkaBatch] = []
    /// Offsets at which every partition without a log begins, and ends; nil: where the group has committed.
    var start: Int64 = 0
    var end: Int64?
    /// Offset at which every partition is known to end without asking; nil: none.
    var cachedEnd: Int64?
    /// The group's positions, as the broker has them.
    var committed: [KafkaTopicPartition: KafkaPartitionOffset] = [:]
    /// The position of every other partition, and its metadata.
    var committedOffset = KafkaOffset.none
    var metadata = ""

    // MARK: Troubles

    /// Questions fail.
    var isAway = false
    /// Questions and commits are not answered.
    var isSilent = false
    /// Commits are answered, with ``commitError`` if there is one.
    var answersCommits = true
    var commitError: KafkaError?
    /// Assignments cannot be carried out.
    var assignError: KafkaError?
    /// So many fetches to come cannot be read.
    var corruptFetches = 0
    /// Records of a paused partition that come all the same, once: they were fetched before.
    var fetchedBeforePause: Int32?

    // MARK: Calls of the owner

    /// The start positions of each answer to assignments.
    private(set) var answers: [[KafkaPartitionOffset]] = []
    /// Answers to revocations.
    private(set) var revocations = 0
    private(set) var commits: [[KafkaPartitionOffset]] = []
    private(set) var seeks: [KafkaPartitionOffset] = []
    private(set) var paused: Set<KafkaTopicPartition> = []
    private(set) var isClosed = false
    /// The longest time without a poll.
    private(set) var longestSilence = Duration.zero

    private let eventLoop: any EventLoop
    private var lastPoll: MonotonicTime
    private var reports: [Report] = []
    private var questions = RebalanceQuestions()
    private var positions: [Int32: Int64] = [:]
    private var outOfRange: Set<Int32> = []
    private var unanswered: [Commit] = []

    init(on eventLoop: any EventLoop, topic: String) {
        self.eventLoop = eventLoop
        self.topic = topic
        lastPoll = MonotonicTime(eventLoop.now)
    }

    // MARK: The group

    func give(_ partitions: Int32...) { report(.assigned(partitions)) }

    func takeBack(_ partitions: Int32..., lost: Bool = false) { report(.revoked(partitions, lost: lost)) }

    /// Appends records to partition 0, or another.
    func publish(_ values: String..., to partition: Int32 = 0) {
        logs[partition, default: Log()].values += values
        wake()
    }

    private func report(_ report: Report) {
        reports.append(report)
        wake()
    }

    private func wake() {
        eventLoop.assumeIsolated().execute { [self] in
            if !isClosed { onReadable() }
        }
    }

    func place(_ partition: Int32) -> KafkaTopicPartition { KafkaTopicPartition(topic: topic, partition: partition) }

    /// Answers the commits that were not.
    func answerCommits() {
        answer(unanswered)
        unanswered = []
    }

    /// Answers the latest commit before the others.
    func answerLastCommit() { answer(unanswered.popLast().map { [$0] } ?? []) }

    private func answer(_ commits: [Commit]) {
        eventLoop.assumeIsolated().execute { [self, commitError] in
            for (offsets, completion) in commits {
                if commitError == nil { for offset in offsets { committed[offset.place] = offset } }
                completion?(commitError)
            }
        }
    }

    // MARK: GroupConsumer

    func consumeBatch(max: Int, timeoutMilliseconds: Int32) -> KafkaBatch? {
        let now = MonotonicTime(eventLoop.now)
        longestSilence = Swift.max(longestSilence, lastPoll.elapsed(until: now))
        lastPoll = now
        while !reports.isEmpty { deliver(reports.removeFirst()) }
        if !batches.isEmpty { return batches.removeFirst() }
        for partition in positions.keys.sorted() where !questions.isLeaving(partition) {
            if corruptFetches > 0 {
                corruptFetches -= 1
                return .failed(.badMessage, at: -1, place(partition))
            }
            let isLate = fetchedBeforePause == partition
            guard isLate || !paused.contains(place(partition)), !outOfRange.contains(partition) else { continue }
            if isLate { fetchedBeforePause = nil }
            if let batch = read(partition, max: max) { return batch }
        }
        return nil
    }

    private func deliver(_ report: Report) {
        switch report {
        case .assigned(let partitions):
            questions.assign(partitions)
            onAssigned(partitions.map(place))
        case .revoked(let partitions, let lost):
            questions.withdraw(partitions, isCooperative: true)
            questions.revoke(partitions, lost: lost)
            onRevoked(partitions.map(place), lost)
        }
    }

    private func read(_ partition: Int32, max: Int) -> KafkaBatch? {
        guard let log = logs[partition], let position = positions[partition] else { return nil }
        let next = position < 0 ? log.low : position
        guard (log.low...log.high).contains(next) else {
            outOfRange.insert(partition)
            return .failed(.offsetOutOfRange, at: next, place(partition))
        }
        let values = log.values.dropFirst(Int(next - log.low)).prefix(max)
        guard !values.isEmpty else { return nil }
        positions[partition] = next + Int64(values.count)
        let records = values.enumerated().map { index, value in
            KafkaRecord(
                topic: topic,
                partition: partition,
                offset: next + Int64(index),
                key: Array("key".utf8),
                value: Array(value.utf8)
            )
        }
        return KafkaBatch(records)
    }

    func commit(_ offsets: [KafkaPartitionOffset], completion: ((KafkaError?) -> Void)?) throws(KafkaError) {
        commits.append(offsets)
        unanswered.append((offsets, completion))
        if answersCommits, !isSilent { answerCommits() }
    }

    func committed(
        _ partitions: [KafkaTopicPartition],
        timeoutMilliseconds: Int32,
        completion: @escaping (Result<[KafkaPartitionOffset], KafkaError>) -> Void
    ) {
        ask(completion) { [self] in
            partitions.map {
                committed[$0] ?? KafkaPartitionOffset($0, offset: committedOffset, metadata: metadata)
            }
        }
    }

    func completeAssign(_ positions: [KafkaPartitionOffset]) throws(KafkaError) {
        if let assignError { throw assignError }
        answers.append(positions)
        // A test may have told the owner itself.
        let assigned = questions.takeAssign() ?? positions.map(\.partition)
        for position in positions where assigned.contains(position.partition) {
            self.positions[position.partition] = position.offset
        }
        wake()
    }

    func completeRevoke() throws(KafkaError) {
        revocations += 1
        for partition in questions.takeRevoke()?.partitions ?? [] {
            positions[partition] = nil
            paused.remove(place(partition))
            outOfRange.remove(partition)
        }
    }

    func pause(_ partitions: [KafkaTopicPartition]) throws(KafkaError) { paused.formUnion(partitions) }

    func resume(_ partitions: [KafkaTopicPartition]) throws(KafkaError) {
        paused.subtract(partitions)
        wake()
    }

    func seekWithoutWaiting(to positions: [KafkaPartitionOffset]) throws(KafkaError) {
        seeks += positions
        for position in positions {
            self.positions[position.partition] = position.offset
            outOfRange.remove(position.partition)
        }
        wake()
    }

    func watermarks(
        of places: [KafkaTopicPartition],
        timeoutMilliseconds: Int32,
        completion: @escaping (Result<[KafkaWatermarks], KafkaError>) -> Void
    ) {
        ask(completion) { [self] in places.map(extent) }
    }

    /// Other Kafka topics are empty.
    private func extent(_ place: KafkaTopicPartition) -> KafkaWatermarks {
        guard place.topic == topic else { return KafkaWatermarks(low: 0, high: 0) }
        if let log = logs[place.partition] { return KafkaWatermarks(low: log.low, high: log.high) }
        let known = committed[place]?.offset ?? committedOffset
        return KafkaWatermarks(low: start, high: end ?? max(start, known))
    }

    private func ask<Answer>(
        _ completion: @escaping (Result<Answer, KafkaError>) -> Void,
        _ answer: @escaping () -> Answer
    ) {
        guard !isSilent else { return }
        eventLoop.assumeIsolated().execute { [self] in completion(isAway ? .failure(.timedOut) : .success(answer())) }
    }

    func cachedWatermarks(_ place: KafkaTopicPartition) -> KafkaWatermarks? {
        cachedEnd.map { KafkaWatermarks(low: start, high: $0) }
    }

    func nextRound(_ body: @escaping () -> Void) {
        eventLoop.assumeIsolated().scheduleTask(in: .socketTurn) { [self] in
            if !isClosed { body() }
        }
    }

    func close(timeoutMilliseconds: Int32) -> Bool {
        isClosed = true
        return true
    }
}
