/// Lets the partitions of a shard reread their logs in turn: a few at a time, with turns if others wait.
///
/// Pure.
public struct CatchUpSlots: Equatable, Sendable {
    /// The longest reading of a partition while others wait. Its reader fetches anew when its turn comes again. [ours]
    public static let turn = Duration.seconds(2)

    /// Most partitions that read at once.
    public let count: Int
    /// The start of each partition's reading.
    private var holders: [Int32: MonotonicTime] = [:]
    /// Partitions in line; the longest wait comes first.
    private var waiting: [Int32] = []

    /// - Parameter count: 1 or more.
    public init(count: Int) {
        precondition(count >= 1)
        self.count = count
    }

    public func holds(_ partition: Int32) -> Bool { holders[partition] != nil }

    /// Asks for a slot, which is held until it is given back.
    ///
    /// - Returns: false: others come first; ask again.
    public mutating func takeSlot(for partition: Int32, now: MonotonicTime) -> Bool {
        if holds(partition) { return true }
        let place = waiting.firstIndex(of: partition) ?? waiting.count
        if place == waiting.count { waiting.append(partition) }
        guard place < count - holders.count else { return false }
        waiting.remove(at: place)
        holders[partition] = now
        return true
    }

    /// The partition has read for its turn while others wait.
    public func isOver(_ partition: Int32, now: MonotonicTime) -> Bool {
        guard let since = holders[partition], !waiting.isEmpty else { return false }
        return since + Self.turn <= now
    }

    /// The partition neither reads nor waits for a slot.
    public mutating func giveBack(_ partition: Int32) {
        holders[partition] = nil
        waiting.removeAll { $0 == partition }
    }
}
