import NIOCore
import NIOEmbedded
import PipelineCore
import PushTopics

@testable import BelfrySupport
@testable import KafkaClient

/// A member of a group and its log in memory, for an applier; the contract of `KafkaConsumer`.
///
/// The test plays the group. Reports are made from inside `consumeBatch`, and questions answered when the event loop
/// runs, as there.
final class ScriptedMember: GroupConsumer {
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
        case committed([Int32: Int64], (KafkaError?) -> Void)
    }

    static let topic = "push.registrations"
    static let failure = KafkaError(
        code: -185,
        name: "_TIMED_OUT",
        message: "scripted",
        isRetriable: true,
        isFatal: false
    )

    var onAssigned: ([KafkaTopicPartition]) -> Void = { _ in }
    var onRevoked: ([KafkaTopicPartition], _ lost: Bool) -> Void = { _, _ in }
    var onReadable: () -> Void = {}

    var logs: [Int32: Log] = [:]
    /// As the broker has them.
    var committed: [Int32: Int64] = [:]
    /// Questions fail.
    var isAway = false
    /// So many fetches to come cannot be read.
    var corruptFetches = 0
    /// Questions and commits are not answered.
    var isSilent = false
    /// Commits are refused.
    var refusesCommits = false
    /// Assignments cannot be carried out.
    var assignError: KafkaError?
    /// Records of a paused partition that come all the same, once: they were fetched before.
    var fetchedBeforePause: Int32?

    /// The start positions of each answer to assignments.
    private(set) var answers: [[Int32: Int64]] = []
    /// Answers to revocations.
    private(set) var revocations = 0
    /// Questions about committed positions: their partitions.
    private(set) var questions: [[Int32]] = []
    private(set) var commits: [[Int32: Int64]] = []
    private(set) var seeks: [[Int32: Int64]] = []
    private(set) var paused: Set<Int32> = []
    private(set) var isClosed = false
    /// The longest time without a poll.
    private(set) var longestSilence = Duration.zero

    private let eventLoop: EmbeddedEventLoop
    private var lastPoll: MonotonicTime
    private var reports: [Report] = []
    private var positions: [Int32: Int64] = [:]
    private var outOfRange: Set<Int32> = []

    init(on eventLoop: EmbeddedEventLoop) {
        self.eventLoop = eventLoop
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
        eventLoop.execute { [self] in
            if !isClosed { onReadable() }
        }
    }

    private static func place(_ partition: Int32) -> KafkaTopicPartition {
        KafkaTopicPartition(topic: topic, partition: partition)
    }

    // MARK: GroupConsumer

    func consumeBatch(max: Int, timeoutMilliseconds: Int32) -> KafkaBatch? {
        let now = MonotonicTime(eventLoop.now)
        longestSilence = Swift.max(longestSilence, lastPoll.elapsed(until: now))
        lastPoll = now
        while !reports.isEmpty { deliver(reports.removeFirst()) }
        for partition in positions.keys.sorted() {
            if corruptFetches > 0 {
                corruptFetches -= 1
                // BAD_MSG
                return error(-199, of: partition)
            }
            let isLate = fetchedBeforePause == partition
            guard isLate || !paused.contains(partition), !outOfRange.contains(partition) else { continue }
            if isLate { fetchedBeforePause = nil }
            if let batch = read(partition, max: max) { return batch }
        }
        return nil
    }

    private func deliver(_ report: Report) {
        switch report {
        case .assigned(let partitions): onAssigned(partitions.map(Self.place))
        case .revoked(let partitions, let lost): onRevoked(partitions.map(Self.place), lost)
        case .committed(let offsets, let completion):
            if !refusesCommits { committed.merge(offsets) { $1 } }
            completion(refusesCommits ? Self.failure : nil)
        }
    }

    private func read(_ partition: Int32, max: Int) -> KafkaBatch? {
        let log = logs[partition] ?? Log()
        guard let position = positions[partition] else { return nil }
        let next = position < 0 ? log.low : position
        guard (log.low...log.high).contains(next) else {
            outOfRange.insert(partition)
            return outOfRangeError(partition, at: next)
        }
        let values = log.values.dropFirst(Int(next - log.low)).prefix(max)
        guard !values.isEmpty else { return nil }
        positions[partition] = next + Int64(values.count)
        let records = values.enumerated().map { index, value in
            KafkaRecord(
                topic: Self.topic,
                partition: partition,
                offset: next + Int64(index),
                key: Array("key".utf8),
                value: Array(value.utf8)
            )
        }
        return KafkaBatch(records)
    }

    /// OFFSET_OUT_OF_RANGE
    private func outOfRangeError(_ partition: Int32, at offset: Int64) -> KafkaBatch {
        error(1, of: partition, at: offset)
    }

    private func error(_ code: Int32, of partition: Int32, at offset: Int64 = -1) -> KafkaBatch {
        let record = KafkaRecord(topic: Self.topic, partition: partition, offset: offset, key: nil, value: nil)
        let batch = KafkaBatch([record])
        batch.messages[0].pointee.err = .init(rawValue: code)
        return batch
    }

    func commit(_ offsets: [KafkaPartitionOffset], completion: ((KafkaError?) -> Void)?) throws(KafkaError) {
        let positions = Dictionary(uniqueKeysWithValues: offsets.map { ($0.partition, $0.offset) })
        commits.append(positions)
        guard !isSilent else { return }
        report(.committed(positions, completion ?? { _ in }))
    }

    func committed(
        _ partitions: [KafkaTopicPartition],
        timeoutMilliseconds: Int32,
        completion: @escaping (Result<[KafkaPartitionOffset], KafkaError>) -> Void
    ) {
        questions.append(partitions.map(\.partition))
        guard !isSilent else { return }
        eventLoop.execute { [self] in
            guard !isAway else { return completion(.failure(Self.failure)) }
            completion(
                .success(
                    partitions.map { place in
                        KafkaPartitionOffset(place, offset: committed[place.partition] ?? KafkaOffset.none)
                    }
                )
            )
        }
    }

    func completeAssign(_ positions: [KafkaPartitionOffset]) throws(KafkaError) {
        if let assignError { throw assignError }
        let starts = Dictionary(uniqueKeysWithValues: positions.map { ($0.partition, $0.offset) })
        answers.append(starts)
        self.positions.merge(starts) { $1 }
        wake()
    }

    func completeRevoke() throws(KafkaError) {
        revocations += 1
        positions = [:]
        paused = []
        outOfRange = []
    }

    func pause(_ partitions: [KafkaTopicPartition]) throws(KafkaError) {
        paused.formUnion(partitions.map(\.partition))
    }

    func resume(_ partitions: [KafkaTopicPartition]) throws(KafkaError) {
        paused.subtract(partitions.map(\.partition))
        wake()
    }

    func seekWithoutWaiting(to positions: [KafkaPartitionOffset]) throws(KafkaError) {
        let offsets = Dictionary(uniqueKeysWithValues: positions.map { ($0.partition, $0.offset) })
        seeks.append(offsets)
        self.positions.merge(offsets) { $1 }
        outOfRange.subtract(offsets.keys)
        wake()
    }

    func watermarks(
        of places: [KafkaTopicPartition],
        timeoutMilliseconds: Int32,
        completion: @escaping (Result<[KafkaWatermarks], KafkaError>) -> Void
    ) {
        guard !isSilent else { return }
        eventLoop.execute { [self] in
            guard !isAway else { return completion(.failure(Self.failure)) }
            completion(
                .success(
                    places.map { place in
                        let log = logs[place.partition] ?? Log()
                        return KafkaWatermarks(low: log.low, high: log.high)
                    }
                )
            )
        }
    }

    func cachedWatermarks(_ place: KafkaTopicPartition) -> KafkaWatermarks? { nil }

    func close(timeoutMilliseconds: Int32) -> Bool {
        isClosed = true
        return true
    }
}
