import BelfrySupport
import KafkaClient
import PipelineCore
import PushTopics

/// An order to `belfry offsets set`.
public struct PositionOrder: Equatable, Sendable {
    /// The position to move to.
    public enum Target: Equatable, Sendable {
        case beginning
        case end
        case offset(Int64)
        /// One topic alone; its environment as its records spell it.
        case cursor(Int64, bundleID: String, environment: String)
    }

    public var partition: Int32
    public var target: Target

    public init(partition: Int32, target: Target) {
        self.partition = partition
        self.target = target
    }
}

/// A committed position, and the one that takes its place.
public struct PositionChange: Equatable, Sendable {
    public let before: PartitionPosition
    public let after: PartitionPosition

    /// - Parameter metadataBytes: most bytes of the commit's metadata.
    /// - Throws: `ToolError.invalidInput`: the order does not fit the partition; `ToolError.notFound`: there is nothing
    ///   to change.
    init(
        _ order: PositionOrder,
        of before: PartitionPosition,
        metadataBytes: Int = KafkaSettings().commitMetadataBytes
    ) throws(ToolError) {
        func moved(to offset: Int64) throws(ToolError) -> PositionMetadata.Position? {
            try Self.moved(before, to: offset, metadataBytes)
        }
        var known = before.known
        let position: PositionMetadata.Position?
        switch order.target {
        case .beginning: position = try moved(to: before.log.low)
        case .end: position = try moved(to: before.log.high)
        case .offset(let offset): position = try moved(to: offset)
        case .cursor(let cursor, let bundleID, let environment):
            // A topic that an operator typed need not be configured.
            let name = AppHashNames.Name(bundleID: bundleID, environment: environment)
            known.append(name)
            position = try Self.moving(name, to: cursor, in: before, metadataBytes)
        }
        guard let position else {
            throw .invalidInput(["app: the metadata of the commit names as many apps as it can already"])
        }
        self.before = before
        after = PartitionPosition(
            KafkaPartitionOffset(before.place, offset: position.offset, metadata: position.metadata),
            log: before.log,
            known: known
        )
    }

    private static func moved(
        _ before: PartitionPosition,
        to offset: Int64,
        _ metadataBytes: Int
    ) throws(ToolError) -> PositionMetadata.Position? {
        try check("offset", offset, in: before.log.low...max(before.log.low, before.log.high))
        var metadata = PositionMetadata()
        if case .understood(let former) = before.metadata { metadata = former.moved(to: offset) }
        return metadata.position(at: offset, limitBytes: metadataBytes)
    }

    private static func moving(
        _ name: AppHashNames.Name,
        to cursor: Int64,
        in before: PartitionPosition,
        _ metadataBytes: Int
    ) throws(ToolError) -> PositionMetadata.Position? {
        let faults = PublishOrder.faults(bundleID: name.bundleID, spread: 1)
        guard faults.isEmpty else { throw .invalidInput(faults) }
        guard let offset = before.offset else {
            throw .notFound("\(before.place): nothing is committed; set its offset first")
        }
        var metadata = PositionMetadata()
        switch before.metadata {
        case .understood(let former): metadata = former
        case .missing, .uncommitted: break
        case .notUnderstood:
            throw .notFound("\(before.place): the metadata of the commit is not understood; set its offset first")
        case .madeFor(let made, _):
            throw .notFound("\(before.place): the metadata of the commit is for offset \(made); set its offset first")
        }
        try check("cursor", cursor, in: min(before.log.low, offset)...offset)
        return metadata.moving(
            AppHash(bundleID: name.bundleID, environment: name.environment, salt: metadata.salt),
            to: cursor,
            committedOffset: offset
        ).position(at: offset, limitBytes: metadataBytes)
    }

    private static func check(_ key: String, _ value: Int64, in range: ClosedRange<Int64>) throws(ToolError) {
        guard !range.contains(value) else { return }
        throw .invalidInput(["\(key): found \(value); allowed: \(range.allowedText)"])
    }

    /// One JSON object on one line, without its end.
    public var json: String {
        var line = JSONLine()
        line.append("before", before.line)
        line.append("after", after.line)
        return line.text
    }

    /// One line for the partition, and one for each topic that is behind or was.
    public var text: String {
        var lines = ["\(before.place): committed \(Self.text(before.offset)) → \(Self.text(after.offset))"]
        switch before.metadata {
        case .notUnderstood:
            lines.append("  metadata that is not understood is replaced: apps behind the offset are forgotten")
        case .madeFor:
            lines.append("  metadata of another offset is replaced: apps behind the offset are forgotten")
        case .uncommitted, .understood, .missing: break
        }
        var topics = before.laggards.map(\.topic)
        topics += after.laggards.map(\.topic).filter { !topics.contains($0) }
        for topic in topics {
            let cursors = [before, after].map { position in
                position.laggards.first { $0.topic == topic }.map { "cursor \($0.cursor)" } ?? "not behind"
            }
            let change = cursors[0] == cursors[1] ? "\(cursors[0]), as before" : "\(cursors[0]) → \(cursors[1])"
            lines.append("  \(after.names.text(of: topic)): \(change)")
        }
        return lines.joined(separator: "\n")
    }

    private static func text(_ offset: Int64?) -> String { offset.map { "\($0)" } ?? "nothing" }
}
