@testable import RedisClient

/// A reply of a Redis server, and an owned copy of one.
enum SimulatedReply: Equatable, Sendable {
    case null
    case integer(Int64)
    case string([UInt8])
    case status(String)
    case array([SimulatedReply])
    case error(RedisError)

    static let wrongType = SimulatedReply.error(
        .server(prefix: "WRONGTYPE", message: "Operation against a key holding the wrong kind of value")
    )
    private static let limitBytes = 1 << 16

    static func integers(_ numbers: [Int64]) -> SimulatedReply { .array(numbers.map { .integer($0) }) }

    static func text(_ text: String) -> SimulatedReply { .string(Array(text.utf8)) }

    init(_ reply: RedisReply) {
        switch reply.kind {
        case .null: self = .null
        case .integer: self = .integer(reply.integer ?? 0)
        case .string: self = .string(Array(reply.bytes))
        case .status: self = .status(reply.string ?? "")
        case .array: self = .array((0..<reply.count).map { SimulatedReply(reply[$0]) })
        case .error: self = .error(reply.error ?? .closed)
        }
    }

    /// Hands the reply to its reader: an error as a failure. It is valid during the call.
    func hand(to completion: RedisConnection.Completion) {
        if case .error(let error) = self { return completion(.failure(error)) }
        var arena = ReplyArena(limitBytes: Self.limitBytes)
        defer { arena.deallocate() }
        guard let root = arena.reserve(nodes: 1), write(to: root, in: &arena) else {
            preconditionFailure("the simulated reply is too large")
        }
        withUnsafePointer(to: &arena) {
            completion(.success(RedisReply(arena: $0, index: root, generation: $0.pointee.generation)))
        }
    }

    /// - Returns: false: there is no room.
    private func write(to node: Int, in arena: inout ReplyArena) -> Bool {
        switch self {
        case .null: arena.set(node, .init(kind: .null, count: 0, value: 0))
        case .integer(let number): arena.set(node, .init(kind: .integer, count: 0, value: number))
        case .string(let bytes): return Self.write(bytes, .string, to: node, in: &arena)
        case .status(let text): return Self.write(Array(text.utf8), .status, to: node, in: &arena)
        case .error(let error): return Self.write(Array("\(error)".utf8), .error, to: node, in: &arena)
        case .array(let elements):
            guard let first = arena.reserve(nodes: elements.count) else { return false }
            arena.set(node, .init(kind: .array, count: UInt32(elements.count), value: Int64(first)))
            return elements.indices.allSatisfy { elements[$0].write(to: first + $0, in: &arena) }
        }
        return true
    }

    private static func write(
        _ bytes: [UInt8],
        _ kind: RedisReply.Kind,
        to node: Int,
        in arena: inout ReplyArena
    ) -> Bool {
        guard let place = bytes.withUnsafeBytes({ arena.append($0) }) else { return false }
        arena.set(node, .init(kind: kind, count: UInt32(bytes.count), value: Int64(place)))
        return true
    }
}
