import PipelineCore

/// What one assignment of a source partition has in push.parked, on its way there, and on its way back.
struct PartitionParking {
    var places = ParkedPartition()
    var copies = CopyQueue()
    /// Before that the producer is given no more copies.
    var copiesWaitUntil = MonotonicTime(nanoseconds: 0)
    /// What of each topic's lag has its outcome, by the topic's hash.
    var lags: [UInt64: PartitionState] = [:]
    /// New notifications of topics that have almost caught up, in order: they follow when all was read.
    var held: [UInt64: [Held]] = [:]
    /// Senders, by index, that do not work and of which nothing waits in the lanes: what is new is parked.
    var handsOver: Set<Int32> = []
    /// Names the assignment in its copies.
    let writer: String
    /// The last position of push.parked that was handed to a commit, and when.
    var committed: CommitFrontier.Position?
    var committedAt = MonotonicTime(nanoseconds: 0)
    /// Where the assignment began, if the broker has refused to commit that.
    var startToCommit: CommitFrontier.Position?

    struct Held {
        var batch: PreparedBatch
        var index: Int
    }

    init(writer: String) {
        self.writer = writer
    }

    /// Whether what is new of a topic may go into its lanes, behind everything that was parked.
    func isCaughtUp(_ topic: UInt64) -> Bool {
        places.isCaughtUp(topic) && held[topic] == nil
    }

    /// Whether everything before the topic's new notifications has its outcome.
    func isDone(_ topic: UInt64) -> Bool {
        guard let lag = lags[topic] else { return true }
        return isCaughtUp(topic) && lag.frontier.recordCount == 0 && lag.unacknowledged == 0
    }

    /// Offsets between the first copy that is not done and the end, those of other topics among them.
    var rest: Int64 {
        guard let first = lags.values.map(\.cursor).min() else { return 0 }
        return max(0, (places.end ?? first) - first)
    }

    /// What a commit says about push.parked; nil before anything is known of it.
    func position(metadataLimitBytes: Int) -> CommitFrontier.Position? {
        guard let end = places.end else { return startToCommit }
        var parked = ParkedLags()
        for (topic, lag) in lags.sorted(by: { $0.key < $1.key }) {
            if topic == ParkedPartition.others {
                parked.othersMayLag = true
                continue
            }
            parked.lags.append(.init(topic: topic, cursor: lag.cursor, done: lag.doneBeyondCursor))
        }
        let offset = lags.values.map(\.cursor).min() ?? end
        return CommitFrontier.Position(
            offset: offset,
            metadata: parked.encoded(committedOffset: offset, limitBytes: metadataLimitBytes)
        )
    }
}

extension PartitionState {
    /// The first offset that is not done.
    var cursor: Int64 { frontier.frontierOffset ?? startOffset }

    fileprivate var doneBeyondCursor: DoneRanges {
        frontier.nextOffset == nil ? alreadyDone : frontier.doneRanges(limit: ShardLimits.metadataBytes / 8)
    }
}
