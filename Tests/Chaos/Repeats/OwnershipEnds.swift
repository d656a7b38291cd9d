/// The times at which an owner stopped working on a partition: it was given back or lost, its worker was killed, told
/// to stop or made to stand still, or the broker went away.
///
/// The next owner begins with the commit that was stored last.
struct OwnershipEnds: Sendable {
    struct End: Equatable, Sendable {
        /// UNIX seconds.
        var second: UInt32
        /// Nil: all of them.
        var partitions: Set<Int32>?
    }

    /// By partition: UNIX seconds, ascending.
    private let seconds: [[UInt32]]

    init(partitions: Int, _ ends: [End]) {
        seconds = (0..<Int32(partitions)).map { partition in
            ends.filter { $0.partitions?.contains(partition) ?? true }.map(\.second).sorted()
        }
    }

    /// An owner stopped working on a partition within a time.
    func contains(_ partition: Int32, in range: ClosedRange<UInt32>) -> Bool {
        guard seconds.indices.contains(Int(partition)) else { return false }
        return seconds[Int(partition)].contains { range.contains($0) }
    }
}
