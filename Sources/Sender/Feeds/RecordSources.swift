import KafkaClient
import PipelineCore

/// The consumed records behind the open records of a feed: where each lies in its batch.
struct RecordSources {
    /// Records of one consumed batch that follow each other.
    private struct Run {
        var firstRecord: UInt32
        var count: UInt32
        var batch: KafkaBatch
        var firstIndex: Int
        var takenAt: MonotonicTime
        /// The records were copied out of the fetch buffer.
        var isCopied = false

        /// One of its records, in memory of its own.
        func copy(of index: UInt32) -> Run {
            Run(
                firstRecord: firstRecord &+ index,
                count: 1,
                batch: batch.copy(of: firstIndex + Int(index)),
                firstIndex: 0,
                takenAt: takenAt,
                isCopied: true
            )
        }

        /// Gives up its first records.
        mutating func leave(first taken: UInt32) {
            firstRecord &+= taken
            firstIndex += Int(taken)
            count -= taken
        }
    }

    /// The price of a small record's copy, as bytes.
    private static let leastBytes = 1024

    private var runs: [Run] = []
    /// The runs at the beginning that are known to be copied.
    private var copiedRuns = 0

    /// The time of taking in the oldest record that is not forgotten; nil: there is none.
    var oldestTakenAt: MonotonicTime? { runs.first?.takenAt }

    /// Remembers the source of a record that lies in its batch right behind the last one. False: it does not.
    mutating func extend(to record: UInt32, batch: KafkaBatch, index: Int) -> Bool {
        guard let last = runs.indices.last,
            runs[last].batch === batch,
            runs[last].firstRecord &+ runs[last].count == record,
            runs[last].firstIndex + Int(runs[last].count) == index
        else { return false }
        runs[last].count += 1
        return true
    }

    /// Remembers the source of a record, which follows the last one, anywhere.
    mutating func append(_ record: UInt32, batch: KafkaBatch, index: Int, takenAt: MonotonicTime) {
        runs.append(Run(firstRecord: record, count: 1, batch: batch, firstIndex: index, takenAt: takenAt))
    }

    /// Releases the batches whose records all lie before a record.
    mutating func forget(before record: UInt32) {
        let spent = runs.prefix { Int32(bitPattern: $0.firstRecord &+ $0.count &- record) <= 0 }.count
        guard spent > 0 else { return }
        runs.removeFirst(spent)
        copiedRuns = max(0, copiedRuns - spent)
    }

    /// Copies records taken in before a time out of their fetch buffers, the oldest first.
    ///
    /// - Parameter room: the bytes that may be copied; those of the records are taken off.
    mutating func unpin(takenBefore time: MonotonicTime, room: inout Int) {
        copiedRuns = copy(from: copiedRuns, room: &room) { $0.takenAt < time }
    }

    /// Copies the latest records out of the fetch buffers of their batch.
    mutating func unpin(of batch: KafkaBatch) {
        let others = runs.lastIndex { $0.batch !== batch }.map { $0 + 1 } ?? 0
        var room = Int.max
        _ = copy(from: others, room: &room) { _ in true }
    }

    /// Copies the records of runs that follow each other, while there is room and a run is meant.
    ///
    /// - Returns: the index of the first run that is not copied.
    private mutating func copy(from start: Int, room: inout Int, while isMeant: (Run) -> Bool) -> Int {
        var copied: [Run] = []
        var end = start
        while end < runs.count, room > 0, isMeant(runs[end]) {
            let run = runs[end]
            var taken: UInt32 = 0
            while taken < run.count, room > 0 {
                room -= max(Self.leastBytes, run.batch[run.firstIndex + Int(taken)].value.count)
                copied.append(run.isCopied ? run : run.copy(of: taken))
                taken += 1
            }
            guard taken == run.count else {
                runs[end].leave(first: taken)
                break
            }
            end += 1
        }
        guard !copied.isEmpty else { return start }
        runs.replaceSubrange(start..<end, with: copied)
        return start + copied.count
    }

    /// The source of a record; nil: it is forgotten.
    func source(of record: UInt32) -> (batch: KafkaBatch, index: Int)? {
        // Runs follow each other without a gap, and there is one for each small batch behind a cursor that stands
        // still.
        guard let first = runs.first?.firstRecord else { return nil }
        let distance = record &- first
        // The first run is never beyond the record, because its own distance is 0.
        let run = runs[runs.partitioningIndex { $0.firstRecord &- first > distance } - 1]
        guard record &- run.firstRecord < run.count else { return nil }
        return (run.batch, run.firstIndex + Int(record &- run.firstRecord))
    }
}
