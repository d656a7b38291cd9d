import Logging
import NIOCore
import PipelineCore
import PushSchemas
import PushTopics
import RedisClient
import TLSTransport
import TokenState

/// Takes back what notifications that never arrived have added to the numbers of their tokens. A notification has its
/// outcome only after that.
///
/// A worker counts a badge before it knows the notification's fate, because the number is part of the payload. Bound to
/// the shard's event loop.
final class BadgeReturns {
    /// A change of a token's number that is to be taken back.
    struct Change {
        var reference: NotificationReference
        var topic: Topic
        var token: [UInt8]
        var mark: BadgeMark
    }

    private struct Return {
        var change: Change
        /// Nil: the feed is over.
        var round: DoneClaims.Round?
        var onEnd: () -> Void
    }

    private let tokens: TokenTable?
    private let feeds: FeedTable
    private let availability: RedisAvailability
    private let writes: RedisWrites<NotificationReference, Return>
    private let logger: Logger

    init(
        tokens: TokenTable?,
        feeds: FeedTable,
        availability: RedisAvailability,
        eventLoop: any EventLoop,
        logger: Logger
    ) {
        self.tokens = tokens
        self.feeds = feeds
        self.availability = availability
        self.logger = logger
        writes = RedisWrites(availability, eventLoop)
        writes.onTurn = { [unowned self] in send($0) }
        writes.onFailure = { _, error in
            logger.warning("badges could not be taken back", metadata: ["error": "\(error)"])
        }
    }

    /// Numbers are counted here: there is a Redis, and sending does not go on without it.
    var counts: Bool { tokens != nil && !availability.isAway }

    /// The change of a notification is being taken back.
    func contains(_ reference: NotificationReference) -> Bool { writes.contains(reference) }

    /// Takes a change back, again until Redis has it.
    ///
    /// - Parameter onEnd: called once when Redis has it, refuses it for good, or is no longer waited for; never after
    ///   the shard has ended.
    func takeBack(_ change: Change, then onEnd: @escaping () -> Void) {
        guard counts else { return onEnd() }
        let round = feeds[change.reference.assignment]?.beginPublication()
        writes.add(Return(change: change, round: round, onEnd: onEnd), of: change.reference)
    }

    /// Ends what waits for Redis while sending goes on without it.
    func endWithoutRedis() {
        guard availability.isAway, !writes.isEmpty else { return }
        for ended in writes.takeAll() { end(ended) }
    }

    private func send(_ turn: RedisWrites<NotificationReference, Return>.Turn) {
        guard let tokens else { return }
        let change = turn.write.change
        change.token.withUnsafeBytes { token in
            tokens.takeBackBadge(
                of: token,
                in: change.topic.tokens,
                mark: change.mark
            ) { [weak self] result in
                self?.answered(turn, result)
            }
        }
    }

    private func answered(
        _ turn: RedisWrites<NotificationReference, Return>.Turn,
        _ result: Result<Void, RedisError>
    ) {
        // Sending may have gone on without the answer.
        guard writes.isOpen(turn) else { return }
        let change = turn.write.change
        switch result {
        case .success:
            writes.end(turn)
            end(turn.write)
        case .failure(let error) where error.isLastingRefusal:
            logger.error(
                "a badge could not be taken back",
                metadata: [
                    "app": "\(change.topic.bundleID)", "token": "\(TokenHash.text(change.token))",
                    "error": "\(error)",
                ]
            )
            writes.end(turn)
            end(turn.write)
        case .failure(let error):
            // The next owner of a partition finds the notification's fate itself.
            guard let feed = feeds[change.reference.assignment], !feed.isOver else { return writes.end(turn) }
            // The outcome waits for it; the script may run twice.
            writes.fail(turn, error)
        }
    }

    private func end(_ ended: Return) {
        guard let round = ended.round, let feed = feeds[ended.change.reference.assignment] else { return ended.onEnd() }
        feed.endPublication(round, then: ended.onEnd)
    }
}

extension OutcomeKind {
    /// The notification did not arrive, so that it does not count for its token's number. One of unknown fate may have
    /// arrived, and a repetition has the name of the notification that did.
    var takesBadgeBack: Bool {
        switch self {
        case .confirmed, .presumed, .unknown, .duplicate: false
        case .rejected, .tombstoned, .expired, .superseded, .deadLettered, .aborted: true
        }
    }
}
