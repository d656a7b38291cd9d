import APNsProtocol

/// The frames of one lane in the order of their sequence numbers: in flight, waiting, and presumed lately.
///
/// Frames are encoded in place into chunks of one TLS record's size and stay there until they are settled, so that
/// sending them again costs no encoding. A sequence number also is the notification identifier (see
/// ``identifier(of:)``). Memory: 32 bytes and the frame's own for each entry. Chunks are recycled (``FrameChunks``),
/// and the room of entries goes back by ``shrink()``.
public struct FrameLog: ~Copyable {
    /// Largest plaintext of a TLS record: a chunk handed over whole becomes exactly one.
    public static let chunkBytes = 16_384

    /// The log's data about one frame.
    public struct Entry {
        public var reference: NotificationReference
        var chunk: UInt32
        var offset: UInt16
        var length: UInt16
        /// The number of error responses that named this notification so far.
        public var refusals: UInt8
        /// The notification is not to be sent (again): its partition is gone, or it has its outcome already.
        public var isDropped: Bool
        /// The number of silently ended connections while this notification was alone in flight.
        var loneCloses: UInt8 = 0
        /// The checksum of the token; see ``FrameLog/drop(checksum:from:where:)``.
        public internal(set) var checksum: UInt32
        /// The distance to the former entry of the assignment; 0: there is none.
        fileprivate var formerDistance: UInt32
    }

    /// First entry kept.
    public private(set) var head: UInt64
    /// One past the last entry.
    public private(set) var tail: UInt64
    /// Entries kept that are marked as dropped.
    public private(set) var droppedCount = 0

    private var entries: UnsafeMutablePointer<Entry>
    private var mask: UInt64
    private(set) var chunks: [Chunk] = []
    /// Ordinal of `chunks[firstChunk]`; chunks before that index are spent.
    private var firstOrdinal: UInt32 = 0
    private(set) var firstChunk = 0
    private let memory: FrameChunks
    /// The sequence number of each assignment's last entry; entries before are linked to it. Some are not kept any
    /// more.
    private var lastOf = ByAssignment<UInt64>()
    /// The number of them that triggers the removal of those not kept.
    private var sweepCount = FrameLog.leastSweep
    /// Entries looked at because of their assignment, ever: the cost of revocations.
    private(set) var looks = 0
    /// Assignments whose last entry is kept, and some others.
    var knownAssignments: Int { lastOf.count }
    private static let leastSweep = 64
    /// Entries that there is room for, a power of two.
    var capacity: Int { Int(mask) + 1 }
    static let leastCapacity = 256

    struct Chunk {
        var base: UnsafeMutableRawPointer
        var used: Int
        /// Sequence number of its first frame.
        var first: UInt64
    }

    /// - Parameters:
    ///   - firstSequence: not 0 in tests that are to reach the wrap-around of identifiers.
    ///   - memory: of the chunks.
    init(firstSequence: UInt64 = 0, memory: FrameChunks = FrameChunks()) {
        self.memory = memory
        head = firstSequence
        tail = firstSequence
        entries = .allocate(capacity: Self.leastCapacity)
        mask = UInt64(Self.leastCapacity - 1)
    }

    deinit {
        entries.deallocate()
        // The shared memory is for one thread, and at a stop another may let go of the last lanes.
        for chunk in chunks[firstChunk...] { chunk.base.deallocate() }
    }

    /// The identifier on the wire: sequence numbers from 0 become 1 … 2³²−1 and wrap to 1, since 0 means "could not
    /// attribute" in an answer ([field]).
    public static func identifier(of sequence: UInt64) -> UInt32 {
        UInt32(truncatingIfNeeded: sequence % UInt64(UInt32.max)) + 1
    }

    /// The sequence number of an identifier among the entries kept, if any.
    public func sequence(of identifier: UInt32) -> UInt64? {
        guard identifier != 0 else { return nil }
        let modulus = UInt64(UInt32.max)
        let sequence = head + (UInt64(identifier) - 1 + modulus - head % modulus) % modulus
        return sequence < tail ? sequence : nil
    }

