import CRdKafka

/// Leaving the group.
extension KafkaConsumer {
    private static let closingSliceMilliseconds: Int32 = 5
    private static let closingBatch = 64

    /// Begins to leave the group, without waiting. Assigned partitions are revoked as in any rebalance, and
    /// ``onClosed`` is called when the group has let go. The consumer is served as before meanwhile. Idempotent.
    public func beginClose() throws(KafkaError) {
        guard let handle, phase == .open else { return }
        guard let closing = rd_kafka_queue_new(handle.pointer) else {
            preconditionFailure("librdkafka makes a queue or aborts")
        }
        // librdkafka forwards its consumer queue to this one, and signals only on the last of a chain.
        if let error = rd_kafka_consumer_close_queue(handle.pointer, closing) {
            rd_kafka_queue_destroy(closing)
            throw KafkaError(consuming: error, "leaving the group")
        }
        phase = .closing
        formerQueue = queue
        queue = closing
        wakeUp?.watch(closing)
    }

    /// Leaves the group and frees the client; waits for the group, `timeoutMilliseconds` at most. Idempotent.
    ///
    /// Partitions that are still assigned are given back without a call of ``onRevoked``: a caller that wants to commit
    /// does so before. Unanswered commits and questions are answered with an error (`isClosed`) from inside this call.
    /// The call does not wait for a question under way; the client is freed when that has ended.
    ///
    /// The time-out is a watch-dog: librdkafka 2.0.2 can hang in closing, with cooperative-sticky before the first
    /// assignment, and in an answer to the group that has just been left. The instance is then abandoned, because
    /// freeing it would hang too, and the group notices at the end of the session (`session.timeout.ms`). A consumer
    /// with a sticky strategy is not freed at all before librdkafka 2.4, as that may abort the process.
    ///
    /// - Returns: true if the group was left properly.
    @discardableResult
    public func close(timeoutMilliseconds: Int32 = 10_000) -> Bool {
        guard let handle, phase != .closed else { return true }
        wakeUp?.stop()
        wakeUp = nil
        commitWakeUp?.stop()
        commitWakeUp = nil
        keepAlive?.cancel()
        keepAlive = nil
        let hasLeft = leave(by: .now.advanced(by: .milliseconds(timeoutMilliseconds)))
        phase = .closed
        if !hasLeft || mustNotBeFreed { handle.abandon() }
        rd_kafka_queue_poll_callback(commitQueue, 0)
        rd_kafka_queue_destroy(commitQueue)
        rd_kafka_queue_destroy(queue)
        if let formerQueue { rd_kafka_queue_destroy(formerQueue) }
        formerQueue = nil
        self.handle = nil
        endReports()
        return hasLeft
    }

    private func leave(by deadline: ContinuousClock.Instant) -> Bool {
        do throws(KafkaError) {
            try beginClose()
        } catch {
            // A client with a fatal error has no membership to give up.
            onError?(error)
            return true
        }
        while phase == .closing {
            guard abandonRebalances(by: deadline) else { return false }
            for index in 0..<serve(max: Self.closingBatch, timeoutMilliseconds: Self.closingSliceMilliseconds) {
                if let message = fetched[index] { rd_kafka_message_destroy(message) }
            }
            for report in inbox.takeRebalances() { unanswered.append(report) }
            if ContinuousClock.now >= deadline, phase == .closing { return false }
        }
        return true
    }

    /// Delivers the reports that are on the way, and an error for every unanswered commit.
    private func endReports() {
        unanswered.removeAll()
        deliverReports()
        while let answer = inbox.takeCommitAnswer() { answerCommit(answer) }
        let waiting = commits.sorted { $0.key < $1.key }
        commits.removeAll()
        for (_, commit) in waiting {
            let error = KafkaError.closed("commit")
            commit.completion?(error)
            onCommitted?(error)
        }
        questions?.close()
    }
}
