import KafkaClient
import Logging
import NIOCore
import NIOPosix
import PipelineCore
import PushSchemas
import PushTopics
import RedisClient
import Synchronization
import TokenState

@testable import BelfrySupport
@testable import PipelineTestSupport
@testable import TokenRoles

/// A ``RecordApplier`` with real clients, for tests. Records are registrations of the key that their value names, or
/// `bad…`, which is judged good when it is decoded once more.
final class ApplierProbe: Sendable {
    static let source = "push.registrations"
    static let deadLetters = "push.dead-letters"
    static let group = "applier"

    let eventLoop: any EventLoop
    /// One for each commit that was answered.
    private let commits: AsyncStream<Void>
    /// One for each assignment of the group.
    private let assignments: AsyncStream<Void>
    /// The messages of warnings and errors.
    private let complaints: AsyncStream<String>
    private let state: NIOLoopBound<State>
    private let topic: String

    /// Stands still unless it is set.
    final class Clock: Sendable {
        private let seconds = Atomic<UInt64>(0)

        var now: MonotonicTime { MonotonicTime(nanoseconds: seconds.load(ordering: .acquiring) * 1_000_000_000) }

        func set(seconds: UInt64) {
            self.seconds.store(seconds, ordering: .releasing)
        }
    }

    private struct State {
        var applier: RecordApplier
        var consumer: KafkaConsumer
        var redis: any RedisPipeline
    }

    /// - Parameters:
    ///   - deadLetterBroker: where dead letters go, if not to the source's broker.
    ///   - replayPorts: servers of the state, after whose fail-over what was applied is applied again; nil: the one at
    ///     `redisPort`, and nothing is.
    ///   - clock: by which something was applied lately.
    ///   - keeper: set, it applies push.tombstones.
    ///   - decoder: what is to read records that are those of the real topic.
    ///   - onDecode: called for each record taken, before anything of it is applied, on the event loop.
    init(
        broker: String,
        deadLetterBroker: String? = nil,
        redisPort: Int = 0,
        replayPorts: [Int]? = nil,
        properties: [KafkaSettings.Property] = [],
        clock: Clock = Clock(),
        keeper: TombstoneDecoder? = nil,
        decoder: RegistrationDecoder? = nil,
        onDecode: @escaping @Sendable (_ value: String) -> Void = { _ in }
    ) async throws {
        let (commits, committed) = AsyncStream<Void>.makeStream()
        let (assignments, assigned) = AsyncStream<Void>.makeStream()
        let (complaints, complained) = AsyncStream<String>.makeStream()
        self.commits = commits
        self.assignments = assignments
        self.complaints = complaints
        let logger = Logger(label: "test") { _ in ComplaintHandler { complained.yield($0) } }
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        self.eventLoop = eventLoop
        let topic = keeper == nil ? Self.source : TopicNames().tombstones
        self.topic = topic
        state = try await eventLoop.submit {
            var refused: Set<String> = []
            let servers = replayPorts.map { Self.servers($0, on: eventLoop) }
            let redis: any RedisPipeline =
                servers ?? RedisConnection(configuration: Self.redis(port: redisPort), eventLoop: eventLoop)
            let (consumer, producer) = try Self.clients(
                consuming: topic,
                from: broker,
                producingTo: deadLetterBroker ?? broker,
                properties: properties
            )
            let applier = RecordApplier(
                eventLoop: eventLoop,
                clients: .init(consumer: consumer, producer: producer, redis: redis, layout: TokenStore.layout),
                source: topic,
                names: TopicNames(),
                batchLimit: 100,
                logger: logger,
                patience: .seconds(3600),
                replay: servers.map {
                    RecordReplay(redis: $0, window: .seconds(600), topic: topic, logger: logger, now: { clock.now })
                },
                publishes: keeper == nil
            ) { message throws(RecordRefusal) in
                let value = String(decoding: message.value, as: UTF8.self)
                onDecode(value)
                if let keeper { return try keeper.changes(for: message) }
                if let decoder { return try decoder.changes(for: message) }
                if value.hasPrefix("bad"), refused.insert(value).inserted {
                    throw RecordRefusal(reason: "is-bad", detail: "it says so")
                }
                return [.of(Array(value.utf8), .register(at: 1, TokenTexts()))]
            }
            consumer.onAssigned = { [unowned applier] in
                applier.assign($0)
                assigned.yield()
            }
            consumer.onRevoked = { [unowned applier] in applier.revoke($0, lost: $1) }
            consumer.onCommitted = { if $0 == nil { committed.yield() } }
            producer.onDelivery = { [unowned applier] number, error, _, _ in
                applier.delivered(number, error: error)
            }
            redis.start()
            try consumer.start(on: eventLoop) { [unowned applier] in applier.turn() }
            try producer.start(on: eventLoop) { [unowned applier] in applier.turn() }
            applier.start()
            return NIOLoopBound(State(applier: applier, consumer: consumer, redis: redis), eventLoop: eventLoop)
        }.get()
    }

