/// One reply, or one element of an array reply: a borrowed view of the parser's result.
///
/// Valid only during the completion that receives it, and on that thread: the memory is reused for the next reply.
/// Using it later traps as long as the connection lives, and is undefined after that. Copy parts that are needed later.
public struct RedisReply {
    /// The types of RESP2.
    public enum Kind: UInt8, Sendable {
        /// `+OK`
        case status
        /// `$5…`
        case string
        /// `:42`
        case integer
        /// `*2…`
        case array
        /// `$-1` or `*-1`: there is no such value.
        case null
        /// `-ERR …`, only inside an array: at the top it is ``RedisError/server(prefix:message:)``.
        case error
    }

    @usableFromInline let arena: UnsafePointer<ReplyArena>
    @usableFromInline let index: Int
    @usableFromInline let generation: UInt

    @inlinable
    init(arena: UnsafePointer<ReplyArena>, index: Int, generation: UInt) {
        self.arena = arena
        self.index = index
        self.generation = generation
    }

    @inlinable
    var node: ReplyArena.Node {
        precondition(arena.pointee.generation == generation, "a reply was used after its completion returned")
        return arena.pointee.nodes[index]
    }

    @inlinable public var kind: Kind { node.kind }

    @inlinable public var isNull: Bool { node.kind == .null }

    /// The value of an integer reply; nil for every other kind.
    @inlinable public var integer: Int64? {
        let node = node
        return node.kind == .integer ? node.value : nil
    }

    /// The bytes of a string, status or error; empty for every other kind. Lives as long as the reply.
    @inlinable public var bytes: UnsafeRawBufferPointer {
        let node = node
        switch node.kind {
        case .string, .status, .error:
            return UnsafeRawBufferPointer(start: arena.pointee.bytes + Int(node.value), count: Int(node.count))
        case .integer, .array, .null:
            return UnsafeRawBufferPointer(start: nil, count: 0)
        }
    }

    /// The number of elements of an array; 0 for every other kind.
    @inlinable public var count: Int {
        let node = node
        return node.kind == .array ? Int(node.count) : 0
    }

    /// The element at `position`, from 0 to `count` - 1. Anything else traps.
    @inlinable
    public subscript(position: Int) -> RedisReply {
        let node = node
        precondition(node.kind == .array && position >= 0 && position < Int(node.count), "no such element")
        return RedisReply(arena: arena, index: Int(node.value) + position, generation: generation)
    }

    /// A copy of a string, status or error as text (invalid UTF-8 becomes U+FFFD); nil for every other kind.
    public var string: String? {
        switch kind {
        case .string, .status, .error: String(decoding: bytes, as: UTF8.self)
        case .integer, .array, .null: nil
        }
    }

    /// The error that an element of an array carries (one command of a transaction failed); nil for every other kind.
    public var error: RedisError? {
        kind == .error ? .server(text: string ?? "") : nil
    }
}
