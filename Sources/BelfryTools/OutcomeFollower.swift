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
/// It reads in a consumer group of its own without ever committing, so that it takes nothing away from anybody.
public struct OutcomeFollower: Service {
    /// The place to begin at.
    public enum Start: String, Sendable, CaseIterable {
        case beginning
        case end
    }

    private let settings: KafkaSettings
    private let start: Start
    private let limit: Int?
    private let asJSON: Bool
    private let topic: String
    private let output: @Sendable ([UInt8]) -> Bool
    /// Begins to wait for what it is told.
    var beginWaiting: @Sendable (_ subject: String) -> WaitNotice = { WaitNotice($0) }

    /// - Parameters:
    ///   - limit: how many outcomes to print; nil: no limit.
    ///   - output: takes lines with their ends; false: the reader is gone, and the follower ends.
    public init(
        _ settings: KafkaSettings,
        from start: Start,
        limit: Int?,
        asJSON: Bool,
        topic: String = TopicNames().outcomes,
        output: @escaping @Sendable ([UInt8]) -> Bool = StandardStream.output.tryWrite
    ) {
        self.settings = settings
        self.start = start
        self.limit = limit
        self.asJSON = asJSON
        self.topic = topic
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
                start: start,
                limit: limit,
                asJSON: asJSON,
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
        let group = "belfry-outcomes-\(UUID().uuidString.lowercased())"
        return try KafkaConsumer(properties: properties, group: group, topics: [topic])
    }
}

/// The follower on its event loop.
private final class FollowerSession {
    private let consumer: KafkaConsumer
    private let start: OutcomeFollower.Start
    private let asJSON: Bool
    private let output: ([UInt8]) -> Bool
    private let beginWaiting: (_ subject: String) -> WaitNotice
    /// Until partitions are assigned, and then until the first outcome comes.
    private var notice: WaitNotice
    /// Fulfilled when the consumer is closed: failed if Kafka was the reason.
    let ended: EventLoopPromise<Void>
    private var remaining: Int?
    private var hasPartitions = false
    private var isEnded = false

    private static let batchLimit = 1000

    init(
        consumer: KafkaConsumer,
        start: OutcomeFollower.Start,
        limit: Int?,
        asJSON: Bool,
        output: @escaping ([UInt8]) -> Bool,
        brokers: String,
        beginWaiting: @escaping (_ subject: String) -> WaitNotice,
        ended: EventLoopPromise<Void>
    ) {
        self.consumer = consumer
        self.start = start
        remaining = limit
        self.asJSON = asJSON
        self.output = output
        self.beginWaiting = beginWaiting
        notice = beginWaiting(brokers)
        self.ended = ended
    }

    func begin(on eventLoop: any EventLoop) {
        let offset = start == .beginning ? KafkaOffset.beginning : KafkaOffset.end
        consumer.onAssigned = { [unowned self] partitions in
            // None: the Kafka topic is missing.
            if !partitions.isEmpty { beginWaitingForOutcomes() }
            let positions = partitions.map {
                KafkaPartitionOffset(topic: $0.topic, partition: $0.partition, offset: offset, metadata: "")
            }
            attempt { () throws(KafkaError) in try consumer.completeAssign(positions) }
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
        if let error { ended.fail(ToolError(error)) } else { ended.succeed() }
    }

    private func attempt(_ body: () throws(KafkaError) -> Void) {
        do throws(KafkaError) {
            try body()
        } catch {
            end(error)
        }
    }

    private func turn() {
        while !isEnded, let batch = consumer.consumeBatch(max: Self.batchLimit) {
            var lines: [UInt8] = []
            for index in 0..<batch.count where remaining != 0 {
                let message = batch[index]
                guard message.error == nil else { continue }
                lines += line(for: message)
                remaining? -= 1
            }
            if !lines.isEmpty { notice.end() }
            if !output(lines) || remaining == 0 { return end() }
        }
    }

    private func beginWaitingForOutcomes() {
        guard !hasPartitions else { return }
        hasPartitions = true
        notice.end()
        switch start {
        case .beginning: notice = beginWaiting("the first outcome")
        case .end: notice = beginWaiting("outcomes to come; --from beginning prints those that are there")
        }
    }

    private func line(for message: KafkaMessageView) -> [UInt8] {
        let type = RecordContentType(header: message.header(RecordContentType.headerName))
        do throws(RecordError) {
            let outcome: PushOutcome = try RequestDecoding.decode(from: message.value, as: type)
            let line = OutcomeLine(outcome)
            return asJSON ? line.json.line : Array((line.text + "\n").utf8)
        } catch {
            var line = JSONLine()
            line.append("undecodable", error.message)
            line.append("partition", message.partition)
            line.append("offset", message.offset)
            return line.line
        }
    }
}
