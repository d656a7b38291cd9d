/// The memory of a queue: entries and tokens in slots, which are used again.
///
/// Grows by doubling, and its queue gives it back when the topic has rested (``StreamQueue/rest(now:)``). So it has at
/// most twice the slots that the topic's credit has filled since then. 132 bytes for a notification with a token of 32
/// bytes; a longer token gives all slots room for its like, which happens once or twice in the life of a queue.
struct StreamSlab: ~Copyable {
    /// Slots at first, a power of two.
    static let firstCapacity = 256
    /// Room for a token at first.
    private static let usualTokenBytes = 32

    /// By slot; valid until the next ``fillSlot(_:token:)``.
    private(set) var entries: UnsafeMutablePointer<StreamEntry>
    /// Slots there are.
    private(set) var capacity = StreamSlab.firstCapacity
    /// Slots in use.
    private(set) var count = 0
    private var tokens: UnsafeMutableRawPointer
    private var tokenRoom = StreamSlab.usualTokenBytes
    private var free = StreamEntry.none

    init() {
        entries = .allocate(capacity: capacity)
        tokens = .allocate(byteCount: capacity * tokenRoom, alignment: 32)
        linkFree(from: 0)
    }

    deinit {
        entries.deallocate()
        tokens.deallocate()
    }

    // MARK: Slots

    /// Puts a notification into a free slot.
    ///
    /// - Parameter token: 1 to 255 bytes, as many as the entry says.
    mutating func fillSlot(_ entry: StreamEntry, token: UnsafeRawBufferPointer) -> Int {
        precondition(!token.isEmpty && token.count == entry.tokenBytes)
        if free == StreamEntry.none { grow() }
        if token.count > tokenRoom { widen(to: token.count) }
        let slot = Int(free)
        free = entries[slot].next
        entries[slot] = entry
        UnsafeMutableRawBufferPointer(start: tokens + slot * tokenRoom, count: token.count).copyMemory(from: token)
        count += 1
        return slot
    }

    /// Empties a slot that stands in no list.
    mutating func freeSlot(_ slot: Int) {
        assert(entries[slot].state != .free)
        entries[slot].state = .free
        entries[slot].next = free
        free = Int32(truncatingIfNeeded: slot)
        count -= 1
    }

    /// The token at a slot; valid until the next ``fillSlot(_:token:)``.
    func token(_ slot: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: tokens + slot * tokenRoom, count: Int(entries[slot].tokenBytes))
    }

    // MARK: Lines

    /// Puts an entry that stands in no line at the end of one.
    func append(_ slot: Int, to list: inout SlotList) {
        let link = Int32(truncatingIfNeeded: slot)
        entries[slot].previous = list.tail
        entries[slot].next = StreamEntry.none
        if list.isEmpty { list.head = link } else { entries[Int(list.tail)].next = link }
        list.tail = link
    }

    /// Takes an entry out of its line.
    func remove(_ slot: Int, from list: inout SlotList) {
        let (previous, next) = (entries[slot].previous, entries[slot].next)
        if previous == StreamEntry.none { list.head = next } else { entries[Int(previous)].next = next }
        if next == StreamEntry.none { list.tail = previous } else { entries[Int(next)].previous = previous }
    }

    // MARK: Growing

    private mutating func grow() {
        let larger = capacity * 2
        precondition(larger <= StreamTicket.mostSlots, "too many notifications in one queue")
        let roomier = UnsafeMutablePointer<StreamEntry>.allocate(capacity: larger)
        roomier.moveInitialize(from: entries, count: capacity)
        entries.deallocate()
        entries = roomier
        moveTokens(capacity: larger, room: tokenRoom)
        let first = capacity
        capacity = larger
        linkFree(from: first)
    }

    private mutating func widen(to bytes: Int) {
        let room = (bytes + 15) / 16 * 16
        moveTokens(capacity: capacity, room: room)
        tokenRoom = room
    }

    /// Moves the tokens of the slots there are to memory of another shape.
    private mutating func moveTokens(capacity larger: Int, room: Int) {
        let moved = UnsafeMutableRawPointer.allocate(byteCount: larger * room, alignment: 32)
        if room == tokenRoom {
            moved.copyMemory(from: tokens, byteCount: capacity * room)
        } else {
            for slot in 0..<capacity {
                (moved + slot * room).copyMemory(from: tokens + slot * tokenRoom, byteCount: tokenRoom)
            }
        }
        tokens.deallocate()
        tokens = moved
    }

    /// Makes the slots from `first` on free; the lowest is taken first.
    private mutating func linkFree(from first: Int) {
        for slot in first..<capacity {
            var entry = StreamEntry.empty
            entry.next = slot + 1 < capacity ? Int32(truncatingIfNeeded: slot + 1) : StreamEntry.none
            (entries + slot).initialize(to: entry)
        }
        free = Int32(truncatingIfNeeded: first)
    }
}

extension StreamEntry {
    fileprivate static let empty = StreamEntry(
        reference: NotificationReference(assignment: 0, record: 0, token: 0),
        checksum: 0,
        content: 0,
        tokenBytes: 0
    )
}
