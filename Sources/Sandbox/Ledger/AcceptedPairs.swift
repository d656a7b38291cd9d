/// The (token, mark) pairs that a topic has accepted. They are the truth that an audit compares its books with.
///
/// A pair is 24 bits of device, 8 of generation and the 32 of its ``PayloadMark``, packed without loss into one word,
/// and the words lie in an open-addressing table: 11 to 22 bytes a pair. Once ``limit`` pairs are in it, new ones are
/// not remembered and only ``isFull`` says so.
///
/// The table is much larger than the processor's caches and every pair lies somewhere else in it: so its place is
/// fetched as soon as a pair comes, and the pair waits, while others come, until that is done.
struct AcceptedPairs: Sendable {
    /// Devices are limited so that no packed pair looks like this.
    private static let empty = UInt64.max

    /// A table that is not worth caring about, in slots: half a megabyte.
    private static let littleSlots = 1 << 16

    /// Pairs that wait, at most.
    private static let batch = 64

    /// The number of pairs at which remembering ends.
    let limit: Int

    /// A power of two of slots, at most three quarters of them taken: then a search meets some 8 others, one cache
    /// line.
    private var slots: [UInt64]

    /// Slots that are taken.
    private var settled = 0

    /// A pair was met that found no place in the table.
    private var hasOverflowed = false

    /// Pairs that are not in the table yet, in the order they came; fewer than ``batch`` between calls.
    private var waiting: [UInt64] = []

    /// The size the table is given once there is more than a little to remember.
    private let expectedSlots: Int

    /// - Parameter expected: how many pairs are to be expected of a topic that is used at all. Room for them is made in
    ///   one step: growing takes time in which the topic stands still.
    init(limit: Int, expected: Int = 0) {
        self.limit = limit
        expectedSlots = Self.slots(for: min(expected, limit))
        slots = .inHugePages(repeating: Self.empty, count: 1024)
        waiting.reserveCapacity(Self.batch)
    }

    /// Different pairs seen, up to ``limit``.
    var count: Int { min(settled + newOnesWaiting, limit) }

    /// A pair was met that found no place. From then on ``count`` is too low.
    var isFull: Bool { hasOverflowed || settled + newOnesWaiting > limit }

    @inline(__always)
    mutating func insert(_ instance: AppInstance, mark: UInt32) {
        let pair = UInt64(instance.device) << 40 | UInt64(instance.generation) << 32 | UInt64(mark)
        slots.prefetch(Self.home(of: pair, slots.count - 1))
        waiting.append(pair)
        if waiting.count == Self.batch { settle() }
    }

    private var newOnesWaiting: Int {
        waiting.indices.count { index in
            let pair = waiting[index]
            let isInTable = slots.withUnsafeBufferPointer { $0[Self.slot(for: pair, in: $0)] == pair }
            return !isInTable && !waiting[..<index].contains(pair)
        }
    }

    private mutating func settle() {
        let needed = Self.slots(for: min(settled + waiting.count, limit))
        if needed > slots.count { grow(to: needed > Self.littleSlots ? max(needed, expectedSlots) : needed) }
        slots.withUnsafeMutableBufferPointer { slots in
            let table = UnsafeBufferPointer(slots)
            for pair in waiting {
                let slot = Self.slot(for: pair, in: table)
                guard table[slot] != pair else { continue }
                guard settled < limit else {
                    hasOverflowed = true
                    continue
                }
                slots[slot] = pair
                settled += 1
            }
        }
        waiting.removeAll(keepingCapacity: true)
    }

    private mutating func grow(to count: Int) {
        var larger = [UInt64].inHugePages(repeating: Self.empty, count: count)
        larger.withUnsafeMutableBufferPointer { larger in
            for pair in slots where pair != Self.empty {
                larger[Self.slot(for: pair, in: UnsafeBufferPointer(larger))] = pair
            }
        }
        slots = larger
    }

    /// Number of slots that so many pairs need.
    private static func slots(for pairs: Int) -> Int {
        var count = 1024
        while pairs * 4 > count * 3 { count *= 2 }
        return count
    }

    /// The slot of the pair, or the free slot where it belongs. There is always a free one.
    @inline(__always)
    private static func slot(for pair: UInt64, in slots: UnsafeBufferPointer<UInt64>) -> Int {
        let mask = slots.count - 1
        var slot = home(of: pair, mask)
        while slots[slot] != pair, slots[slot] != empty {
            slot = (slot + 1) & mask
        }
        return slot
    }

    /// The slot at which the search for a pair begins.
    @inline(__always)
    private static func home(of pair: UInt64, _ mask: Int) -> Int {
        // Devices differ in the high bits and marks in the low ones; both have to reach the bits that are used.
        var hash = pair &* 0x9e37_79b9_7f4a_7c15
        hash = (hash ^ hash >> 32) &* 0x9e37_79b9_7f4a_7c15
        return Int(truncatingIfNeeded: hash >> 32) & mask
    }
}