    /// Forgets entries before `limit`, whole chunks at a time, until at most `bytes` of them are kept.
    ///
    /// - Returns: the number of forgotten entries that were not dropped.
    @discardableResult
    public mutating func evict(before limit: UInt64, retaining bytes: Int) -> Int {
        guard limit > head else { return 0 }
        let limitChunk =
            limit == tail ? chunks.count : firstChunk + Int(entry(at: limit).chunk &- firstOrdinal)
        let firstKept = limitChunk - bytes / Self.chunkBytes
        guard firstKept > firstChunk else { return 0 }
        return evict(before: firstKept == chunks.count ? limit : min(limit, chunks[firstKept].first))
    }

    /// Room for the next frame. The pointer is valid until the next call of any mutating method.
    ///
    /// - Parameter bytes: 1 … ``chunkBytes``.
    public mutating func reserve(_ bytes: Int) -> UnsafeMutableRawBufferPointer {
        precondition(bytes > 0 && bytes <= Self.chunkBytes)
        if chunks.count == firstChunk || chunks[chunks.count - 1].used + bytes > Self.chunkBytes {
            chunks.append(Chunk(base: memory.take(), used: 0, first: tail))
        }
        let last = chunks[chunks.count - 1]
        return UnsafeMutableRawBufferPointer(start: last.base + last.used, count: bytes)
    }

    /// Takes the frame that was written into the room last reserved as the next entry.
    ///
    /// - Parameters:
    ///   - bytes: 1 … the number reserved.
    ///   - checksum: the key for ``drop(checksum:from:where:)``; frames of one token share it.
    public mutating func commit(_ reference: NotificationReference, bytes: Int, checksum: UInt32 = 0) {
        precondition(bytes > 0 && chunks[chunks.count - 1].used + bytes <= Self.chunkBytes)
        if tail - head > mask { grow() }
        let last = chunks.count - 1
        entries[Int(truncatingIfNeeded: tail & mask)] = Entry(
            reference: reference,
            chunk: firstOrdinal &+ UInt32(truncatingIfNeeded: last - firstChunk),
            offset: UInt16(truncatingIfNeeded: chunks[last].used),
            length: UInt16(truncatingIfNeeded: bytes),
            refusals: 0,
            isDropped: false,
            checksum: checksum,
            formerDistance: link(reference.assignment)
        )
        chunks[last].used += bytes
        tail += 1
    }

    /// The entry at a sequence number in `head ..< tail`.
    public func entry(at sequence: UInt64) -> Entry {
        precondition(sequence >= head && sequence < tail)
        return entries[Int(truncatingIfNeeded: sequence & mask)]
    }

    /// The frame of an entry; valid until the next mutating call.
    public func frame(at sequence: UInt64) -> UnsafeRawBufferPointer {
        let entry = entry(at: sequence)
        return UnsafeRawBufferPointer(start: base(of: entry) + Int(entry.offset), count: Int(entry.length))
    }

    /// The longest run of adjacent frames that starts at `sequence`, ends before `limit`, and leaves out dropped
    /// entries.
    ///
    /// - Returns: the bytes (empty when `sequence` itself is dropped) and the sequence number to go on from; at most
    ///   one chunk's worth. Valid until the next mutating call.
    public func run(from sequence: UInt64, limit: UInt64) -> (bytes: UnsafeRawBufferPointer, end: UInt64) {
        precondition(sequence >= head && sequence < limit && limit <= tail)
        let first = entry(at: sequence)
        if first.isDropped {
            var end = sequence + 1
            while end < limit, entry(at: end).isDropped { end += 1 }
            return (UnsafeRawBufferPointer(start: nil, count: 0), end)
        }
        var end = sequence
        var length = 0
        while end < limit {
            let next = entries[Int(truncatingIfNeeded: end & mask)]
            guard next.chunk == first.chunk, !next.isDropped else { break }
            length += Int(next.length)
            end += 1
        }
        return (UnsafeRawBufferPointer(start: base(of: first) + Int(first.offset), count: length), end)
    }

