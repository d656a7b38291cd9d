@testable import RedisClient

/// A reply of a Redis server that a test plays.
package enum ScriptedReply: Sendable {
    case null
    case integer(Int64)
    /// An array of integers.
    case integers([Int64])

    private static let limitBytes = 1 << 12

    /// Hands the reply to its reader. It is valid during the call.
    package func hand(to completion: RedisConnection.Completion) {
        var arena = ReplyArena(limitBytes: Self.limitBytes)
        defer { arena.deallocate() }
        guard let root = write(into: &arena) else {
            return completion(.failure(.notSent(reason: "the scripted reply is too large")))
        }
        withUnsafePointer(to: &arena) {
            completion(.success(RedisReply(arena: $0, index: root, generation: $0.pointee.generation)))
        }
    }

    /// - Returns: the position of the reply; nil: there is no room.
    private func write(into arena: inout ReplyArena) -> Int? {
        guard let root = arena.reserve(nodes: 1) else { return nil }
        switch self {
        case .null: arena.set(root, .init(kind: .null, count: 0, value: 0))
        case .integer(let number): arena.set(root, .init(kind: .integer, count: 0, value: number))
        case .integers(let numbers):
            guard let first = arena.reserve(nodes: numbers.count) else { return nil }
            arena.set(root, .init(kind: .array, count: UInt32(numbers.count), value: Int64(first)))
            for (index, number) in numbers.enumerated() {
                arena.set(first + index, .init(kind: .integer, count: 0, value: number))
            }
        }
        return root
    }
}
