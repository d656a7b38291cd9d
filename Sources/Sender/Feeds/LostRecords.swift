import BelfrySupport
import KafkaClient
import Logging

/// Records of a partition that retention deleted before they were read.
struct LostRecords {
    /// From the first to the last of them; records of other topics may lie in between.
    let offsets: ClosedRange<Int64>
    /// Offsets of them.
    let count: Int64
    /// No record of them was published before, UNIX milliseconds; nil: that is not known.
    var since: Int64?
    /// The topics that they may be of, as far as these are known.
    var topics: [String] = []
    /// Publishers' ids of those that were read before.
    var requestIDs: [String] = []

    /// Most names in a line of the log. [ours]
    private static let mostNames = 10

    init(_ offsets: ClosedRange<Int64>) {
        self.offsets = offsets
        count = Int64(offsets.count)
    }

    /// The records that several topics of one partition have lost: each counts once. Nil: there are no such topics.
    init?(_ parts: [LostRecords]) {
        let starts = parts.map(\.offsets.lowerBound)
        guard let first = starts.min(), let last = parts.map(\.offsets.upperBound).max() else { return nil }
        offsets = first...last
        count = Self.unionCount(parts.map(\.offsets))
        let times = parts.compactMap(\.since)
        since = times.count == parts.count ? times.min() : nil
        for name in parts.flatMap(\.topics) where !topics.contains(name) { topics.append(name) }
        requestIDs = parts.flatMap(\.requestIDs)
    }

    /// The number of values that lie in at least one of the ranges.
    private static func unionCount(_ ranges: [ClosedRange<Int64>]) -> Int64 {
        var count: Int64 = 0
        var end = Int64.min
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) where end <= range.upperBound {
            count += range.upperBound + 1 - max(end, range.lowerBound)
            end = range.upperBound + 1
        }
        return count
    }

    /// Values beside a line of the log.
    var metadata: Logger.Metadata {
        var metadata: Logger.Metadata = [
            "offset": "\(offsets.lowerBound)", "last": "\(offsets.upperBound)", "lost": "\(count)",
        ]
        if let since { metadata["since"] = "\(UTCTimestamp.text(unixMilliseconds: since))" }
        if !topics.isEmpty { metadata["apps"] = "\(Self.text(topics))" }
        if !requestIDs.isEmpty { metadata["requests"] = "\(Self.text(requestIDs))" }
        return metadata
    }

    private static func text(_ names: [String]) -> String {
        let shown = names.prefix(mostNames).joined(separator: ", ")
        return names.count > mostNames ? "\(shown) and \(names.count - mostNames) more" : shown
    }
}

extension PartitionAssignment {
    /// Tells of the first record behind those that were lost: they were published before it.
    ///
    /// - Parameter message: one that was read; an error, or one from before, tells nothing.
    func endLoss(at message: KafkaMessageView, logger: Logger) {
        guard let lost, !message.isError, lost.offsets.upperBound < message.offset else { return }
        self.lost = nil
        var metadata = lost.metadata
        metadata["partition"] = "\(number)"
        metadata["first"] = "\(message.offset)"
        if let until = message.timestampMilliseconds {
            metadata["until"] = "\(UTCTimestamp.text(unixMilliseconds: until))"
        }
        if let id = message.requestID { metadata["next-request"] = "\(id)" }
        logger.warning("first record behind those that retention deleted", metadata: metadata)
    }
}
