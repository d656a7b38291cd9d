import NIOCore

/// The open streams of a session, in slots that are reused.
///
/// nghttp2 keeps the number of the slot with each stream, plus one, because NULL means none. Slots that became free are
/// not given away before ``recycle()``, so that messages can be read until then.
struct StreamTable {
    struct Slot {
        var id: Int32 = 0
        var isOpen = false
        /// The owner's mark.
        var tag: UInt64 = 0
        /// Of an answer: 0 before it came, 1xx while another one follows.
        var status: Int32 = 0
        /// Size of the fields that are being read, as the limit counts it.
        var listBytes = 0
        /// Bytes of the peer's body, the dropped ones too.
        var bodyBytes = 0
        /// Bytes of the stream's window that were kept back.
        var withheldBytes = 0
        /// The request or answer was handed out.
        var isDelivered = false
        /// The request was answered.
        var isAnswered = false
        var message = MessageBuffer()
        /// The rest of our body. It shares its memory with all other streams that send the same.
        var outgoing = ByteBuffer()
    }

    private var slots: UnsafeMutablePointer<Slot>?
    private var capacity = 0
    private var free: [Int32] = []
    private var freed: [Int32] = []
    /// Slots in use.
    private(set) var count = 0

    func deallocate() {
        guard let slots = self.slots else { return }
        for index in 0..<capacity { slots[index].message.deallocate() }
        slots.deinitialize(count: capacity)
        slots.deallocate()
    }

    /// Valid until the next ``takeSlot()``.
    subscript(index: Int32) -> UnsafeMutablePointer<Slot> {
        guard let slots = self.slots else { preconditionFailure("the table has no slots yet") }
        assert(index >= 0 && index < capacity)
        return slots + Int(index)
    }

    /// Calls `body` with each stream that is open, in no particular order.
    func forEachOpen(_ body: (UnsafeMutablePointer<Slot>) -> Void) {
        guard let slots = self.slots else { return }
        for index in 0..<capacity where slots[index].isOpen { body(slots + index) }
    }

    /// A slot for a new stream, with nothing in it.
    mutating func takeSlot() -> Int32 {
        if free.isEmpty { grow() }
        count += 1
        let index = free.removeLast()
        self[index].pointee.isOpen = true
        return index
    }

    /// The stream is closed. Its body is let go at once, its message can be read until ``recycle()``.
    mutating func giveBack(_ index: Int32) {
        assert(self[index].pointee.isOpen)
        count -= 1
        self[index].pointee.isOpen = false
        self[index].pointee.outgoing = ByteBuffer()
        freed.append(index)
    }

    /// The messages of closed streams are not read any more.
    mutating func recycle() {
        for index in freed {
            let slot = self[index]
            slot.pointee.message.reset()
            slot.pointee.id = 0
            slot.pointee.tag = 0
            slot.pointee.status = 0
            slot.pointee.listBytes = 0
            slot.pointee.bodyBytes = 0
            slot.pointee.withheldBytes = 0
            slot.pointee.isDelivered = false
            slot.pointee.isAnswered = false
        }
        free.append(contentsOf: freed)
        freed.removeAll(keepingCapacity: true)
    }

    private mutating func grow() {
        let capacity = max(16, self.capacity * 2)
        let grown = UnsafeMutablePointer<Slot>.allocate(capacity: capacity)
        if let slots = self.slots {
            grown.moveInitialize(from: slots, count: self.capacity)
            slots.deallocate()
        }
        (grown + self.capacity).initialize(repeating: Slot(), count: capacity - self.capacity)
        // The lowest is given away first: it is warm.
        free.append(contentsOf: (Int32(self.capacity)..<Int32(capacity)).reversed())
        self.slots = grown
        self.capacity = capacity
    }
}
