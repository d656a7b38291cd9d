/// Lets the partitions of a shard read their logs once more in turn: a few at a time, each for a while if others wait.
///
/// Pure.
public struct CatchUpSlots: Equatable, Sendable {
    /// How long a partition reads while others wait. Its reader fetches anew when its turn comes again. [ours]
    public static let turn = Duration.seconds(2)

    /// Partitions that read at once.
    public let count: Int
    /// Since when each reads.
    private var holders: [Int32: MonotonicTime] = [:]
    /// Longest first.
    private var waiting: [Int32] = []

    /// - Parameter count: 1 or more.
    public init(count: Int) {
        precondition(count >= 1)
        self.count = count
    }

    public func holds(_ partition: Int32) -> Bool { holders[partition] != nil }

    /// Asks for a slot, which is held until it is given back.
    ///
    /// - Returns: false: others come first; it is to be asked for again.
    public mutating func take(_ partition: Int32, now: MonotonicTime) -> Bool {
        if holds(partition) { return true }
        let place = waiting.firstIndex(of: partition) ?? waiting.count
        if place == waiting.count { waiting.append(partition) }
        guard place < count - holders.count else { return false }
        waiting.remove(at: place)
        holders[partition] = now
        return true
    }

    /// Whether a partition has read for long enough that another should.
    public func isOver(_ partition: Int32, now: MonotonicTime) -> Bool {
        guard let since = holders[partition], !waiting.isEmpty else { return false }
        return since + Self.turn <= now
    }

    /// A partition does not read, nor wait for it.
    public mutating func giveBack(_ partition: Int32) {
        holders[partition] = nil
        waiting.removeAll { $0 == partition }
    }
}
