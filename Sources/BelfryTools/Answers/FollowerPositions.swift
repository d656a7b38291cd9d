import KafkaClient

/// Offsets at which a follower goes on in each partition. Its group forgets them, because it never commits. Pure.
struct FollowerPositions {
    private var next: [Int32: Int64] = [:]
    private var hasBegun = false

    /// Partitions that were never assigned before, in order.
    func unknown(_ partitions: [Int32]) -> [Int32] { partitions.filter { next[$0] == nil } }

    /// The partitions came into being after the first assignment: all that stands in them is new.
    var areLatecomers: Bool { hasBegun }

    /// Notes the offset of the first message to read; a partition that is known keeps its own.
    mutating func begin(_ partition: Int32, at offset: Int64) {
        hasBegun = true
        if next[partition] == nil { next[partition] = offset }
    }

    /// Notes a message that was read.
    mutating func read(_ partition: Int32, _ offset: Int64) { next[partition] = offset + 1 }

    /// The offset at which to go on in an assigned partition.
    func start(of partition: Int32) -> Int64 { next[partition] ?? KafkaOffset.beginning }
}