    /// Forgets every entry before `sequence`.
    ///
    /// - Returns: the number of them that were not dropped.
    @discardableResult
    public mutating func evict(before sequence: UInt64) -> Int {
        precondition(sequence <= tail)
        guard sequence > head else { return 0 }
        let live = liveCount(in: head..<sequence)
        droppedCount -= Int(sequence - head) - live
        head = sequence
        // The last chunk is still being filled unless the log is empty.
        let needed = head == tail ? chunks.count : firstChunk + Int(entry(at: head).chunk &- firstOrdinal)
        while firstChunk < needed { releaseFirstChunk() }
        if firstChunk > 64, firstChunk * 2 > chunks.count {
            chunks.removeFirst(firstChunk)
            firstChunk = 0
        }
        return live
    }

    /// Counts one more refusal of an entry and returns the new count (stops at 255).
    public mutating func countRefusal(at sequence: UInt64) -> Int {
        let slot = Int(truncatingIfNeeded: sequence & mask)
        if entries[slot].refusals < .max { entries[slot].refusals += 1 }
        return Int(entries[slot].refusals)
    }

    /// Adds the trouble that the last entry had elsewhere.
    mutating func inheritTrouble(_ trouble: NotificationTrouble) {
        let slot = Int(truncatingIfNeeded: (tail - 1) & mask)
        entries[slot].refusals = trouble.refusals
        entries[slot].loneCloses = trouble.loneCloses
    }

    /// The troubled entries of an assignment from `start` on.
    mutating func troubles(
        assignment: UInt32,
        from start: UInt64
    ) -> [(NotificationReference, NotificationTrouble)] {
        var troubles: [(NotificationReference, NotificationTrouble)] = []
        eachUndropped(of: assignment, from: start) { log, slot in
            let entry = log.entries[slot]
            let trouble = NotificationTrouble(refusals: entry.refusals, loneCloses: entry.loneCloses)
            if trouble.isThere { troubles.append((entry.reference, trouble)) }
            return true
        }
        return troubles.reversed()
    }

    /// Counts one more silent end of a connection with only this entry in flight. Returns the new count (stops at 255).
    mutating func countLoneClose(at sequence: UInt64) -> Int {
        let slot = Int(truncatingIfNeeded: sequence & mask)
        if entries[slot].loneCloses < .max { entries[slot].loneCloses += 1 }
        return Int(entries[slot].loneCloses)
    }

    /// Marks the entries of an assignment from `start` on as dropped if their references satisfy a condition. Looks at
    /// entries of the assignment alone. Returns the references, in order.
    @discardableResult
    mutating func drop(
        assignment: UInt32,
        from start: UInt64,
        where isMeant: (NotificationReference) -> Bool = { _ in true }
    ) -> [NotificationReference] {
        var dropped: [NotificationReference] = []
        eachUndropped(of: assignment, from: start) { log, slot in
            let reference = log.entries[slot].reference
            guard isMeant(reference) else { return true }
            log.entries[slot].isDropped = true
            dropped.append(reference)
            return true
        }
        droppedCount += dropped.count
        return dropped.reversed()
    }

    /// An entry of an assignment is kept that is not dropped.
    mutating func keeps(assignment: UInt32) -> Bool {
        var isKept = false
        eachUndropped(of: assignment, from: head) { _, _ in
            isKept = true
            return false
        }
        return isKept
    }

    /// Marks one entry as dropped that was not dropped before.
    mutating func drop(at sequence: UInt64) {
        precondition(sequence >= head && sequence < tail)
        let slot = Int(truncatingIfNeeded: sequence & mask)
        precondition(!entries[slot].isDropped)
        entries[slot].isDropped = true
        droppedCount += 1
    }

    /// Marks entries from `start` on as dropped if their frames satisfy a condition. Only entries with the checksum are
    /// looked at.
    ///
    /// - Returns: their sequence numbers.
    mutating func drop(
        checksum: UInt32,
        from start: UInt64,
        where isMeant: (UnsafeRawBufferPointer) -> Bool
    ) -> [UInt64] {
        var dropped: [UInt64] = []
        for sequence in max(start, head)..<max(start, tail) {
            let slot = Int(truncatingIfNeeded: sequence & mask)
            guard entries[slot].checksum == checksum, !entries[slot].isDropped, isMeant(frame(at: sequence))
            else {
                continue
            }
            entries[slot].isDropped = true
            dropped.append(sequence)
        }
        droppedCount += dropped.count
        return dropped
    }

