import KafkaClient
import PipelineCore

/// One assignment of one partition of push.requests to a shard; or what is parked of one topic in the partition of
/// push.parked with its number, from where it is read.
final class PartitionState {
    enum Phase {
        case active
        /// Being given back: nothing new is sent, what is in flight may settle until the deadline.
        case revoking
    }

    /// Whose parked lag it is.
    struct Lag {
        /// The source partition's assignment. Lets go of its lags when it ends.
        let owner: PartitionState
        /// ``ParkedLags/topicHash(environment:bundleID:)``.
        let topic: UInt64
    }

    let topic: String
    let partition: Int32
    /// Nil: a partition of push.requests.
    let lag: Lag?
    /// See ``NotificationReference/assignment``.
    let assignment: UInt32
    var frontier = CommitFrontier()
    /// What the commit this assignment started from says is done already.
    let alreadyDone: DoneRanges
    /// Where the assignment started; negative: where the partition begins.
    let startOffset: Int64
    var phase = Phase.active
    var isPaused = false
    /// Publications about its notifications that the broker has not acknowledged.
    var unacknowledged = 0
    /// The last position that was handed to a commit.
    var committed: CommitFrontier.Position?
    /// Where the assignment started, if the broker does not know that.
    var startToCommit: CommitFrontier.Position?
    /// What of it is parked; unused in a lag.
    var parking: PartitionParking
    /// Once anything is coalesced: the offset after the last record that has come to the sending stage, and the
    /// tick at which that, or what is taken in, last moved.
    var passedOffset: Int64 = 0
    var movedAt: UInt64 = 0
    /// Records that were sent without token state.
    var sentWithoutState = RecordMarks()
    /// Of records with a request id, while those are remembered: see ``RequestFingerprint/key(requestID:)``.
    var requestKeys = RecordValues<SipHash>()

    private var runs: [SourceRun] = []

    /// Records of one consumed batch that follow each other.
    private struct SourceRun {
        var firstRecord: UInt32
        var count: UInt32
        var batch: KafkaBatch
        var firstIndex: Int
        var takenAt: MonotonicTime
    }

    /// - Parameter writer: see ``PartitionParking/writer``.
    init(
        topic: String,
        partition: Int32,
        assignment: UInt32,
        startOffset: Int64,
        alreadyDone: DoneRanges,
        writer: String = "",
        lag: Lag? = nil
    ) {
        self.topic = topic
        self.partition = partition
        self.assignment = assignment
        self.startOffset = startOffset
        self.alreadyDone = alreadyDone
        self.lag = lag
        parking = PartitionParking(writer: writer)
    }

    /// The state, and those of its lags.
    var withLags: [PartitionState] {
        [self] + parking.lags.sorted { $0.key < $1.key }.map(\.value)
    }

    /// Remembers where a record came from, until the frontier has passed it.
    func keepSource(record: UInt32, batch: KafkaBatch, index: Int, takenAt: MonotonicTime) {
        if let last = runs.indices.last,
            runs[last].batch === batch,
            runs[last].firstRecord &+ runs[last].count == record,
            runs[last].firstIndex + Int(runs[last].count) == index
        {
            runs[last].count += 1
            return
        }
        trimSources()
        runs.append(SourceRun(firstRecord: record, count: 1, batch: batch, firstIndex: index, takenAt: takenAt))
    }

    /// When the oldest record that is not done was taken in; nil when all are.
    var oldestTakenAt: MonotonicTime? {
        trimSources()
        return runs.first?.takenAt
    }

    /// Lets go of the batches of which every record is behind the frontier.
    func trimSources() {
        let first = frontier.firstRecord
        let spent = runs.prefix { Int32(bitPattern: $0.firstRecord &+ $0.count &- first) <= 0 }.count
        if spent > 0 { runs.removeFirst(spent) }
        sentWithoutState.forget(before: first)
        requestKeys.forget(before: first)
    }

    /// Where a record came from; nil once the frontier has passed it.
    func source(of record: UInt32) -> (batch: KafkaBatch, index: Int)? {
        // Runs follow each other without a gap, and there is one for each small batch behind a frontier that stands still.
        guard let first = runs.first?.firstRecord else { return nil }
        let distance = record &- first
        // The first run is never beyond the record, for its own distance is 0.
        let run = runs[runs.partitioningIndex { $0.firstRecord &- first > distance } - 1]
        guard record &- run.firstRecord < run.count else { return nil }
        return (run.batch, run.firstIndex + Int(record &- run.firstRecord))
    }
}
