/// The notifications that wait for a time, the earliest first: a heap.
///
/// A notification that is taken away is left here until its time; then it is recognized by the number of its sending.
struct Sleepers {
    struct Sleeper {
        var wakesAt: MonotonicTime
        /// The sending after which it fell asleep.
        var sending: UInt64
        var slot: Int
    }

    private var heap: [Sleeper] = []

    /// The next time at which a sleeper wakes; nil if there is none.
    var wakesAt: MonotonicTime? { heap.first?.wakesAt }

    mutating func insert(_ sleeper: Sleeper) {
        var place = heap.count
        heap.append(sleeper)
        while place > 0 {
            let parent = (place - 1) / 2
            guard Self.wakes(sleeper, before: heap[parent]) else { break }
            heap[place] = heap[parent]
            place = parent
        }
        heap[place] = sleeper
    }

    /// Makes all sleepers due at once, in the order of sending.
    mutating func wakeAll() {
        for index in heap.indices { heap[index].wakesAt = MonotonicTime(nanoseconds: 0) }
        // A sorted array is a heap.
        heap.sort(by: Self.wakes)
    }

    /// The next one that wakes, if its time has come.
    mutating func takeAwake(now: MonotonicTime) -> Sleeper? {
        guard let first = heap.first, first.wakesAt <= now, let last = heap.popLast() else { return nil }
        if !heap.isEmpty { sink(last) }
        return first
    }

    /// Fills the gap at the top with the one that stood last.
    private mutating func sink(_ sleeper: Sleeper) {
        var place = 0
        while true {
            var child = 2 * place + 1
            guard child < heap.count else { break }
            if child + 1 < heap.count, Self.wakes(heap[child + 1], before: heap[child]) { child += 1 }
            guard Self.wakes(heap[child], before: sleeper) else { break }
            heap[place] = heap[child]
            place = child
        }
        heap[place] = sleeper
    }

    /// Of those that wake together the first sent comes first.
    private static func wakes(_ one: Sleeper, before other: Sleeper) -> Bool {
        (one.wakesAt, one.sending) < (other.wakesAt, other.sending)
    }
}
