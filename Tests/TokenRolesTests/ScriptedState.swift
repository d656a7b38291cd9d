import NIOCore
import NIOEmbedded
import PushTopics

@testable import RedisClient

/// Token state that takes every change, or answers as it is told. Commands are answered when the event loop runs.
final class ScriptedState: RedisPipeline {
    /// Answers to changes of single tokens.
    var errors: [String: RedisError] = [:]
    /// Nothing is answered in time.
    var isAway = false
    /// The tokens that were changed, in order.
    private(set) var changed: [String] = []
    /// Changes that were asked for.
    private(set) var calls = 0
    private(set) var isClosed = false

    private let eventLoop: EmbeddedEventLoop
    private static let timeout = TimeAmount.seconds(1)

    init(on eventLoop: EmbeddedEventLoop) {
        self.eventLoop = eventLoop
    }

    var isReady: Bool { !isAway && !isClosed }

    func start() {}

    func close() { isClosed = true }

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
        calls += 1
        guard !isClosed else { return completion(.failure(.closed)) }
        var writer = RedisCommandWriter(buffer: ByteBuffer())
        writer.command("EVALSHA", argumentCount: keyCount + argumentCount)
        write(&writer)
        // EVALSHA, directory, bucket, number of buckets, token, …
        let token = Self.parse(writer.finish())[4]
        guard !isAway else {
            _ = eventLoop.scheduleTask(in: Self.timeout) { completion(.failure(.timeout(after: Self.timeout))) }
            return
        }
        eventLoop.execute { [self] in
            if let error = errors[token] { return completion(.failure(error)) }
            changed.append(token)
            Self.reply([1, 0, 0, 0, 1], completion)
        }
    }

    /// Answers with the facts about a token, and the number of its bucket's tokens.
    private static func reply(_ numbers: [Int64], _ completion: RedisConnection.Completion) {
        var arena = ReplyArena(limitBytes: 1 << 10)
        defer { arena.deallocate() }
        guard let root = arena.reserve(nodes: 1), let first = arena.reserve(nodes: numbers.count) else {
            return completion(.failure(.closed))
        }
        arena.set(root, .init(kind: .array, count: UInt32(numbers.count), value: Int64(first)))
        for (index, number) in numbers.enumerated() {
            arena.set(first + index, .init(kind: .integer, count: 0, value: number))
        }
        withUnsafePointer(to: &arena) {
            completion(.success(RedisReply(arena: $0, index: root, generation: $0.pointee.generation)))
        }
    }

    /// The words of one command: `*n`, then `$length` and bytes each.
    private static func parse(_ command: ByteBuffer) -> [String] {
        var buffer = command
        func number() -> Int {
            var value = 0
            while let byte = buffer.readInteger(as: UInt8.self), byte != UInt8(ascii: "\r") {
                if byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") { value = value * 10 + Int(byte & 15) }
            }
            buffer.moveReaderIndex(forwardBy: 1)
            return value
        }
        return (0..<number()).map { _ in
            let bytes = buffer.readBytes(length: number()) ?? []
            buffer.moveReaderIndex(forwardBy: 2)
            return String(decoding: bytes, as: UTF8.self)
        }
    }
}
