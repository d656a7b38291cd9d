import BelfrySupport
import Foundation
import KafkaClient
import NIOCore
import NIOPosix
import PushSchemas
import PushTopics
import ServiceLifecycle

/// `belfry outcomes`: prints what arrives in push.outcomes until it is told to stop or has printed enough.
///
/// It reads in a consumer group of its own without ever committing, so that it takes nothing away from other readers.
public struct OutcomeFollower: Service {
    /// The place to begin at.
    public enum Start: String, Sendable, CaseIterable {
        case beginning
        case end
    }

    /// The outcomes that are shown, and the end.
    public struct View: Sendable {
        /// With ``OutcomeFilter/since`` it begins at that time instead.
        public var start = Start.end
        public var filter = OutcomeFilter()
        /// Outcomes to show; nil: no limit.
        public var limit: Int?
        /// Ends when everything that is there was read.
        public var endsAtEnd = false
        /// Counts at the end, in place of the outcomes.
        public var onlyCounts = false
        public var asJSON = false

        public init() {}
    }

    private let settings: KafkaSettings
    private let view: View
    private let topic: String
    private let output: @Sendable ([UInt8]) -> Bool
    /// Begins to wait for what it is told.
    var beginWaiting: @Sendable (_ subject: String) -> WaitNotice = { WaitNotice($0) }

    /// - Parameter output: takes lines with their ends; false: the reader is gone, and the follower ends.
    public init(
        _ settings: KafkaSettings,
        _ view: View,
        output: @escaping @Sendable ([UInt8]) -> Bool = StandardStream.output.tryWrite
    ) {
        self.settings = settings
        self.view = view
        topic = TopicNames(settings).outcomes
        self.output = output
    }

    public func run() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let failure: (any Error)?
        do {
            try await follow(on: group.next())
            failure = nil
        } catch {
            failure = error
        }
        try await group.shutdownGracefully()
        if let failure { throw failure }
    }

    private func follow(on eventLoop: any EventLoop) async throws {
        let session = try await eventLoop.submit {
            let session = FollowerSession(
                consumer: try makeConsumer(),
                view: view,
                output: output,
                brokers: "the brokers at \(settings.brokers) to hand out \(topic)",
                beginWaiting: beginWaiting,
                ended: eventLoop.makePromise(of: Void.self)
            )
            session.begin(on: eventLoop)
            return NIOLoopBound(session, eventLoop: eventLoop)
        }.get()
        let ended = try await eventLoop.submit { session.value.ended.futureResult }.get()
        try await withGracefulShutdownHandler {
            try await withTaskCancellationHandler {
                try await ended.get()
            } onCancel: {
                eventLoop.execute { session.value.end() }
            }
        } onGracefulShutdown: {
            eventLoop.execute { session.value.end() }
        }
    }

    private func makeConsumer() throws(KafkaError) -> KafkaConsumer {
        var properties = settings.adminProperties(clientID: "belfry-outcomes")
        properties["enable.auto.commit"] = "false"
        properties["fetch.wait.max.ms"] = "100"
        if view.endsAtEnd { properties["enable.partition.eof"] = "true" }
        let group = GroupNames.follower(settings, id: UUID().uuidString.lowercased())
        let consumer = try KafkaConsumer(properties: properties, group: group, topics: [topic])
        consumer.onLog = { KafkaWords.tell($0) }
        return consumer
    }
}

/// The follower on its event loop.
private final class FollowerSession {
    private let consumer: KafkaConsumer
    private let view: OutcomeFollower.View
    private let output: ([UInt8]) -> Bool
    private let beginWaiting: (_ subject: String) -> WaitNotice
    /// Until partitions are assigned, and then until the first outcome comes.
    private var notice: WaitNotice
    /// Fulfilled when the consumer is closed: failed if Kafka was the reason.
    let ended: EventLoopPromise<Void>
    private var remaining: Int?
    private var hasPartitions = false
    private var positions = FollowerPositions()
    /// Partitions that are not read to their end; looked at only if the follower ends there.
    private var unfinished: Set<Int32> = []
    private var counts = OutcomeCounts()
    private var isEnded = false

    private static let batchLimit = 1000
    private static let timeoutMilliseconds: Int32 = 10_000

    init(
        consumer: KafkaConsumer,
        view: OutcomeFollower.View,
        output: @escaping ([UInt8]) -> Bool,
        brokers: String,
        beginWaiting: @escaping (_ subject: String) -> WaitNotice,
        ended: EventLoopPromise<Void>
    ) {
        self.consumer = consumer
        self.view = view
        remaining = view.limit
        self.output = output
        self.beginWaiting = beginWaiting
        notice = beginWaiting(brokers)
        self.ended = ended
    }

