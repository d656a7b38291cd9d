/// Nanoseconds of a world's time; it begins at an arbitrary point.
typealias VirtualTime = UInt64

extension VirtualTime {
    static func milliseconds(_ count: Int) -> VirtualTime { VirtualTime(count) * 1_000_000 }
    static func seconds(_ count: Int) -> VirtualTime { VirtualTime(count) * 1_000_000_000 }
}

/// The one clock of a world, and everything that is to happen: what is due next happens next, and nothing takes time.
///
/// Events that are due at the same time happen in the order in which they were asked for. Used by one thread.
final class VirtualClock {
    /// Names something that is to happen, so that it can be cancelled.
    struct Event {
        fileprivate let slot: Int32
        fileprivate let number: UInt64
    }

    /// The heap holds these alone, so that moving them counts no references.
    private struct Entry {
        var time: VirtualTime
        var number: UInt64
        var slot: Int32

        func precedes(_ other: Entry) -> Bool {
            time != other.time ? time < other.time : number < other.number
        }
    }

    private struct Slot {
        /// Zero while it is free.
        var number: UInt64
        /// Nil once it is cancelled.
        var body: (() -> Void)?
    }

    private(set) var now: VirtualTime
    /// A binary heap, the first entry on top.
    private var heap: [Entry] = []
    private var slots: [Slot] = []
    private var freeSlots: [Int32] = []
    private var lastNumber: UInt64 = 0
    /// Entries of the heap that were cancelled.
    private var cancelled = 0

    /// From so many entries on, a heap of which more than half is cancelled is tidied up.
    private static let tidySize = 64

    init(start: VirtualTime) {
        now = start
    }

    @discardableResult
    func at(_ time: VirtualTime, _ body: @escaping () -> Void) -> Event {
        lastNumber += 1
        let slot: Int32
        if let free = freeSlots.popLast() {
            slot = free
            slots[Int(slot)] = Slot(number: lastNumber, body: body)
        } else {
            slot = Int32(slots.count)
            slots.append(Slot(number: lastNumber, body: body))
        }
        heap.append(Entry(time: max(time, now), number: lastNumber, slot: slot))
        rise(heap.count - 1)
        return Event(slot: slot, number: lastNumber)
    }

    @discardableResult
    func after(_ delay: VirtualTime, _ body: @escaping () -> Void) -> Event {
        at(now + delay, body)
    }

    /// Something will not happen; harmless if it has.
    func cancel(_ event: Event) {
        let slot = Int(event.slot)
        guard slot < slots.count, slots[slot].number == event.number, slots[slot].body != nil else { return }
        slots[slot].body = nil
        cancelled += 1
        if heap.count >= Self.tidySize, cancelled > heap.count / 2 { tidy() }
    }

    /// Lets the next thing happen; false if nothing is to happen any more.
    func step() -> Bool {
        while let first = heap.first {
            let last = heap.removeLast()
            if !heap.isEmpty {
                heap[0] = last
                sink(0)
            }
            guard let body = free(first.slot) else {
                cancelled -= 1
                continue
            }
            now = first.time
            body()
            return true
        }
        return false
    }

    /// Forgets everything that was to happen: the end of a world.
    func clear() {
        heap.removeAll()
        slots.removeAll()
        freeSlots.removeAll()
        cancelled = 0
    }

    private func free(_ slot: Int32) -> (() -> Void)? {
        let body = slots[Int(slot)].body
        slots[Int(slot)] = Slot(number: 0, body: nil)
        freeSlots.append(slot)
        return body
    }

    private func tidy() {
        heap.removeAll { entry in
            guard slots[Int(entry.slot)].body == nil else { return false }
            _ = free(entry.slot)
            return true
        }
        cancelled = 0
        for index in stride(from: heap.count / 2 - 1, through: 0, by: -1) { sink(index) }
    }

    private func rise(_ index: Int) {
        let entry = heap[index]
        var child = index
        while child > 0 {
            let parent = (child - 1) / 2
            guard entry.precedes(heap[parent]) else { break }
            heap[child] = heap[parent]
            child = parent
        }
        heap[child] = entry
    }

    private func sink(_ index: Int) {
        let entry = heap[index]
        var parent = index
        while true {
            var least = 2 * parent + 1
            guard least < heap.count else { break }
            if least + 1 < heap.count, heap[least + 1].precedes(heap[least]) { least += 1 }
            guard heap[least].precedes(entry) else { break }
            heap[parent] = heap[least]
            parent = least
        }
        heap[parent] = entry
    }
}
