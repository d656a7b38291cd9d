import KafkaClient
import PipelineCore
import PushSchemas

/// Records that end without being sent.
extension Intake {
    /// Takes in a record that is refused as a whole.
    ///
    /// - Parameters:
    ///   - tokens: nil: the record cannot be decoded, and counts as one notification.
    ///   - report: see ``SendRequestView/report``.
    func refuse(
        _ message: KafkaMessageView,
        at index: Int,
        of feed: AppFeed,
        tokens known: Int?,
        report: RequestReport? = nil,
        _ refusal: RecordRefusal
    ) {
        guard let source else { return }
        let tokens = known ?? 1
        counters.records += 1
        counters.undecodable += 1
        counters.notifications += tokens
        let record = add(
            message,
            at: index,
            to: feed,
            of: source,
            tokens: tokens,
            report: report,
            isWhole: known == nil
        )
        begin(report, of: record, in: feed, tokens: tokens)
        outcomes.deadLetter(record: record, of: feed, tokens: UInt32(tokens), refusal)
    }

    /// Refuses a record as a whole that has entered its feed before.
    func refuse(_ record: UInt32, of feed: AppFeed, _ refusal: RecordRefusal) {
        guard let tokens = feed.ledger.frontier.tokens(of: record) else { return }
        counters.undecodable += 1
        outcomes.deadLetter(record: record, of: feed, tokens: UInt32(tokens), refusal)
    }

    /// Only a look-up tells whether a request that is discarded counts for the numbers of its tokens: another one with
    /// its id may have arrived, and has the same marks.
    func mustAsk(_ request: SendRequestView, _ message: KafkaMessageView) -> Bool {
        request.mayChangeBadges && requestKey(of: request, message) != nil
    }

    /// Takes in a record that an operator has discarded, and ends it.
    func abort(_ request: SendRequestView, _ message: KafkaMessageView, at index: Int, of feed: AppFeed) {
        guard let source else { return }
        counters.took(request.tokenCount)
        let record = add(message, at: index, to: feed, of: source, tokens: request.tokenCount, report: request.report)
        begin(request.report, of: record, in: feed, tokens: request.tokenCount)
        // It may have been counted before it was recalled, or by the partition's last owner.
        noteNames(of: request, nil, message, record, in: feed, changesBadges: request.mayChangeBadges)
        end(record, of: feed, tokens: request.tokenCount, as: .aborted)
    }

    /// Gives the tokens of a record that have none an outcome.
    func end(_ record: UInt32, of feed: AppFeed, tokens: Int, as outcome: OutcomeKind) {
        ended += tokens
        for token in 0..<UInt32(tokens) where !feed.isDone(record, token: token) {
            outcomes.settle(NotificationReference(assignment: feed.number, record: record, token: token), outcome)
        }
    }
}

extension SendRequestView {
    /// Notifications of the request may change the numbers of their tokens in Redis.
    var mayChangeBadges: Bool {
        guard !isBroadcast, let notification else { return false }
        return notification.hasBadge || hasOverrides
    }
}
