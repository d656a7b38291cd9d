/// The queues that find groups whose wait is over, without looking at the others.
extension Coalescer {
    /// Groups in the order of their arrival; the first holds up those behind it.
    struct Queue<Position: Comparable & Sendable>: Sendable {
        private var entries: [(group: UInt64, position: Position)] = []
        /// Index of the first waiting group; those before are spent.
        private var start = 0

        var isEmpty: Bool { start == entries.count }

        mutating func append(_ group: UInt64, until position: Position) {
            entries.append((group, position))
        }

        /// Takes the first group if its position was reached.
        mutating func next(upTo position: Position) -> UInt64? {
            guard start < entries.count, entries[start].position <= position else { return nil }
            defer {
                start += 1
                if start > 1024, start * 2 > entries.count {
                    entries.removeFirst(start)
                    start = 0
                }
            }
            return entries[start].group
        }
    }

    /// Groups by the end of their windows: a binary heap, because windows of several lengths end out of order.
    struct WindowHeap: Sendable {
        private var entries: [(group: UInt64, end: MonotonicTime)] = []

        mutating func insert(_ group: UInt64, at end: MonotonicTime) {
            var index = entries.count
            entries.append((group, end))
            while index > 0, precedes(index, (index - 1) / 2) {
                entries.swapAt(index, (index - 1) / 2)
                index = (index - 1) / 2
            }
        }

        /// Takes the group whose window ended first, if one has ended.
        mutating func next(upTo now: MonotonicTime) -> UInt64? {
            guard let first = entries.first, first.end <= now else { return nil }
            entries.swapAt(0, entries.count - 1)
            entries.removeLast()
            var index = 0
            while true {
                var least = index
                for child in [2 * index + 1, 2 * index + 2] where child < entries.count && precedes(child, least) {
                    least = child
                }
                if least == index { return first.group }
                entries.swapAt(index, least)
                index = least
            }
        }

        private func precedes(_ left: Int, _ right: Int) -> Bool {
            (entries[left].end, entries[left].group) < (entries[right].end, entries[right].group)
        }
    }
}
