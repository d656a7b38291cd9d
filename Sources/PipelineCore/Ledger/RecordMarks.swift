/// The marked records of one assignment, by their numbers in its ``CommitFrontier``.
///
/// Kept as runs, because marked records mostly follow each other. Numbers wrap at 2³²; those kept span less than half
/// of that.
public struct RecordMarks: Sendable {
    private struct Run {
        var first: UInt32
        var count: UInt32
    }

    private var runs: [Run] = []

    public init() {}

    public var isEmpty: Bool { runs.isEmpty }

    /// Marks a record: the last marked one again, or a later one.
    public mutating func mark(_ record: UInt32) {
        if let last = runs.indices.last {
            let distance = record &- runs[last].first
            if distance < runs[last].count { return }
            if distance == runs[last].count {
                runs[last].count += 1
                return
            }
        }
        runs.append(Run(first: record, count: 1))
    }

    public func contains(_ record: UInt32) -> Bool {
        guard let first = runs.first?.first else { return false }
        let distance = record &- first
        // The first run is never beyond the record, because its own distance is 0.
        let run = runs[runs.partitioningIndex { $0.first &- first > distance } - 1]
        return record &- run.first < run.count
    }

    /// Forgets the runs that end before a record.
    public mutating func forget(before record: UInt32) {
        let spent = runs.prefix { Int32(bitPattern: $0.first &+ $0.count &- record) <= 0 }.count
        if spent > 0 { runs.removeFirst(spent) }
    }
}
