/// Which (token, mark) pairs a topic has accepted: the truth that an audit compares its books with.
///
/// A pair is 24 bits of device, 8 of generation and the 32 of its ``PayloadMark``, packed without loss into one word,
/// and the words lie in an open-addressing table: 16 to 32 bytes a pair. Once ``limit`` pairs are in it, new ones are
/// not remembered and only ``isFull`` says so.
struct AcceptedMemory: Sendable {
    /// Devices are limited so that no packed pair looks like this.
    private static let empty = UInt64.max

    /// The number of pairs at which remembering ends.
    let limit: Int

    /// Different pairs seen, up to ``limit``.
    private(set) var count = 0

    /// Whether a pair was met that found no place: from then on ``count`` is too low.
    private(set) var isFull = false

    /// A power of two of slots, at most half of them taken.
    private var slots: [UInt64]

    init(limit: Int) {
        self.limit = limit
        slots = [UInt64](repeating: Self.empty, count: 1024)
    }

    @inline(__always)
    mutating func insert(_ instance: AppInstance, mark: UInt32) {
        let pair = UInt64(instance.device) << 40 | UInt64(instance.generation) << 32 | UInt64(mark)
        let slot = Self.slot(for: pair, in: slots)
        guard slots[slot] != pair else { return }
        guard count < limit else {
            isFull = true
            return
        }
        slots[slot] = pair
        count += 1
        if count * 2 > slots.count { grow() }
    }

    private mutating func grow() {
        var larger = [UInt64](repeating: Self.empty, count: slots.count * 2)
        for pair in slots where pair != Self.empty {
            larger[Self.slot(for: pair, in: larger)] = pair
        }
        slots = larger
    }

    /// Where the pair is, or the free slot where it belongs. There is always a free one.
    @inline(__always)
    private static func slot(for pair: UInt64, in slots: [UInt64]) -> Int {
        // Devices differ in the high bits and marks in the low ones; both have to reach the bits that are used.
        var hash = pair &* 0x9e37_79b9_7f4a_7c15
        hash = (hash ^ hash >> 32) &* 0x9e37_79b9_7f4a_7c15
        let mask = slots.count - 1
        var slot = Int(truncatingIfNeeded: hash >> 32) & mask
        while slots[slot] != pair, slots[slot] != empty {
            slot = (slot + 1) & mask
        }
        return slot
    }
}
