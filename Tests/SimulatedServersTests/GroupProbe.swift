import KafkaClient
import NIOCore
import NIOPosix
import PushTopics

@testable import BelfrySupport
@testable import SimulatedServers

/// The brokers that have to answer alike.
enum KafkaServer: CaseIterable {
    case embedded, simulated

    static let topic = "t"

    static func place(_ partition: Int32) -> KafkaTopicPartition {
        KafkaTopicPartition(topic: topic, partition: partition)
    }
}

/// A member of a group of the real or the simulated broker, and all that it heard. It is used on its event loop, and
/// closed there.
final class GroupProbe {
    struct Record: Equatable {
        var partition: Int32
        var offset: Int64
        var value: String
    }

    private(set) var assigned: [[Int32]] = []
    private(set) var revoked: [[Int32]] = []
    private(set) var records: [Record] = []
    /// Errors in place of records, with the offsets that they name.
    private(set) var errors: [(error: KafkaError, offset: Int64)] = []
    /// Answers to commits.
    private(set) var commits: [KafkaError?] = []

    let consumer: any GroupConsumer
    private let eventLoop: any EventLoop
    private let simulated: SimulatedMember?
    private let broker: EmbeddedBroker?
    /// Joins the group for a rebalance.
    private var other: KafkaConsumer?
    private var waiting: [(condition: (GroupProbe) -> Bool, promise: EventLoopPromise<Void>)] = []

    /// A member that is given partitions 0 and 1, of which these are the values.
    init(_ server: KafkaServer, _ values: [[String]], on eventLoop: any EventLoop) throws {
        self.eventLoop = eventLoop
        guard server == .embedded else {
            let member = SimulatedMember(on: eventLoop, topic: KafkaServer.topic)
            consumer = member
            simulated = member
            broker = nil
            for (partition, values) in zip(Int32(0)..., values) { member.logs[partition] = .init(values: values) }
            member.onAssigned = { [unowned self] in assigned.append($0.map(\.partition).sorted()) }
            member.onRevoked = { [unowned self] partitions, _ in revoked.append(partitions.map(\.partition).sorted()) }
            member.onReadable = { [unowned self] in take() }
            member.give(0, 1)
            return
        }
        let broker = try EmbeddedBroker(topics: [(KafkaServer.topic, 2)])
        let real = try Self.consumer(of: broker)
        consumer = real
        simulated = nil
        self.broker = broker
        for (partition, values) in zip(Int32(0)..., values) {
            for value in values { try publish(value, to: partition) }
        }
        real.onAssigned = { [unowned self] in assigned.append($0.map(\.partition).sorted()) }
        real.onRevoked = { [unowned self] partitions, _ in revoked.append(partitions.map(\.partition).sorted()) }
        try real.start(on: eventLoop) { [unowned self] in take() }
    }

    private static func consumer(of broker: EmbeddedBroker) throws -> KafkaConsumer {
        var settings = KafkaSettings()
        settings.brokers = broker.bootstrapServers
        settings.properties = [
            .init(name: "session.timeout.ms", value: "3000"), .init(name: "heartbeat.interval.ms", value: "200"),
        ]
        return try KafkaConsumer(
            properties: settings.consumerProperties(clientID: "test"),
            group: "g",
            topics: [KafkaServer.topic]
        )
    }

    func publish(_ value: String, to partition: Int32) throws {
        if let simulated { return simulated.publish(value, to: partition) }
        guard let broker else { return }
        let producer = try KafkaProducer(properties: ["bootstrap.servers": broker.bootstrapServers, "linger.ms": "1"])
        defer { producer.close() }
        try producer.produce(topic: KafkaServer.topic, partition: partition, key: [], value: Array(value.utf8))
        try producer.flush(timeoutMilliseconds: 30_000)
    }

    /// The group takes all partitions back, and takes no commit meanwhile.
    func rebalance() throws {
        simulated?.takeBack(0, 1)
        simulated?.commitError = .rebalanceInProgress
        guard let broker else { return }
        let other = try Self.consumer(of: broker)
        self.other = other
        try other.start(on: eventLoop) { [unowned other] in while other.consumeBatch(max: 10) != nil {} }
    }

    func commit(_ offsets: [KafkaPartitionOffset]) throws {
        try consumer.commit(offsets) { [unowned self] error in
            commits.append(error)
            tell()
        }
    }

    /// Takes all that is there.
    func take() {
        while let batch = consumer.consumeBatch(max: 100, timeoutMilliseconds: 0) {
            for index in 0..<batch.count {
                let message = batch[index]
                if let error = message.error {
                    errors.append((error, message.offset))
                } else {
                    let value = String(decoding: message.value, as: UTF8.self)
                    records.append(Record(partition: message.partition, offset: message.offset, value: value))
                }
            }
        }
        tell()
    }

    private func tell() {
        let met = waiting.filter { $0.condition(self) }
        waiting.removeAll { $0.condition(self) }
        for (_, promise) in met { promise.succeed() }
    }

    /// Succeeds when a condition holds.
    func when(_ condition: @escaping (GroupProbe) -> Bool) -> EventLoopFuture<Void> {
        let promise = eventLoop.makePromise(of: Void.self)
        waiting.append((condition, promise))
        tell()
        return promise.futureResult
    }

    func close() {
        consumer.close(timeoutMilliseconds: 5000)
        other?.close()
        broker?.close()
    }
}

/// Runs on a member of either broker.
func withGroup(
    of server: KafkaServer,
    _ values: [[String]],
    _ body: (GroupSteps) async throws -> Void
) async throws {
    let eventLoop = MultiThreadedEventLoopGroup.singleton.any()
    let probe = try await eventLoop.submit {
        NIOLoopBound(try GroupProbe(server, values, on: eventLoop), eventLoop: eventLoop)
    }.get()
    let steps = GroupSteps(eventLoop: eventLoop, probe: probe)
    do {
        try await body(steps)
    } catch {
        try await steps.run { $0.close() }
        throw error
    }
    try await steps.run { $0.close() }
}

/// The steps of a test, which runs outside of the event loop.
struct GroupSteps: Sendable {
    let eventLoop: any EventLoop
    let probe: NIOLoopBound<GroupProbe>

    @discardableResult
    func run<Value: Sendable>(_ body: @escaping @Sendable (GroupProbe) throws -> Value) async throws -> Value {
        try await eventLoop.submit { try body(probe.value) }.get()
    }

    func wait(_ condition: @escaping @Sendable (GroupProbe) -> Bool) async throws {
        try await eventLoop.flatSubmit { probe.value.when(condition) }.get()
    }

    /// Asks a question; its answer may not come before the call returns.
    func ask<Answer: Sendable>(
        _ question:
            @escaping @Sendable (any GroupConsumer, @escaping (Result<Answer, KafkaError>) -> Void) -> Void
    ) async throws -> Answer {
        try await eventLoop.flatSubmit {
            let promise = eventLoop.makePromise(of: Answer.self)
            var hasReturned = false
            question(probe.value.consumer) { answer in
                precondition(hasReturned, "an answer comes from inside the question")
                promise.completeWith(answer.mapError { $0 as any Error })
            }
            hasReturned = true
            return promise.futureResult
        }.get()
    }

    /// Waits for the assignment, and starts both partitions.
    func start(at offsets: [Int64]) async throws {
        try await wait { $0.assigned == [[0, 1]] }
        try await run { probe in
            try probe.consumer.completeAssign(
                zip(Int32(0)..., offsets).map { KafkaPartitionOffset(KafkaServer.place($0), offset: $1) }
            )
        }
    }
}