    var counters: RecordApplier.Counters {
        get async throws { try await eventLoop.submit { [state] in state.value.applier.counters }.get() }
    }

    /// Offset that the group has committed; nil: none. A commit that was begun before is seen: both take the same way.
    var committed: Int64? {
        get async throws {
            try await eventLoop.submit { [state, topic] in
                let place = KafkaTopicPartition(topic: topic, partition: 0)
                let offset = try state.value.consumer.committed([place], timeoutMilliseconds: 10_000)[0].offset
                return offset == KafkaOffset.none ? nil : offset
            }.get()
        }
    }

    func commit() async {
        for await _ in commits { return }
    }

    /// Returns when the group has made one more assignment, possibly empty.
    func assignment() async {
        for await _ in assignments { return }
    }

    /// The partitions whose records this one applies now.
    var partitions: [Int32] {
        get async throws {
            try await eventLoop.submit { [state] in state.value.applier.partitions.map(\.number) }.get()
        }
    }

    /// Returns when so many lines with this message have been logged.
    func complaints(_ message: String, count: Int = 1) async {
        var left = count
        for await line in complaints where line == message {
            left -= 1
            if left == 0 { return }
        }
    }

    /// Returns when so many changes have been applied; each look takes a round trip to Redis.
    func applied(_ count: Int) async throws {
        while try await counters.applied < count {
            try await roundTrip()
        }
    }

    /// One round trip to Redis: others get their turn.
    func roundTrip() async throws {
        try await eventLoop.flatSubmit { [state, eventLoop] in
            let promise = eventLoop.makePromise(of: Void.self)
            state.value.redis.send(slot: RedisSlot(number: 0)) {
                $0.command("PING", argumentCount: 0)
            } _: { _ in
                promise.succeed()
            }
            return promise.futureResult
        }.get()
    }

    /// Lets everything run that is ready to run.
    func turn() async throws {
        for _ in 0..<10 { try await eventLoop.submit {}.get() }
    }

    func beginStop() -> EventLoopFuture<Void> {
        eventLoop.flatSubmit { [state] in state.value.applier.stop() }
    }

    private static func servers(_ ports: [Int], on eventLoop: any EventLoop) -> RedisCluster {
        let seeds = ports.map { RedisEndpoint(host: "127.0.0.1", port: $0) }
        let configuration = RedisCluster.Configuration(seeds: seeds) { Self.redis(port: $0.port) }
        return RedisCluster(configuration: configuration, eventLoop: eventLoop)
    }

    private static func redis(port: Int) -> RedisConnection.Configuration {
        var configuration = RedisConnection.Configuration(endpoint: RedisEndpoint(host: "127.0.0.1", port: port))
        configuration.delay = { _ in .milliseconds(5) }
        // Soon enough in vain while no server is there.
        configuration.commandTimeout = .milliseconds(200)
        return configuration
    }

    private static func clients(
        consuming topic: String,
        from source: String,
        producingTo target: String,
        properties: [KafkaSettings.Property]
    ) throws -> (KafkaConsumer, KafkaProducer) {
        var settings = KafkaSettings()
        settings.brokers = source
        // The embedded broker lets a group that was left by all wait for a second less before it takes a new member.
        settings.properties = [
            .init(name: "session.timeout.ms", value: "3000"), .init(name: "heartbeat.interval.ms", value: "500"),
        ]
        let consumer = try KafkaConsumer(
            properties: settings.consumerProperties(clientID: "test"),
            group: group,
            topics: [topic]
        )
        settings.brokers = target
        settings.properties = [.init(name: "reconnect.backoff.max.ms", value: "100")] + properties
        let producer = try KafkaProducer(properties: settings.producerProperties(clientID: "test"))
        return (consumer, producer)
    }
}

private struct ComplaintHandler: LogHandler {
    var logLevel = Logger.Level.warning
    var metadata: Logger.Metadata = [:]
    let output: @Sendable (String) -> Void

    init(_ output: @escaping @Sendable (String) -> Void) {
        self.output = output
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) { output(event.message.description) }
}
