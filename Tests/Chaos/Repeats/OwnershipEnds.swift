/// The times at which an owner stopped working on a partition: it was given back or lost, its worker was killed, told
/// to stop or made to stand still, or the broker went away.
///
/// The next owner begins with the commit that was stored last.
struct OwnershipEnds: Sendable {
    struct End: Equatable, Sendable {
        /// UNIX seconds.
        var second: UInt32
        /// Nil: all of them, in all lanes.
        var partitions: Set<RequestPartition>?
    }

    /// By partition, and for all of them: UNIX seconds.
    private let seconds: [RequestPartition: [UInt32]]
    private let everywhere: [UInt32]

    init(_ ends: [End]) {
        var seconds: [RequestPartition: [UInt32]] = [:]
        for end in ends {
            for partition in end.partitions ?? [] { seconds[partition, default: []].append(end.second) }
        }
        self.seconds = seconds
        everywhere = ends.filter { $0.partitions == nil }.map(\.second)
    }

    /// An owner stopped working on a partition within a time.
    func contains(_ partition: RequestPartition, in range: ClosedRange<UInt32>) -> Bool {
        (everywhere + (seconds[partition] ?? [])).contains { range.contains($0) }
    }
}
