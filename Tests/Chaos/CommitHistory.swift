import PipelineCore

/// The positions that the broker had stored for the workers' group, and since when: what stands behind them may not be
/// sent again.
///
/// Built while the run goes on, asked at its end. Pure.
struct CommitHistory: Sendable {
    /// A position as it was seen stored.
    private struct Entry: Sendable {
        /// UNIX seconds of the look.
        var second: UInt32
        var offset: Int64
        var metadata: PositionMetadata
        /// As the broker gave it, to see whether another one followed.
        var text: String
    }

    /// The times at which the broker could not take a commit, UNIX seconds.
    struct Outage: Equatable, Sendable {
        var start: UInt32
        var end: UInt32
    }

    /// By partition, in order of time; only changes.
    private var entries: [[Entry]]
    private(set) var outages: [Outage] = []
    /// Positions whose metadata no version of the program writes.
    private(set) var unreadable = 0

    /// Seconds that a notification may lie in sockets and in the sandbox before it is accepted; the log of acceptances
    /// counts in whole seconds.
    let delaySeconds: UInt32
    /// Seconds for which a worker goes on sending while its commits are not answered: `worker.commit-patience`, and the
    /// time since its last commit.
    let patienceSeconds: UInt32

    init(partitions: Int, delaySeconds: UInt32, patienceSeconds: UInt32) {
        entries = Array(repeating: [], count: partitions)
        self.delaySeconds = delaySeconds
        self.patienceSeconds = patienceSeconds
    }

    /// A look at what the broker has stored of a partition.
    ///
    /// - Parameter second: UNIX seconds; does not fall from call to call.
    mutating func note(partition: Int32, offset: Int64, metadata text: String, second: UInt32) {
        guard entries.indices.contains(Int(partition)), offset >= 0 else { return }
        if let last = entries[Int(partition)].last, last.offset == offset, last.text == text { return }
        do throws(PositionMetadata.DecodingError) {
            let metadata = try PositionMetadata(decoding: text, committedOffset: offset)
            // One a second is all that can be told apart.
            if entries[Int(partition)].last?.second == second { entries[Int(partition)].removeLast() }
            entries[Int(partition)].append(Entry(second: second, offset: offset, metadata: metadata, text: text))
        } catch {
            unreadable += 1
        }
    }

    /// The broker was stopped and answers again.
    mutating func note(_ outage: Outage) {
        outages.append(outage)
    }

    /// Was a notification stored as done so long before a time that nobody had a reason left to send it?
    ///
    /// - Parameter second: when it was accepted, UNIX seconds.
    func isDone(_ position: DoneRanges.Position, topic: TopicHash, partition: Int32, before second: UInt32) -> Bool {
        second > delaySeconds && stands(position, topic, partition, at: second - delaySeconds - 1)
    }

    /// Can a notification have been stored as done when a worker decided whether to send it?
    ///
    /// - Parameter second: when one that it sent was accepted, UNIX seconds. The store is looked at a few times a
    ///   second, and what is done stays done.
    func mayBeDone(_ position: DoneRanges.Position, topic: TopicHash, partition: Int32, by second: UInt32) -> Bool {
        stands(position, topic, partition, at: second + delaySeconds)
    }

    private func stands(
        _ position: DoneRanges.Position,
        _ topic: TopicHash,
        _ partition: Int32,
        at second: UInt32
    ) -> Bool {
        guard entries.indices.contains(Int(partition)),
            let entry = entries[Int(partition)].last(where: { $0.second <= second })
        else { return false }
        if let laggard = entry.metadata.laggards.first(where: { $0.topic == topic }) {
            return position.offset < laggard.cursor || laggard.done.contains(position)
        }
        return position.offset < entry.offset || entry.metadata.doneOfAll.contains(position)
    }

    /// Was something accepted while no worker may have been sending, since the broker had answered no commit for so
    /// long?
    func isUnpermitted(at second: UInt32) -> Bool {
        outages.contains { $0.start + patienceSeconds + delaySeconds < second && second <= $0.end }
    }
}
