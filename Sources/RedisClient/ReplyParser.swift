import CHiredis

/// hiredis' incremental RESP2 parser, putting its replies into a ``ReplyArena``.
///
/// One per network connection; not thread-safe. Useless after an error: the beginning of the next reply is lost.
final class ReplyParser {
    /// The reason why the stream cannot be followed any more.
    enum Failure: Error, Equatable, CustomStringConvertible {
        /// Not RESP2 (or nested deeper than hiredis can follow, 7 levels); hiredis' words.
        case malformed(String)
        /// A reply beyond the limit.
        case tooLarge(limitBytes: Int)

        var description: String {
            switch self {
            case .malformed(let text): "not the Redis protocol: \(text)"
            case .tooLarge(let limitBytes): "a reply is larger than \(limitBytes) bytes"
            }
        }
    }

    /// Bytes given to hiredis at once. hiredis moves the rest of its buffer after about every KiB of replies, so a big
    /// buffer would be moved many times. In slices there is never more than this to move (except while one big string
    /// is incomplete).
    private static let sliceBytes = 16 << 10

    private let limitBytes: Int
    private let reader: UnsafeMutablePointer<redisReader>
    private let functions: UnsafeMutablePointer<redisReplyObjectFunctions>
    private let arena: UnsafeMutablePointer<ReplyArena>

    /// - Parameter limitBytes: Most bytes of memory for one reply. 1…4 GiB - 1.
    init(limitBytes: Int) {
        self.limitBytes = limitBytes
        arena = .allocate(capacity: 1)
        arena.initialize(to: ReplyArena(limitBytes: limitBytes))
        functions = .allocate(capacity: 1)
        functions.initialize(to: .arena)
        guard let reader = redisReaderCreateWithFunctions(functions) else {
            preconditionFailure("out of memory")
        }
        reader.pointee.privdata = UnsafeMutableRawPointer(arena)
        // By default hiredis frees its buffer when empty and larger than 16 KiB: an allocation per read of ours.
        reader.pointee.maxbuf = ReplyArena.retainedBytes
        self.reader = reader
    }

    deinit {
        redisReaderFree(reader)
        functions.deallocate()
        arena.pointee.deallocate()
        arena.deallocate()
    }

    /// Takes the next bytes of the stream, in any chunking, and calls `body` for each reply they complete.
    ///
    /// `body` returns false to stop; the rest of `input` is then thrown away (the connection was closed in a
    /// completion). The reply is valid until `body` returns.
    func feed(_ input: UnsafeRawBufferPointer, _ body: (RedisReply) -> Bool) throws(Failure) {
        var rest = input[...]
        while !rest.isEmpty {
            let slice = UnsafeRawBufferPointer(rebasing: rest.prefix(Self.sliceBytes))
            rest = rest.dropFirst(slice.count)
            guard reader.pointee.len - reader.pointee.pos + slice.count <= limitBytes else {
                throw .tooLarge(limitBytes: limitBytes)
            }
            let text = slice.baseAddress?.assumingMemoryBound(to: CChar.self)
            guard redisReaderFeed(reader, text, slice.count) == REDIS_OK else { throw failure }
            guard try drain(body) else { return }
        }
    }

    private func drain(_ body: (RedisReply) -> Bool) throws(Failure) -> Bool {
        while true {
            var handle: UnsafeMutableRawPointer?
            guard redisReaderGetReply(reader, &handle) == REDIS_OK else { throw failure }
            guard let handle else { return true }
            let goOn = body(
                RedisReply(arena: arena, index: nodeIndex(handle), generation: arena.pointee.generation)
            )
            arena.pointee.reset()
            if !goOn { return false }
        }
    }

    private var failure: Failure {
        if arena.pointee.overflowed { return .tooLarge(limitBytes: limitBytes) }
        return withUnsafeBytes(of: &reader.pointee.errstr) { text in
            .malformed(String(decoding: text.prefix { $0 != 0 }, as: UTF8.self))
        }
    }
}

extension redisReplyObjectFunctions {
    /// Called by hiredis inside `redisReaderGetReply`, on the caller's thread. NULL as the result means out of memory
    /// and ends the stream. There is nothing to free: the arena forgets whole replies.
    fileprivate static var arena: redisReplyObjectFunctions {
        redisReplyObjectFunctions(
            createString: { task, text, count in
                guard let task, let text else { return nil }
                let kind: RedisReply.Kind =
                    switch task.pointee.type {
                    case REDIS_REPLY_ERROR: .error
                    case REDIS_REPLY_STATUS: .status
                    default: .string
                    }
                return place(task) { arena in
                    guard let first = arena.pointee.append(UnsafeRawBufferPointer(start: text, count: count)) else {
                        return nil
                    }
                    return .init(kind: kind, count: UInt32(count), value: Int64(first))
                }
            },
            createArray: { task, count in
                guard let task else { return nil }
                return place(task) { arena in
                    guard let first = arena.pointee.reserve(nodes: Int(count)) else { return nil }
                    return .init(kind: .array, count: UInt32(count), value: Int64(first))
                }
            },
            createInteger: { task, value in
                guard let task else { return nil }
                return place(task) { _ in .init(kind: .integer, count: 0, value: value) }
            },
            createNil: { task in
                guard let task else { return nil }
                return place(task) { _ in .init(kind: .null, count: 0, value: 0) }
            },
            freeObject: nil
        )
    }
}

/// Puts a node into its place: in its array's row, or at the root. Returns hiredis' handle for it.
@inline(__always)
private func place(
    _ task: UnsafePointer<redisReadTask>,
    _ make: (UnsafeMutablePointer<ReplyArena>) -> ReplyArena.Node?
) -> UnsafeMutableRawPointer? {
    guard let arena = task.pointee.privdata?.assumingMemoryBound(to: ReplyArena.self) else { return nil }
    let index: Int
    if let parent = task.pointee.parent?.pointee.obj {
        index = Int(arena.pointee.nodes[nodeIndex(parent)].value) + Int(task.pointee.idx)
    } else {
        guard let root = arena.pointee.reserve(nodes: 1) else { return nil }
        index = root
    }
    guard let node = make(arena) else { return nil }
    arena.pointee.set(index, node)
    return nodeHandle(index)
}

/// hiredis wants a pointer for each object; ours is the position plus one, because NULL means failure.
private func nodeHandle(_ index: Int) -> UnsafeMutableRawPointer? {
    UnsafeMutableRawPointer(bitPattern: index + 1)
}

private func nodeIndex(_ handle: UnsafeMutableRawPointer) -> Int {
    Int(bitPattern: handle) - 1
}
