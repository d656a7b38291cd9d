import PipelineCore
import PushTopics
import RequestLanes
import TokenState

/// Names and progress of single records.
extension AppFeed {
    /// The name of a notification among the changes of its token's number: the same for all requests with one id while
    /// those are remembered, and for one place of the log, be the record moved since. Nil once the cursor has passed
    /// the record, or when the feed has ended: a batch that waits for Redis may outlive the partition.
    func badgeMark(of record: UInt32, position: UInt32, token: UnsafeRawBufferPointer) -> BadgeMark? {
        guard !isOver, let offset = ledger.frontier.offset(of: record) else { return nil }
        let key =
            origins[record]?.key(position: position) ?? requestKeys[record]
            ?? RequestFingerprint.key(
                partition: partition.place.partition,
                offset: offset,
                position: position,
                in: partition.lane
            )
        return BadgeMark(RequestFingerprint(token: token, key: key), claimedAt: partition.claimedAt)
    }

    /// A record that is to be taken in: its tokens that are not done, and whether some token has its outcome.
    func progress(at offset: Int64, tokens: Int) -> (open: Int, hasBegun: Bool) {
        let open = ledger.openTokens(at: offset, of: tokens)
        return (open, open < tokens || summaries.settledCount(offset) > 0)
    }

    /// Notes that the next record to be taken in counts against the quota of its topic.
    func countNext(of topic: Topic) {
        let next = ledger.frontier.firstRecord &+ UInt32(truncatingIfNeeded: ledger.frontier.recordCount)
        counted.append(topic.index, for: next)
    }

    /// Gives back what open records count against quotas: they are fed anew, and counted then.
    func giveBackQuotas() {
        let frontier = ledger.frontier
        for account in [account] + sharers where account.quota != nil {
            let open = (0..<UInt32(frontier.recordCount)).reduce(0) { sum, step in
                let record = frontier.firstRecord &+ step
                return counted[record] == account.topic?.index ? sum + frontier.remaining(of: record) : sum
            }
            account.quota?.giveBack(open)
        }
    }
}

extension MovedOrigin {
    /// The key of a place in the record, as if it had not been moved.
    func key(position: UInt32) -> SipHash {
        RequestFingerprint.key(partition: partition, offset: offset, position: position, in: .urgent)
    }
}
