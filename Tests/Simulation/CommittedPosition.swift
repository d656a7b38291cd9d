import PipelineCore

@testable import KafkaClient

/// A committed position as the sender means it: the one place of the simulation that reads commit metadata.
struct CommittedPosition {
    /// A version of the metadata that no sender knows.
    static let unknownMetadata = "~9;unknown"

    var offset: Int64
    private var laggards: [PositionMetadata.Laggard]
    /// The names fill the room there is: topics without one may hold the offset.
    let isFull: Bool

    /// A record that is refused by one owner may be sent by another, so it is behind where both classes are.
    private let countsRefused: Bool

    /// Nil where the metadata cannot be read.
    init?(_ committed: SimulatedBroker.Committed?, _ options: WorldPlan.Options) {
        laggards = []
        countsRefused = options.hasDifferentOwners
        guard let committed else {
            offset = 0
            isFull = false
            return
        }
        offset = max(0, committed.offset)
        // An operator leaves none.
        guard !committed.metadata.isEmpty else {
            isFull = false
            return
        }
        guard
            let metadata = try? PositionMetadata(decoding: committed.metadata, committedOffset: committed.offset)
        else { return nil }
        laggards = metadata.laggards
        let capacity = PositionMetadata.capacity(limitBytes: options.metadataBytes, salt: metadata.salt)
        isFull = laggards.count >= capacity
    }

    /// Nothing that a former position of the same assignment names, or holds its offset for, went back.
    ///
    /// A topic that had a name and has none any more is done below the offset only: a repetition, if it comes to that.
    ///
    /// - Parameter isInherited: the former position is that of another owner. One that reads records otherwise takes
    ///   topics for done only where the refused records are, and these nowhere from the offset on.
    func isNotBefore(_ former: CommittedPosition, isInherited: Bool) -> Bool {
        let refused = isInherited && countsRefused ? former.laggard(.refused)?.cursor ?? .max : .max
        let lowest = former.laggards.map(\.cursor).min() ?? former.offset
        return offset >= min(lowest, former.offset)
            && laggards.allSatisfy { laggard in
                let held = isInherited && countsRefused && laggard.topic == .refused ? former.offset : .max
                return former.laggard(laggard.topic).map { min($0.cursor, refused, held) <= laggard.cursor } ?? true
            }
    }

    /// The part that an owner keeps which may read records otherwise: from the offset on, refused records are done
    /// nowhere.
    var takenOver: CommittedPosition {
        guard countsRefused, let place = laggards.firstIndex(where: { $0.topic == .refused }) else { return self }
        var kept = self
        kept.laggards[place].cursor = min(laggards[place].cursor, offset)
        kept.laggards[place].done = laggards[place].done.dropping(from: offset)
        return kept
    }

    /// The lowest cursor.
    var lowest: Int64 { min(offset, laggards.map(\.cursor).min() ?? offset) }
    /// One past all that it says something about.
    var end: Int64 {
        max(offset, laggards.compactMap { $0.done.runs.last.map { $0.upperBound.offset + 1 } }.max() ?? 0)
    }

    /// Every topic is done below the offset.
    var hasNoLaggard: Bool { laggards.isEmpty }

    /// A notification is behind its topic's cursor, or marked as done.
    ///
    /// - Parameter topic: see ``World/topic(of:_:)``.
    func covers(_ offset: Int64, token: Int, topic: AppHash) -> Bool {
        covers(offset, token, topic) && (!countsRefused || covers(offset, token, .refused))
    }

    private func covers(_ offset: Int64, _ token: Int, _ topic: AppHash) -> Bool {
        guard let laggard = laggard(topic) else { return offset < self.offset }
        return offset < laggard.cursor || laggard.done.contains(.init(offset: offset, token: UInt32(token)))
    }

    /// All notifications of a record are behind its topic's cursor.
    func isWhollyBehind(_ offset: Int64, topic: AppHash) -> Bool {
        offset < laggard(topic)?.cursor ?? self.offset
            && (!countsRefused || offset < laggard(.refused)?.cursor ?? self.offset)
    }

    /// The metadata as versions before marks wrote it: the topics that they refused are in the class without a topic.
    static func former(_ metadata: String, at offset: Int64, without refused: Set<AppHash>) -> String {
        guard let known = try? PositionMetadata(decoding: metadata, committedOffset: offset), !known.laggards.isEmpty
        else { return metadata }
        let isRefused = { (laggard: PositionMetadata.Laggard) in
            laggard.topic == .refused || refused.contains(laggard.topic)
        }
        var laggards = known.laggards.filter { !isRefused($0) }.map { (topic: $0.topic, cursor: $0.cursor) }
        if let cursor = known.laggards.filter(isRefused).map(\.cursor).min() { laggards.append((.refused, cursor)) }
        let text = PositionMetadata.choose(laggards, liveNext: offset, limitBytes: 100_000) { _, _ in DoneRanges() }
        return "3;" + text.metadata.dropFirst("3;".count + "AAAAAAAAAAAAAAA".count)
    }

    private func laggard(_ topic: AppHash) -> PositionMetadata.Laggard? { laggards.first { $0.topic == topic } }
}
