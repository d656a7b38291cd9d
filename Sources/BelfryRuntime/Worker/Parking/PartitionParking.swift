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

    /// Which copies count, while anything is lag.
    private(set) var segments = ParkedSegments()
    /// By topic, while it has lag; by both numbers ascending.
    private var followers: [UInt64: [Follower]] = [:]

    /// The first of some new notifications that went into the lanes behind parked ones, not all of which were done.
    private struct Follower {
        /// Offset of its record in the source.
        var source: Int64
        /// The copies that it followed lie below.
        var end: Int64
    }

    struct Held {
        var batch: PreparedBatch
        var index: Int
    }

    init(writer: String) {
        self.writer = writer
    }

    /// Takes over what other assignments wrote. Of a topic that was made anew since, nothing is known.
    mutating func inherit(_ segments: ParkedSegments, end: Int64) {
        if segments.segments.last?.start ?? 0 <= end { self.segments = segments }
    }

    /// A topic has no lag any more.
    mutating func finish(_ topic: UInt64) {
        places.finish(topic)
        lags[topic] = nil
        followers[topic] = nil
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

    // MARK: Order across the two topics

    /// The assignment may write copies from an offset of push.parked on.
    mutating func begin(at end: Int64, source: Int64) {
        guard !segments.segments.contains(where: { $0.writer == writer }) else { return }
        segments.begin(.init(start: end, source: max(0, source), writer: writer))
    }

    /// A new notification of a topic goes into the lanes.
    ///
    /// - Parameter source: offset of its record.
    mutating func noteFollower(of topic: UInt64, source: @autoclosure () -> Int64?) {
        guard let lag = places.lags[topic], followers[topic]?.last?.end ?? .min < lag.end, let source = source() else {
            return
        }
        followers[topic, default: []].append(Follower(source: source, end: lag.end))
    }

    /// A new notification has gone into the lanes behind newer ones.
    mutating func noteLateFollower(of topic: UInt64, source: Int64) {
        guard let last = followers[topic]?.last, let index = followers[topic]?.indices.last else { return }
        followers[topic]?[index].source = min(last.source, source)
    }

    // MARK: What is committed

    /// What a commit says.
    struct ToCommit {
        var position: CommitFrontier.Position
        /// Nothing from this offset of the source on may be told to be done.
        var sourceLimit: Int64?
    }

    /// What a commit says about push.parked; nil before anything is known of it.
    ///
    /// Where there is no room to say what of a topic's lag is done, some of it will be sent again after a crash; so must be
    /// what followed it, or the last that a device gets is not its newest.
    mutating func toCommit(metadataLimitBytes limit: Int) -> ToCommit? {
        guard let end = places.end else { return startToCommit.map { ToCommit(position: $0) } }
        let offset = lags.values.map(\.cursor).min() ?? end
        segments.forget(before: offset)
        var parked = ParkedLags()
        parked.segments = segments
        for (topic, lag) in lags.sorted(by: { $0.key < $1.key }) {
            if topic == ParkedPartition.others {
                parked.othersMayLag = true
                continue
            }
            let done = lag.doneBeyondCursor(limit: limit / DoneRanges.shortestRunBytes + 1)
            parked.lags.append(.init(topic: topic, cursor: lag.cursor, done: done))
            followers[topic]?.removeAll { $0.end <= lag.cursor }
        }
        let encoding = parked.encoded(committedOffset: offset, limitBytes: limit)
        return ToCommit(
            position: .init(offset: offset, metadata: encoding.text),
            sourceLimit: encoding.incomplete.compactMap { followers[$0]?.first?.source }.min()
        )
    }
}

extension PartitionState {
    /// The first offset that is not done.
    var cursor: Int64 { frontier.frontierOffset ?? startOffset }

    fileprivate func doneBeyondCursor(limit: Int) -> DoneRanges {
        frontier.nextOffset == nil ? alreadyDone : frontier.doneRanges(limit: limit)
    }
}
