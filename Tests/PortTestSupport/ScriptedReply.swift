@testable import RedisClient

/// A reply of a Redis server that a test plays.
package enum ScriptedReply: Sendable {
    case null
    case integer(Int64)
    case string([UInt8])
    /// An array of integers.
    case integers([Int64])
    /// An array of strings.
    case strings([String])

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
        case .string(let bytes):
            guard let place = bytes.withUnsafeBytes({ arena.append($0) }) else { return nil }
            arena.set(root, .init(kind: .string, count: UInt32(bytes.count), value: Int64(place)))
        case .integers(let numbers):
            guard let first = elements(numbers.count, of: root, in: &arena) else { return nil }
            for (index, number) in numbers.enumerated() {
                arena.set(first + index, .init(kind: .integer, count: 0, value: number))
            }
        case .strings(let texts):
            guard let first = elements(texts.count, of: root, in: &arena) else { return nil }
            for (index, text) in texts.enumerated() {
                guard let place = Array(text.utf8).withUnsafeBytes({ arena.append($0) }) else { return nil }
                arena.set(first + index, .init(kind: .string, count: UInt32(text.utf8.count), value: Int64(place)))
            }
        }
        return root
    }

    /// Makes an array; returns the position of its first element.
    private func elements(_ count: Int, of root: Int, in arena: inout ReplyArena) -> Int? {
        guard let first = arena.reserve(nodes: count) else { return nil }
        arena.set(root, .init(kind: .array, count: UInt32(count), value: Int64(first)))
        return first
    }
}