    /// Marks entries from `start` on as dropped if their references and frames satisfy a condition. Returns those
    /// references, in order.
    mutating func drop(
        from start: UInt64,
        where isMeant: (NotificationReference, _ frame: UnsafeRawBufferPointer) -> Bool
    ) -> [NotificationReference] {
        var dropped: [NotificationReference] = []
        for sequence in max(start, head)..<max(start, tail) {
            let slot = Int(truncatingIfNeeded: sequence & mask)
            guard !entries[slot].isDropped, isMeant(entries[slot].reference, frame(at: sequence)) else { continue }
            entries[slot].isDropped = true
            dropped.append(entries[slot].reference)
        }
        droppedCount += dropped.count
        return dropped
    }

    /// Bytes of memory from one frame up to another, the unused ends of chunks included.
    ///
    /// - Parameters: `head ... tail`, the first not after the second.
    public func span(from first: UInt64, to last: UInt64) -> Int {
        precondition(head <= first && first <= last && last <= tail)
        guard first < last else { return 0 }
        let start = entry(at: first)
        let (chunk, offset) =
            last == tail
            ? (firstOrdinal &+ UInt32(truncatingIfNeeded: chunks.count - 1 - firstChunk), chunks[chunks.count - 1].used)
            : (entry(at: last).chunk, Int(entry(at: last).offset))
        return Int(chunk &- start.chunk) * Self.chunkBytes + offset - Int(start.offset)
    }

    /// The number of entries of a range that are not dropped.
    public func liveCount(in range: Range<UInt64>) -> Int {
        guard droppedCount > 0 else { return range.count }
        return range.reduce(0) { $0 + (entry(at: $1).isDropped ? 0 : 1) }
    }

    /// Makes the next entry the last of its assignment; returns its distance to the former one.
    private mutating func link(_ assignment: UInt32) -> UInt32 {
        let former = lastOf[assignment]
        lastOf[assignment] = tail
        if lastOf.count > sweepCount {
            lastOf.keep { [head] in $0 >= head }
            sweepCount = max(Self.leastSweep, 2 * lastOf.count)
        }
        return former.flatMap { UInt32(exactly: tail - $0) } ?? 0
    }

    /// Calls `body` with the slots of an assignment's entries from `start` on that are not dropped, the latest first,
    /// until it returns false.
    private mutating func eachUndropped(
        of assignment: UInt32,
        from start: UInt64,
        _ body: (inout FrameLog, Int) -> Bool
    ) {
        guard var sequence = lastOf[assignment] else { return }
        while sequence >= max(start, head) {
            looks += 1
            let slot = Int(truncatingIfNeeded: sequence & mask)
            let distance = entries[slot].formerDistance
            if !entries[slot].isDropped, !body(&self, slot) { return }
            guard distance > 0 else { return }
            sequence -= UInt64(distance)
        }
    }

    private func base(of entry: Entry) -> UnsafeMutableRawPointer {
        chunks[firstChunk + Int(entry.chunk &- firstOrdinal)].base
    }

    private mutating func releaseFirstChunk() {
        memory.giveBack(chunks[firstChunk].base)
        firstChunk += 1
        firstOrdinal &+= 1
    }

    /// Gives back the room that the entries kept do not need.
    mutating func shrink() {
        chunks = Array(chunks[firstChunk...])
        firstChunk = 0
        var needed = Self.leastCapacity
        while needed < Int(tail - head) { needed *= 2 }
        if needed <= Int(mask) { resize(to: needed) }
    }

    private mutating func grow() { resize(to: capacity * 2) }

    /// - Parameter capacity: a power of two, for as many entries as are kept at least.
    private mutating func resize(to capacity: Int) {
        let resized = UnsafeMutablePointer<Entry>.allocate(capacity: capacity)
        let newMask = UInt64(capacity - 1)
        for sequence in head..<tail {
            resized[Int(truncatingIfNeeded: sequence & newMask)] = entries[Int(truncatingIfNeeded: sequence & mask)]
        }
        entries.deallocate()
        entries = resized
        mask = newMask
    }
}
