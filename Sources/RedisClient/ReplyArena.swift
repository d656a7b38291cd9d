/// The memory of one reply: all its nodes in one array, all its bytes in another, both reused for the next reply.
///
/// hiredis' own reply objects cost two allocations per element, which would be two per notification where the worker
/// looks up token state. Here an element costs 16 bytes of an existing array.
///
/// Positions instead of pointers: both arrays move when they grow.
@usableFromInline
struct ReplyArena {
    @usableFromInline
    struct Node {
        @usableFromInline var kind: RedisReply.Kind
        /// Bytes of a string, elements of an array.
        @usableFromInline var count: UInt32
        /// An integer; or the position of a string's first byte, or of an array's first element (they are adjacent).
        @usableFromInline var value: Int64
    }

    /// Capacity that stays allocated between replies. Memory of a single huge reply beyond it is freed.
    static let retainedBytes = 1 << 20

    @usableFromInline private(set) var nodes: UnsafeMutablePointer<Node>
    @usableFromInline private(set) var bytes: UnsafeMutablePointer<UInt8>
    /// Counts replies, so that a view of an earlier one is recognised.
    @usableFromInline private(set) var generation: UInt = 0
    /// A reply did not fit. Stays set, because the stream cannot be followed any more.
    private(set) var overflowed = false

    private let limitBytes: Int
    private var nodeCount = 0
    private var nodeCapacity: Int
    private var byteCount = 0
    private var byteCapacity: Int

    /// - Parameter limitBytes: Most bytes of one reply, nodes and bytes together. Below 4 GiB.
    init(limitBytes: Int) {
        precondition(limitBytes > 0 && limitBytes <= Int(UInt32.max))
        self.limitBytes = limitBytes
        nodeCapacity = 64
        byteCapacity = 4096
        nodes = .allocate(capacity: nodeCapacity)
        bytes = .allocate(capacity: byteCapacity)
    }

    func deallocate() {
        nodes.deallocate()
        bytes.deallocate()
    }

    /// Forgets the reply; views of it trap from now on.
    mutating func reset() {
        generation &+= 1
        nodeCount = 0
        byteCount = 0
        if nodeCapacity * MemoryLayout<Node>.stride + byteCapacity > Self.retainedBytes {
            deallocate()
            let (limitBytes, generation, overflowed) = (limitBytes, generation, overflowed)
            self = ReplyArena(limitBytes: limitBytes)
            self.generation = generation
            self.overflowed = overflowed
        }
    }

    /// Makes room for `count` nodes in a row; returns the position of the first, or nil when the limit is reached.
    mutating func reserve(nodes count: Int) -> Int? {
        guard fits(nodes: count, bytes: 0) else { return nil }
        let first = nodeCount
        nodeCount += count
        if nodeCount > nodeCapacity {
            let capacity = max(nodeCount, nodeCapacity * 2)
            let grown = UnsafeMutablePointer<Node>.allocate(capacity: capacity)
            grown.moveInitialize(from: nodes, count: first)
            nodes.deallocate()
            nodes = grown
            nodeCapacity = capacity
        }
        return first
    }

    mutating func set(_ index: Int, _ node: Node) {
        (nodes + index).initialize(to: node)
    }

    /// Copies bytes in; returns the position of the first, or nil when the limit is reached.
    mutating func append(_ source: UnsafeRawBufferPointer) -> Int? {
        guard fits(nodes: 0, bytes: source.count) else { return nil }
        let first = byteCount
        byteCount += source.count
        if byteCount > byteCapacity {
            let capacity = max(byteCount, byteCapacity * 2)
            let grown = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
            grown.moveInitialize(from: bytes, count: first)
            bytes.deallocate()
            bytes = grown
            byteCapacity = capacity
        }
        UnsafeMutableRawBufferPointer(start: bytes + first, count: source.count).copyMemory(from: source)
        return first
    }

    private mutating func fits(nodes: Int, bytes: Int) -> Bool {
        // `nodes` comes from the server and may be anything up to Int32.max: no overflow in 64 bits.
        let total = (nodeCount + nodes) * MemoryLayout<Node>.stride + byteCount + bytes
        if total > limitBytes { overflowed = true }
        return total <= limitBytes
    }
}
