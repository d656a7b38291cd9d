import PipelineCore

@testable import KafkaClient

/// A committed position as the sender means it: the one place of the simulation that reads commit metadata.
struct CommittedPosition {
    /// A version of the metadata that no sender knows.
    static let unknownMetadata = "~9;unknown"

    var offset: Int64
    private var laggards: [PositionMetadata.Laggard]
    /// So long that something may have been left out of it.
    let isFull: Bool

    /// Nil where the metadata cannot be read.
    init?(_ committed: SimulatedBroker.Committed?, limitBytes: Int) {
        laggards = []
        guard let committed else {
            offset = 0
            isFull = false
            return
        }
        offset = max(0, committed.offset)
        isFull = committed.metadata.utf8.count + 40 >= limitBytes
        // An operator leaves none.
        guard !committed.metadata.isEmpty else { return }
        guard
            let metadata = try? PositionMetadata(decoding: committed.metadata, committedOffset: committed.offset)
        else { return nil }
        laggards = metadata.laggards
    }

    /// Every topic is done below the offset.
    var hasNoLaggard: Bool { laggards.isEmpty }

    /// A notification is behind its topic's cursor, or marked as done.
    ///
    /// - Parameter topic: see ``World/topic(of:_:)``.
    func covers(_ offset: Int64, token: Int, topic: TopicHash) -> Bool {
        guard let laggard = laggards.first(where: { $0.topic == topic }) else { return offset < self.offset }
        return offset < laggard.cursor || laggard.done.contains(.init(offset: offset, token: UInt32(token)))
    }
}