    func begin(on eventLoop: any EventLoop) {
        consumer.onAssigned = { [unowned self] partitions in
            // None: the Kafka topic is missing.
            if !partitions.isEmpty { beginWaitingForOutcomes() }
            unfinished = Set(partitions.map(\.partition))
            attempt { () throws(KafkaError) in
                try beginReading(partitions)
                let starts = partitions.map { KafkaPartitionOffset($0, offset: positions.start(of: $0.partition)) }
                try consumer.completeAssign(starts)
            }
        }
        consumer.onRevoked = { [unowned self] _, _ in
            attempt { () throws(KafkaError) in try consumer.completeRevoke() }
        }
        attempt { () throws(KafkaError) in
            try consumer.start(on: eventLoop) { [unowned self] in turn() }
        }
    }

    func end(_ error: KafkaError? = nil) {
        guard !isEnded else { return }
        isEnded = true
        notice.end()
        consumer.close()
        if view.onlyCounts, error == nil { _ = output(counts.lines(asJSON: view.asJSON)) }
        if let error { ended.fail(ToolError(error)) } else { ended.succeed() }
    }

    private func attempt(_ body: () throws(KafkaError) -> Void) {
        do throws(KafkaError) {
            try body()
        } catch {
            end(error)
        }
    }

    /// Finds the first message of partitions that are assigned for the first time. Later assignments go on behind what
    /// was read.
    private func beginReading(_ partitions: [KafkaTopicPartition]) throws(KafkaError) {
        let unknown = Set(positions.unknown(partitions.map(\.partition)))
        let new = partitions.filter { unknown.contains($0.partition) }
        guard !new.isEmpty else { return }
        let offsets = positions.areLatecomers ? new.map { _ in KafkaOffset.beginning } : try starts(of: new)
        for (place, offset) in zip(new, offsets) { positions.begin(place.partition, at: offset) }
    }

    private func starts(of partitions: [KafkaTopicPartition]) throws(KafkaError) -> [Int64] {
        guard view.start == .end || view.filter.since != nil else {
            return partitions.map { _ in KafkaOffset.beginning }
        }
        // By number: after a rebalance the end would be elsewhere, and what came in between would be passed over.
        var logs: [KafkaWatermarks] = []
        for place in partitions {
            logs.append(try consumer.watermarks(of: place, timeoutMilliseconds: Self.timeoutMilliseconds))
        }
        guard let since = view.filter.since else { return logs.map(\.high) }
        // The record of an outcome is written when it is decided, or later.
        let starts = try offsets(notBefore: since, in: partitions)
        guard starts.contains(KafkaOffset.end) else { return starts }
        // A broker that knows no times, like the embedded one, calls every record older than any time: all is read.
        let firsts = try offsets(notBefore: 0, in: partitions)
        return partitions.indices.map { index in
            guard starts[index] == KafkaOffset.end else { return starts[index] }
            let knowsTimes = logs[index].low == logs[index].high || firsts[index] != KafkaOffset.end
            return knowsTimes ? logs[index].high : logs[index].low
        }
    }

    private func offsets(
        notBefore time: Int64,
        in partitions: [KafkaTopicPartition]
    ) throws(KafkaError) -> [Int64] {
        try consumer.offsets(notBefore: time, in: partitions, timeoutMilliseconds: Self.timeoutMilliseconds)
    }

    private func turn() {
        while !isEnded, let batch = consumer.consumeBatch(max: Self.batchLimit) {
            var lines: [UInt8] = []
            var isFirst = true
            for index in 0..<batch.count where remaining != 0 {
                let message = batch[index]
                if let error = message.error {
                    if error.isPartitionEnd { unfinished.remove(message.partition) }
                    continue
                }
                positions.read(message.partition, message.offset)
                guard let shown = line(for: message) else { continue }
                if isFirst { notice.end() }
                isFirst = false
                lines += shown
                remaining? -= 1
            }
            if !output(lines) || remaining == 0 { return end() }
            if view.endsAtEnd, hasPartitions, unfinished.isEmpty { return end() }
        }
    }

    private func beginWaitingForOutcomes() {
        guard !hasPartitions else { return }
        hasPartitions = true
        notice.end()
        switch view.start {
        case .beginning: notice = beginWaiting("the first outcome")
        case .end where view.filter.since != nil: notice = beginWaiting("the first outcome")
        case .end: notice = beginWaiting("outcomes to come; --from beginning prints those that are there")
        }
    }

    /// The line of a message; nil: it is not to be shown, or only counted.
    private func line(for message: KafkaMessageView) -> [UInt8]? {
        do throws(RecordError) {
            let outcome: PushOutcome = try RequestDecoding.decode(from: message.value, as: message.contentType)
            guard view.filter.admits(outcome) else { return nil }
            guard !view.onlyCounts else {
                counts.count(outcome, view.filter)
                return []
            }
            let line = OutcomeLine(outcome)
            return view.asJSON ? line.json.line : Array((line.text + "\n").utf8)
        } catch {
            guard view.filter.isOpen, !view.onlyCounts else { return nil }
            var line = JSONLine()
            line.append("undecodable", error.message)
            line.append("partition", message.partition)
            line.append("offset", message.offset)
            return line.line
        }
    }
}
