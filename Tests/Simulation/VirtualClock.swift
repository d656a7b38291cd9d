/// Nanoseconds of a world's time; it begins at an arbitrary point.
typealias VirtualTime = UInt64

extension VirtualTime {
    static func milliseconds(_ count: Int) -> VirtualTime { VirtualTime(count) * 1_000_000 }
    static func seconds(_ count: Int) -> VirtualTime { VirtualTime(count) * 1_000_000_000 }
}

/// The one clock of a world, and everything that is to happen: what is due next happens next, and nothing takes time.
///
/// What is due at the same time happens in the order in which it was asked for. Used by one thread.
final class VirtualClock {
    /// Something that is to happen; a cancelled one does not.
    final class Event {
        fileprivate var body: (() -> Void)?

        fileprivate init(_ body: @escaping () -> Void) {
            self.body = body
        }

        func cancel() { body = nil }
    }

    private struct Entry {
        var time: VirtualTime
        var number: UInt64
        var event: Event

        func precedes(_ other: Entry) -> Bool {
            time != other.time ? time < other.time : number < other.number
        }
    }

    private(set) var now: VirtualTime
    /// A binary heap, the first entry on top.
    private var heap: [Entry] = []
    private var lastNumber: UInt64 = 0

    init(start: VirtualTime) {
        now = start
    }

    @discardableResult
    func at(_ time: VirtualTime, _ body: @escaping () -> Void) -> Event {
        let event = Event(body)
        lastNumber += 1
        heap.append(Entry(time: max(time, now), number: lastNumber, event: event))
        rise(heap.count - 1)
        return event
    }

    @discardableResult
    func after(_ delay: VirtualTime, _ body: @escaping () -> Void) -> Event {
        at(now + delay, body)
    }

    /// Lets the next thing happen; false if nothing is to happen any more.
    func step() -> Bool {
        while let first = heap.first {
            if heap.count > 1 { heap[0] = heap[heap.count - 1] }
            heap.removeLast()
            sink()
            guard let body = first.event.body else { continue }
            now = first.time
            body()
            return true
        }
        return false
    }

    /// Forgets everything that was to happen: the end of a world.
    func clear() {
        heap.removeAll()
    }

    private func rise(_ index: Int) {
        var child = index
        while child > 0 {
            let parent = (child - 1) / 2
            guard heap[child].precedes(heap[parent]) else { return }
            heap.swapAt(child, parent)
            child = parent
        }
    }

    private func sink() {
        var parent = 0
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count {
                if heap[child].precedes(heap[least]) { least = child }
            }
            guard least != parent else { return }
            heap.swapAt(parent, least)
            parent = least
        }
    }
}
