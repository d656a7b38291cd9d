import PipelineCore

/// The way past batches that wait for Redis: a topic keeps its order, and needs none among others.
extension Lookup {
    /// Notifications whose token state is known.
    struct Known {
        var batch: PreparedBatch
        /// Their records in the batch.
        var rows: [Int]
        /// Nothing of the batch is left behind, and nothing of those before it.
        var isInOrder: Bool
    }

    /// Takes the oldest batch if its look-up is done. If it waits for long, takes records of topics that wait for
    /// nothing.
    func takeKnown() -> Known? {
        guard let first = entries.first else {
            held = []
            return nil
        }
        if first.isKnown {
            entries.removeFirst()
            first.batch.oldest = first.batch.number
            mayPass = true
            return Known(batch: first.batch, rows: first.left, isInOrder: true)
        }
        guard isLate(first) else {
            held = []
            return nil
        }
        return mayPass ? takePassing(first) : nil
    }

    /// Batches that count towards the limit of the stage. Those that others pass are few: their topics are not fed.
    var countedBatches: Int { held.isEmpty ? count : max(0, count - ShardLimits.passedBatches) }

    /// The topic is to be fed no more, because its notifications here wait for Redis while others pass them.
    func holds(_ topic: Topic) -> Bool { held.contains(topic.index) }

    private func isLate(_ entry: Entry) -> Bool {
        entry.due.map { $0 + ShardLimits.passedAfter <= clock() } ?? false
    }

    private func takePassing(_ first: Entry) -> Known? {
        var waiting: Set<Int32> = []
        var hasPassed = false
        for (index, entry) in entries.enumerated() {
            let left = entry.left
            if !entry.isKnown { waiting.formUnion(entry.waitingTopics) }
            let free = left.filter { !waiting.contains(entry.topic(of: $0)) }
            hasPassed = hasPassed || !free.isEmpty || entry.rest != nil
            guard !free.isEmpty else { continue }
            entry.rest = left.filter { waiting.contains(entry.topic(of: $0)) }
            held = waiting
            if entry.rest?.isEmpty ?? true { entries.remove(at: index) }
            entry.batch.oldest = first.batch.number
            return Known(batch: entry.batch, rows: free, isInOrder: false)
        }
        mayPass = false
        // Without others that pass, all wait for Redis where they are.
        held = hasPassed || !held.isEmpty ? waiting : []
        return nil
    }
}

extension Lookup.Entry {
    /// Records that have not gone on.
    var left: [Int] { rest ?? Array(batch.records.indices) }

    func topic(of row: Int) -> Int32 { batch.records[row].topic.index }

    /// Topics with open questions; all, as long as none is known.
    var waitingTopics: Set<Int32> {
        guard let asked else { return Set(left.map(topic(of:))) }
        var topics: Set<Int32> = []
        for index in [asked.tokens, asked.requests, asked.badges].joined() {
            topics.insert(topic(of: Int(batch.rows[index])))
        }
        return topics
    }
}
