import NIOCore
import PushTopics

@testable import KafkaClient
@testable import RedisClient

/// The Redis of a world of appliers.
final class ApplyingRedis {
    /// Tokens whose text begins so are refused for good.
    static let refused = "refused"

    /// The tokens that were registered.
    private(set) var registered: Set<String> = []
    /// Nothing is answered before this time.
    var awayUntil: VirtualTime = 0

    /// Registers a token.
    func register(_ token: String) -> RedisError? {
        guard !token.hasPrefix(Self.refused) else {
            return .server(prefix: "WRONGTYPE", message: "Operation against a key holding the wrong kind of value")
        }
        registered.insert(token)
        return nil
    }
}

/// An applier's connection to Redis.
final class ApplyingPipeline: RedisPipeline {
    private unowned let world: ApplyingWorld
    private let loop: SimulatedEventLoop
    /// Counts connections, so that a reply to a former one is not taken for one of this.
    private var connection = 0
    private var isClosed = false

    private static let timeoutMilliseconds = 1000

    init(world: ApplyingWorld, loop: SimulatedEventLoop) {
        self.world = world
        self.loop = loop
    }

    var isReady: Bool { !isClosed }

    func start() {}

    func close() { isClosed = true }

    func lose() { connection += 1 }

    func send(
        slot: RedisSlot,
        _ write: (inout RedisCommandWriter) -> Void,
        _ completion: @escaping RedisConnection.Completion
    ) {
        completion(.failure(.notSent(reason: "an applier calls scripts only")))
    }

    func evaluate(
        _ script: RedisScript,
        slot: RedisSlot,
        keyCount: Int,
        argumentCount: Int,
        _ write: (inout RedisCommandWriter) -> Void,
        _ completion: @escaping RedisConnection.Completion
    ) {
        guard !isClosed else { return completion(.failure(.closed)) }
        var writer = RedisCommandWriter(buffer: ByteBuffer())
        writer.command("EVALSHA", argumentCount: keyCount + argumentCount)
        write(&writer)
        // EVALSHA, directory, bucket, number of buckets, token, …
        let token = Self.word(4, of: writer.finish())
        let isAway = world.clock.now < world.redis.awayUntil
        let delay = isAway ? VirtualTime.milliseconds(Self.timeoutMilliseconds) : world.dice.time(0...5)
        loop.deliver(after: delay) { [weak self, connection] in
            guard let self, !isClosed else { return }
            guard !isAway else {
                return completion(.failure(.timeout(after: .milliseconds(Int64(Self.timeoutMilliseconds)))))
            }
            guard connection == self.connection else {
                if world.dice.chance(50) { _ = world.redis.register(token) }
                return completion(.failure(.maybeExecuted(reason: "connection lost")))
            }
            if let error = world.redis.register(token) { return completion(.failure(error)) }
            Self.reply([1, 0, 0, 0, 1], completion)
        }
    }

    private static func reply(_ numbers: [Int64], _ completion: RedisConnection.Completion) {
        var arena = ReplyArena(limitBytes: 1 << 10)
        defer { arena.deallocate() }
        guard let root = arena.reserve(nodes: 1), let first = arena.reserve(nodes: numbers.count) else { return }
        arena.set(root, .init(kind: .array, count: UInt32(numbers.count), value: Int64(first)))
        for (index, number) in numbers.enumerated() {
            arena.set(first + index, .init(kind: .integer, count: 0, value: number))
        }
        withUnsafePointer(to: &arena) {
            completion(.success(RedisReply(arena: $0, index: root, generation: $0.pointee.generation)))
        }
    }

    /// One word of a command in the protocol's text form: `*n`, then `$length` and bytes each.
    private static func word(_ index: Int, of command: ByteBuffer) -> String {
        var buffer = command
        func number() -> Int {
            var value = 0
            while let byte = buffer.readInteger(as: UInt8.self), byte != UInt8(ascii: "\r") {
                if byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") { value = value * 10 + Int(byte & 15) }
            }
            buffer.moveReaderIndex(forwardBy: 1)
            return value
        }
        _ = number()
        for _ in 0..<index { buffer.moveReaderIndex(forwardBy: number() + 2) }
        return String(decoding: buffer.readBytes(length: number()) ?? [], as: UTF8.self)
    }
}

/// An applier's producer: dead letters reach the broker in order, now and then one is refused.
final class ApplyingProducer: MessageProducer {
    var onDelivery: (UInt64, KafkaError?) -> Void = { _, _ in }
    var onReadable: () -> Void = {}
    private unowned let world: ApplyingWorld
    private let loop: SimulatedEventLoop
    private var reports: [(opaque: UInt64, error: KafkaError?)] = []
    private var isClosed = false

    init(world: ApplyingWorld, loop: SimulatedEventLoop) {
        self.world = world
        self.loop = loop
    }

    func produce(
        topic name: String,
        partition: Int32?,
        key: UnsafeRawBufferPointer,
        value: UnsafeRawBufferPointer,
        headers: [(String, [UInt8])],
        opaque: UInt64
    ) throws(KafkaError) {
        func number(_ name: String) -> Int64 {
            headers.first { $0.0 == name }.flatMap { Int64(String(decoding: $0.1, as: UTF8.self)) } ?? -1
        }
        let place = ApplyingBroker.Place(
            partition: Int32(truncatingIfNeeded: number("source-partition")),
            offset: number("source-offset")
        )
        let isRefused = world.dice.chance(5)
        world.clock.after(world.broker.roundTrip()) { [weak self, world] in
            if !isRefused { world.broker.store(place) }
            self?.answer(opaque, isRefused ? KafkaError.purged : nil)
        }
    }

    /// Tombstones: none of the changes makes one.
    func produce(
        topic name: String,
        partition: Int32?,
        key: [UInt8]?,
        value: [UInt8]?,
        headers: [(String, [UInt8])],
        opaque: UInt64
    ) throws(KafkaError) {
        answer(opaque, nil)
    }

    private func answer(_ opaque: UInt64, _ error: KafkaError?) {
        loop.deliver(after: world.dice.time(1...10)) { [weak self] in
            guard let self, !isClosed else { return }
            reports.append((opaque, error))
            onReadable()
        }
    }

    func poll(timeoutMilliseconds: Int32) {
        while !reports.isEmpty {
            let report = reports.removeFirst()
            onDelivery(report.opaque, report.error)
        }
    }

    func close(flushMilliseconds: Int32) { isClosed = true }
}
