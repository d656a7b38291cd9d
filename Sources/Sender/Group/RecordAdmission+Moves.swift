import KafkaClient
import PipelineCore
import PushSchemas
import PushTopics

/// Records over the quota of their app, which go on in another lane, and those that cannot.
extension RecordAdmission {
    /// A record that is taken in goes on in another lane: it is over the quota of its app, and nothing of it was sent.
    func isToBeMoved(_ request: SendRequestView, _ admitted: AdmittedRecord, _ account: AppAccount) -> Bool {
        // A record that is discarded, or fed for a probe or a dead letter, is needed here.
        guard admitted.topic.urgentQuota != nil, !admitted.isDiscarded, account.feeding == .all else { return false }
        updateQuota(account)
        let (open, hasBegun) = admitted.feed.progress(at: admitted.message.offset, tokens: request.tokenCount)
        // To move the rest of one that has begun would send again what is done.
        guard hasBegun || account.quota?.admits(open) != false else {
            return intake.outcomes.mayMove(bytes: admitted.message.value.count)
        }
        if hasBegun { account.quota?.take(open) }
        admitted.feed.countNext(of: admitted.topic)
        return false
    }

    /// A topic may take one record more, though it be moved: beyond that only topics with a quota wait for the other
    /// lane's Kafka topic.
    func hasRoomForMove(_ account: AppAccount, times: Int = 1) -> Bool {
        guard let topic = account.topic, topic.urgentQuota != nil else { return true }
        return intake.outcomes.hasRoom(forMovesOf: topic, times: times)
    }

    /// Takes in the next records that could not be moved, as many of one consumed batch as one prepared batch takes.
    ///
    /// - Returns: see ``LiveReader/read(now:)``; nil: there are none.
    func takeReturned(now: MonotonicTime) -> (batch: PreparedBatch?, work: Int?)? {
        var source: KafkaBatch?
        while let (record, feed) = returned.first, source == nil || !intake.hasEnough {
            // Else it is read again.
            if !feed.isOver, feed.partition.phase == .active, let (batch, index) = feed.source(of: record) {
                if source == nil { intake.begin(batch, now: now) }
                guard source == nil || source === batch else { break }
                source = batch
                add(record, batch[index], at: index, to: feed)
            }
            _ = returned.popFirst()
        }
        guard source != nil else { return nil }
        let work = intake.seenWork
        return (intake.end(), work)
    }

    /// Takes in a record that has entered its feed before. It needs no credit, and counts for neither quota nor pace.
    private func add(_ number: UInt32, _ message: KafkaMessageView, at index: Int, to feed: AppFeed) {
        intake.countSeen(message)
        do throws(RecordRefusal) {
            let request = try decode(message)
            let salt = feed.partition.salt
            let found = try directory.find(key: message.key, environment: request.environment, salt: salt)
            guard let topic = found.account.topic else {
                throw RecordRefusal(reason: "bundle-without-certificate", detail: "no certificate for the bundle")
            }
            intake.addRequest(
                request,
                AdmittedRecord(
                    message: message,
                    index: index,
                    feed: feed,
                    topic: topic,
                    shard: found.shard,
                    number: number
                )
            )
        } catch {
            // It had all of this when it entered. Should that be gone, one record ends, and not the worker.
            intake.refuse(number, of: feed, error)
        }
    }
}
