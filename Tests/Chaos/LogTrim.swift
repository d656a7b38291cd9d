import PipelineCore

/// The offset before which the broker may forget a partition's records.
///
/// They must not be needed any more, neither by this program nor by a worker that takes the partition over, which reads
/// from the lowest cursor of any topic in it, and that lies before the committed offset.
enum LogTrim {
    /// Behind what has been read: no worker reads it again, but it may be looked at.
    private static let margin: Int64 = 1000

    /// Of a lane's requests; `nil`: all of it may be needed.
    ///
    /// - Parameters:
    ///   - committed: the offset that the workers' group of the lane has committed; negative: none.
    ///   - metadata: what stands beside it. If it cannot be read, nothing is known of what may be needed.
    ///   - seen: the offset after the last record that this program has read.
    static func requests(committed: Int64, _ metadata: String, seen: Int64) -> Int64? {
        guard committed >= 0,
            let position = try? PositionMetadata(decoding: metadata, committedOffset: committed)
        else { return nil }
        let cursors = position.laggards.map(\.cursor)
        return offset(behind: cursors.reduce(min(committed, seen), min))
    }

    /// Of push.outcomes, which only this program reads; `nil`: all of it may be needed.
    static func outcomes(seen: Int64) -> Int64? { offset(behind: seen) }

    /// Of a Kafka topic that a role applies to the token state; `nil`: all of it may be needed. After a fail-over of
    /// Redis what was applied lately is applied again: where that begins is in the metadata.
    ///
    /// - Parameter committed: the offset that the role's group has committed; negative: none.
    static func applied(committed: Int64, _ metadata: String) -> Int64? {
        guard committed >= 0, let mark = ReplayMark(metadata) else { return nil }
        return offset(behind: min(committed, mark.start))
    }

    private static func offset(behind needed: Int64) -> Int64? {
        needed > margin ? needed - margin : nil
    }
}
