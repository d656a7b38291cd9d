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
        /// CRC-32 of the token.
        var checksum: UInt32
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
    private let eventLoop: any EventLoop
    private let logger: Logger
    private var open: [NotificationReference: Return] = [:]
    /// Changes that Redis did not take, to be sent again.
    private var failed: [NotificationReference] = []
    /// Redis is away and sending goes on without it.
    private var isRedisAway = false
    private var isClosed = false

    init(tokens: TokenTable?, feeds: FeedTable, eventLoop: any EventLoop, logger: Logger) {
        self.tokens = tokens
        self.feeds = feeds
        self.eventLoop = eventLoop
        self.logger = logger
    }

    /// Ends the stage: nothing is written any more.
    func close() { isClosed = true }

    /// Redis went away, so that sending goes on without it, or is back.
    func setRedisAway(_ isAway: Bool) { isRedisAway = isAway }

    /// Numbers are counted here: there is a Redis, and sending does not go on without it.
    var counts: Bool { tokens != nil && !isRedisAway }

    /// The change of a notification is being taken back.
    func contains(_ reference: NotificationReference) -> Bool { !open.isEmpty && open[reference] != nil }

    /// Takes a change back, again until Redis has it.
    ///
    /// - Parameter onEnd: called once when Redis has it, refuses it for good, or is no longer waited for; never after
    ///   ``close()``.
    func takeBack(_ change: Change, then onEnd: @escaping () -> Void) {
        guard counts else { return onEnd() }
        let round = feeds[change.reference.assignment]?.beginPublication()
        open[change.reference] = Return(change: change, round: round, onEnd: onEnd)
        send(change)
    }

    /// Ends what waits for Redis while sending goes on without it.
    func endWithoutRedis() {
        guard isRedisAway, !open.isEmpty else { return }
        failed = []
        let inOrder = open.keys.sorted {
            ($0.assignment, $0.record, $0.token) < ($1.assignment, $1.record, $1.token)
        }
        for reference in inOrder { end(reference) }
    }

    private func send(_ change: Change) {
        guard let tokens, !isClosed else { return }
        change.token.withUnsafeBytes { token in
            tokens.takeBackBadge(
                of: token,
                checksum: change.checksum,
                in: change.topic.tokens,
                mark: change.mark
            ) { [weak self] result in
                self?.answered(change, result)
            }
        }
    }

    private func answered(_ change: Change, _ result: Result<Void, RedisError>) {
        // Sending may have gone on without the answer.
        guard !isClosed, open[change.reference] != nil else { return }
        switch result {
        case .success:
            end(change.reference)
        case .failure(let error) where error.isLastingRefusal:
            logger.error(
                "a badge could not be taken back",
                metadata: [
                    "topic": "\(change.topic.bundleID)", "token": "\(TokenHash.text(change.token))",
                    "error": "\(error)",
                ]
            )
            end(change.reference)
        case .failure(let error):
            failed.append(change.reference)
            guard failed.count == 1 else { return }
            logger.warning("badges could not be taken back", metadata: ["error": "\(error)"])
            // The script may run twice; the outcomes wait for it.
            eventLoop.assumeIsolated().scheduleTask(in: ShardLimits.writeAgain) { [weak self] in self?.sendFailed() }
        }
    }

    private func sendFailed() {
        let references = failed
        failed = []
        for reference in references {
            guard let change = open[reference]?.change else { continue }
            guard let feed = feeds[reference.assignment], !feed.isOver else {
                // The next owner of the partition finds the notification's fate itself.
                open[reference] = nil
                continue
            }
            send(change)
        }
    }

    private func end(_ reference: NotificationReference) {
        guard let ended = open.removeValue(forKey: reference) else { return }
        guard let round = ended.round, let feed = feeds[reference.assignment] else { return ended.onEnd() }
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
