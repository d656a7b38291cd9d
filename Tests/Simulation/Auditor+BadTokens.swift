import PipelineCore
import PushSchemas

@testable import KafkaClient

/// The books of tokens that nothing can be sent to: each ends in a dead letter, unless its record
/// expires first, or is discarded.
extension Auditor {
    /// Tokens of a record, bad ones included.
    func tokenCount(of record: Int) -> Int {
        world.records[record].tokens.count + world.records[record].badTokens
    }

    /// The outcome of a bad token is stored.
    func storedBad(_ outcome: PushOutcome, of record: Int) {
        let entry = world.records[record]
        let isOver = entry.expires > 0 && World.expiration(of: entry) < World.unixSeconds(now)
        let hasExpired = outcome.kind == .expired && (isOver || world.hasClockJumps)
        let wasDiscarded = outcome.kind == .aborted && isDiscarded(record)
        check(
            outcome.kind == .deadLettered && outcome.reason == "token-length" || hasExpired || wasDiscarded,
            8,
            "a bad token of record \(record) is \(outcome.kind) \(outcome.reason)"
        )
        badOutcomes[record, default: []].insert(Int(outcome.tokenIndex))
    }

    /// Checks that the bad tokens that a position covers have their outcomes.
    ///
    /// - Returns: all are covered.
    func checkBadTokens(of entry: SimulatedBroker.Stored, _ position: CommittedPosition, _ topic: AppHash) -> Bool {
        guard world.records[entry.ordinal].badTokens > 0 else { return true }
        var isWhole = true
        for index in badTokens(of: entry.ordinal) {
            guard position.covers(entry.record.offset, token: index, topic: topic) else {
                isWhole = false
                continue
            }
            check(
                badOutcomes[entry.ordinal]?.contains(index) == true || isBadExcused(entry),
                1,
                "record \(entry.ordinal), bad token \(index) is committed, but its outcome is not stored"
            )
        }
        return isWhole
    }

    func areBadTokensBehind(_ position: CommittedPosition, _ entry: SimulatedBroker.Stored) -> Bool {
        guard world.records[entry.ordinal].badTokens > 0, !isBadExcused(entry) else { return true }
        let topic = world.topic(of: entry.ordinal)
        return badTokens(of: entry.ordinal).allSatisfy {
            position.covers(entry.record.offset, token: $0, topic: topic)
        }
    }

    func badTokens(of record: Int) -> Range<Int> {
        world.records[record].tokens.count..<tokenCount(of: record)
    }

    /// Retention took the record, an operator may have skipped it, or it was moved.
    private func isBadExcused(_ entry: SimulatedBroker.Stored) -> Bool {
        let first = firstOf[entry.ordinal]
        return isDeleted(first) || world.hasPositionsByHand || mayBeUnread(first) || isMoved(first)
    }
}
