import PipelineCore

/// The offset before which the broker may forget a partition's records.
///
/// Nobody may need them any more: neither this program nor a worker that takes the partition over, which reads from the
/// lowest cursor of any topic in it, and that lies before the committed offset.
enum LogTrim {
    /// Behind what has been read: nobody reads it again, but it may be looked at.
    private static let margin: Int64 = 1000

    /// Of push.requests; `nil`: all of it may be needed.
    ///
    /// - Parameters:
    ///   - committed: the offset that the workers' group has committed; negative: none.
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

    private static func offset(behind needed: Int64) -> Int64? {
        needed > margin ? needed - margin : nil
    }
}
