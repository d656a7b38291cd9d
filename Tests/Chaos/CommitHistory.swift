import PipelineCore

/// The positions that the broker had stored for the workers' groups, and since when: what stands behind them may not
/// be sent again.
///
/// Built while the run goes on, asked at its end. Pure.
struct CommitHistory: Sendable {
    /// A position as it was seen stored.
    private struct Entry: Sendable {
        /// UNIX seconds of the look.
        var second: UInt32
        var offset: Int64
        var metadata: PositionMetadata

        /// The notification is behind its topic's cursor, or marked as done.
        func stands(_ position: DoneRanges.Position, _ topic: String) -> Bool {
            if let laggard = laggard(topic) {
                return position.offset < laggard.cursor || laggard.done.contains(position)
            }
            return position.offset < offset
        }

        /// The notification is behind its topic's cursor, which never goes back. Marks may: they take the room that the
        /// names leave, and what finds none is sent again.
        func isBehindCursor(_ position: DoneRanges.Position, _ topic: String) -> Bool {
            position.offset < (laggard(topic)?.cursor ?? offset)
        }

        /// - Parameter topic: bundle ID; records name no environment.
        private func laggard(_ topic: String) -> PositionMetadata.Laggard? {
            guard !metadata.laggards.isEmpty else { return nil }
            let hash = AppHash(bundleID: topic, environment: "", salt: metadata.salt)
            return metadata.laggards.first { $0.topic == hash }
        }
    }

    /// The times at which the broker could not take a commit, UNIX seconds.
    struct Outage: Equatable, Sendable {
        var start: UInt32
        var end: UInt32
    }

    /// By partition, in order of time; only changes.
    private var entries: [RequestPartition: [Entry]] = [:]
    /// By partition: the last one's metadata as the broker gave it, to see whether another one followed.
    private var texts: [RequestPartition: String] = [:]
    private(set) var outages: [Outage] = []
    /// Positions whose metadata no version of the program writes.
    private(set) var unreadable = 0

    /// Seconds that a notification may lie in sockets and in the sandbox before it is accepted; the log of acceptances
    /// counts in whole seconds.
    let delaySeconds: UInt32
    /// Seconds for which a worker goes on sending while its commits are not answered: `worker.commit-patience`, and the
    /// time since its last commit.
    let patienceSeconds: UInt32

    /// Bounds of repetitions of which nothing was stored: an outcome is followed by a commit within the patience.
    var repeatBounds: RepeatAudit.Bounds {
        RepeatAudit.Bounds(delaySeconds: delaySeconds, reachSeconds: patienceSeconds + delaySeconds)
    }

    init(delaySeconds: UInt32, patienceSeconds: UInt32) {
        self.delaySeconds = delaySeconds
        self.patienceSeconds = patienceSeconds
    }

    /// A look at what the broker has stored of a partition.
    ///
    /// - Parameter second: UNIX seconds; does not fall from call to call.
    mutating func note(partition: RequestPartition, offset: Int64, metadata text: String, second: UInt32) {
        guard offset >= 0 else { return }
        if let last = entries[partition]?.last, last.offset == offset, texts[partition] == text { return }
        do throws(PositionMetadata.DecodingError) {
            let metadata = try PositionMetadata(decoding: text, committedOffset: offset)
            entries[partition, default: []].append(Entry(second: second, offset: offset, metadata: metadata))
            texts[partition] = text
        } catch {
            unreadable += 1
        }
    }

    /// The broker was stopped and answers again.
    mutating func note(_ outage: Outage) {
        outages.append(outage)
    }

    /// Was a notification stored as done so long before a time that no worker had a reason left to send it?
    ///
    /// A mark counts only if each look up to that time saw it: a worker may have begun with any of them.
    ///
    /// - Parameter second: when it was accepted, UNIX seconds.
    func isDone(
        _ position: DoneRanges.Position,
        topic: String,
        partition: RequestPartition,
        before second: UInt32
    ) -> Bool {
        guard second > delaySeconds, let looks = looks(at: second - delaySeconds - 1, partition) else { return false }
        guard looks.last.stands(position, topic), looks.afterOutage?.stands(position, topic) ?? true else {
            return false
        }
        return looks.last.isBehindCursor(position, topic)
            || looks.later.prefix { $0.second <= second }.allSatisfy { $0.stands(position, topic) }
    }

    /// Can a notification have been stored as done when a worker decided whether to send it?
    ///
    /// - Parameter second: when one that it sent was accepted, UNIX seconds. The store is looked at a few times a
    ///   second, and what is done stays done.
    func mayBeDone(
        _ position: DoneRanges.Position,
        topic: String,
        partition: RequestPartition,
        by second: UInt32
    ) -> Bool {
        looks(at: second + delaySeconds, partition)?.last.stands(position, topic) ?? false
    }

    /// The last look by a time, the later ones, and the first one after the broker came back if it was stopped after
    /// that: it may have forgotten what it took in its last moments.
    private func looks(
        at second: UInt32,
        _ partition: RequestPartition
    ) -> (last: Entry, afterOutage: Entry?, later: ArraySlice<Entry>)? {
        guard let entries = entries[partition] else { return nil }
        guard let index = entries.lastIndex(where: { $0.second <= second }) else { return nil }
        let later = entries[(index + 1)...]
        guard let next = later.first else { return (entries[index], nil, later) }
        let isApart = outages.contains { entries[index].second <= $0.end && $0.start <= next.second }
        return (entries[index], isApart ? next : nil, later)
    }

    /// Was something accepted while no worker may have been sending, since the broker had answered no commit for so
    /// long?
    func isUnpermitted(at second: UInt32) -> Bool {
        outages.contains { $0.start + patienceSeconds + delaySeconds < second && second <= $0.end }
    }
}
