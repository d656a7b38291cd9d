/// The first offset of each held partition that has not been applied. Negative: the beginning. Pure.
public struct AppliedPositions: Sendable {
    public private(set) var all: [Int32: Int64] = [:]

    public init() {}

    /// Nil: the partition is not held.
    public subscript(_ partition: Int32) -> Int64? { all[partition] }

    /// Partitions are held, from these offsets on.
    public mutating func begin(at starts: [Int32: Int64]) { all.merge(starts) { $1 } }

    /// Partitions are held no longer.
    public mutating func end(_ partitions: [Int32]) {
        for partition in partitions { all[partition] = nil }
    }

    /// A record is to be applied. False for one of a partition that is not held, and for one that librdkafka delivers a
    /// second time, as it may after a pause.
    public func wants(_ partition: Int32, offset: Int64) -> Bool {
        all[partition].map { offset >= $0 } ?? false
    }

    /// Everything before these offsets has been applied, or is out of reach, or is to be applied again from there on.
    public mutating func moved(_ offsets: [Int32: Int64]) {
        for (partition, offset) in offsets where all[partition] != nil { all[partition] = offset }
    }
}
