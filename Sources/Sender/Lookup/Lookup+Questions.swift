import PipelineCore
import PushTopics
import TokenState

extension Lookup {
    /// Notifications of a batch with open questions to Redis, by index.
    struct Questions {
        /// Notifications whose token may be dead.
        var tokens: [Int] = []
        /// Notifications with a request id.
        var requests: [Int] = []
        /// Notifications that change the number of their token.
        var badges: [Int] = []

        var isEmpty: Bool { tokens.isEmpty && requests.isEmpty && badges.isEmpty }
        var count: Int { tokens.count + requests.count + badges.count }

        /// Takes the next questions in their order: all, unless that is more work than is left.
        mutating func take(_ workLeft: inout Int) -> Questions {
            let work =
                tokens.count + requests.count * ShardLimits.workOfRequest + badges.count * ShardLimits.workOfBadge
            guard work > workLeft else {
                workLeft -= work
                defer { self = Questions() }
                return self
            }
            var part = Questions()
            part.tokens = Self.take(from: &tokens, work: 1, &workLeft)
            part.requests = Self.take(from: &requests, work: ShardLimits.workOfRequest, &workLeft)
            part.badges = Self.take(from: &badges, work: ShardLimits.workOfBadge, &workLeft)
            return part
        }

        private static func take(from indices: inout [Int], work: Int, _ workLeft: inout Int) -> [Int] {
            guard workLeft > 0 else { return [] }
            let part = Array(indices.prefix((workLeft + work - 1) / work))
            indices.removeFirst(part.count)
            workLeft -= part.count * work
            return part
        }
    }

    /// The questions of a batch. With a complete filter, only its tokens are asked for.
    func questions(of batch: PreparedBatch, now: MonotonicTime) -> Questions {
        var questions = Questions()
        if let filters, filters.isComplete(now: now) {
            questions.tokens = tokensThatMayBeDead(in: batch)
        } else {
            questions.tokens = Array(0..<batch.count)
        }
        if batch.hasLanguages { addLanguages(of: batch, to: &questions) }
        if batch.hasBroadcasts {
            questions.tokens.removeAll { batch.records[Int(batch.rows[$0])].isBroadcast }
        }
        for record in batch.records where record.requestKey != nil {
            questions.requests += Array(record.notifications)
        }
        if batch.hasBadges {
            for record in batch.records { questions.badges += batch.notificationsChangingBadges(in: record) }
        }
        return questions
    }

    /// Adds the notifications whose payload depends on the language that their device was registered with.
    private func addLanguages(of batch: PreparedBatch, to questions: inout Questions) {
        guard questions.tokens.count < batch.count else { return }
        var isAsked = [Bool](repeating: false, count: batch.count)
        for index in questions.tokens { isAsked[index] = true }
        for record in batch.records {
            for index in batch.notificationsWantingLanguage(in: record) { isAsked[index] = true }
        }
        questions.tokens = isAsked.indices.filter { isAsked[$0] }
    }

    /// Indices of the notifications whose token may be dead.
    private func tokensThatMayBeDead(in batch: PreparedBatch) -> [Int] {
        var indices: [Int] = []
        var row = 0
        while row < batch.records.count {
            // Most batches are of one topic, and most topics have no refused tokens.
            let topic = batch.records[row].topic
            let first = batch.records[row].notifications.lowerBound
            while row < batch.records.count, batch.records[row].topic === topic { row += 1 }
            let end = batch.records[row - 1].notifications.upperBound
            let deadTokens = topic.deadTokens?.contents ?? .everyToken
            let hasRefused = routing.hasRefused(of: topic)
            for start in stride(from: first, to: end, by: Self.probesAtOnce) {
                let part = start..<min(start + Self.probesAtOnce, end)
                withUnsafeTemporaryAllocation(of: DeadTokenSet.Contents.Probe.self, capacity: part.count) { probes in
                    for index in part {
                        let probe = deadTokens.probe(DeadTokenSet.hash(batch.tokens[index]))
                        probes.initializeElement(at: index - start, to: probe)
                    }
                    for index in part
                    where deadTokens.contains(probes[index - start])
                        // The token may have registered since the gateway refused it, which only Redis can tell.
                        || hasRefused && isRefused(index, in: batch, of: topic)
                    {
                        indices.append(index)
                    }
                }
            }
        }
        return indices
    }

    private func isRefused(_ index: Int, in batch: PreparedBatch, of topic: Topic) -> Bool {
        let kind = batch.records[Int(batch.rows[index])].kind
        return routing.isRefused(batch.tokens[index], batch.checksums[index], of: topic, kind)
    }

    /// Most probes at once: they must fit on the stack.
    private static let probesAtOnce = 64
}
