import Logging
import NIOCore
import PipelineCore
import PushSchemas
import PushTopics
import RedisClient
import TokenState

/// Remembers arrived requests in Redis, between the gateway and the outcomes. A notification is done only after that.
///
/// So a worker that consumes the request again, after a crash or because it was published again, finds it there.
/// Requests of one token go there in the order of their arrival, each when Redis has the one before: what it does not
/// have is sent again after a crash, and must not arrive alone behind a newer one, which Redis has. A request that
/// waits here is not done, so that it counts towards its topic's credit, which limits them. Bound to the shard's event
/// loop.
final class RequestMemory {
    /// A request that arrived, or was superseded.
    private struct Entry {
        var topic: Topic
        var outcome: OutcomeKind
        var fingerprint: RequestFingerprint
        /// CRC-32 of the token.
        var checksum: UInt32
        /// The number of the token's hash tag.
        var tag: Int
        var reference: NotificationReference
        var round: DoneClaims.Round
    }

    private typealias Writes = RedisWrites<AppToken, Entry>

    /// Called when Redis has a request, or sending goes on without it.
    var onRemembered: (RequestFingerprint, Topic) -> Void = { _, _ in }

    private let tokens: TokenTable?
    private let windowMilliseconds: Int
    private let feeds: FeedTable
    private let outcomes: Outcomes
    private let availability: RedisAvailability
    private let writes: Writes

    init(
        tokens: TokenTable?,
        settings: ShardSettings,
        feeds: FeedTable,
        outcomes: Outcomes,
        availability: RedisAvailability,
        eventLoop: any EventLoop,
        logger: Logger
    ) {
        self.tokens = tokens
        windowMilliseconds = Int(settings.dedupeWindow.wholeNanoseconds / 1_000_000)
        self.feeds = feeds
        self.outcomes = outcomes
        self.availability = availability
        writes = Writes(availability, eventLoop)
        writes.onTurn = { [unowned self] in send($0) }
        writes.onFailure = { _, error in
            logger.warning("request ids could not be remembered", metadata: ["error": "\(error)"])
        }
    }

    /// Settles accepted or superseded notifications; those of requests with an id are remembered first.
    ///
    /// - Parameter each: calls its argument with every such notification that was not dropped, and its token.
    func settle(
        _ outcome: OutcomeKind,
        of topic: Topic,
        _ each: ((NotificationReference, UnsafeRawBufferPointer, UInt32) -> Void) -> Void
    ) {
        each { reference, token, checksum in
            guard let feed = feeds[reference.assignment] else { return }
            // Settled before: the first outcome stands.
            guard !feed.isDone(reference.record, token: reference.token) else { return }
            guard let key = feed.requestKeys[reference.record] else { return outcomes.settle(reference, outcome) }
            let entry = Entry(
                topic: topic,
                outcome: outcome,
                fingerprint: RequestFingerprint(token: token, key: key),
                checksum: checksum,
                tag: tokens?.tag(of: token) ?? 0,
                reference: reference,
                round: feed.beginPublication()
            )
            writes.add(entry, of: AppToken(topic: topic.index, checksum: checksum))
        }
    }

    /// Settles what waits for Redis while sending goes on without it. Notifications sent meanwhile are settled at once,
    /// and an older notification of a token must not stay behind a newer one.
    func settleWithoutRedis() {
        guard availability.isAway, !writes.isEmpty else { return }
        for entry in writes.takeAll() { settle(entry, isInRedis: false) }
    }

    // MARK: Writes

    /// Behind a request that Redis was not told of one is left out.
    private func send(_ turn: Writes.Turn) {
        let entry = turn.write
        guard !isBehindUnremembered(entry) else { return end(turn, isInRedis: false) }
        guard let redis = tokens?.redis else { return }
        guard !availability.isAway else { return settleWithoutRedis() }
        let key = entry.topic.requestKey
        redis.send(slot: entry.topic.tokens.keys.slot(tag: entry.tag)) { writer in
            writer.command("SET", argumentCount: 4)
            writer.argument(byteCount: key.count) { key.write(entry.fingerprint, tag: entry.tag, into: $0) }
            writer.argument("1")
            writer.argument("PX")
            writer.argument(windowMilliseconds)
        } _: { [weak self] result in
            self?.answered(turn, result)
        }
    }

    private func answered(_ turn: Writes.Turn, _ result: Result<RedisReply, RedisError>) {
        // Sending may have gone on without the answer.
        guard writes.isOpen(turn) else { return }
        switch result {
        case .success: end(turn, isInRedis: true)
        case .failure(let error) where error.isLastingRefusal: end(turn, isInRedis: false)
        // The offsets wait for it.
        case .failure(let error): writes.fail(turn, error)
        }
    }

    /// Settles the request before the next one of its token is looked at.
    private func end(_ turn: Writes.Turn, isInRedis: Bool) {
        settle(turn.write, isInRedis: isInRedis)
        writes.end(turn)
    }

    // MARK: Entries

    /// Redis was not told of an older request of the token.
    private func isBehindUnremembered(_ entry: Entry) -> Bool {
        feeds[entry.reference.assignment]?.unrememberedRequests[entry.checksum] != nil
    }

    private func settle(_ entry: Entry, isInRedis: Bool) {
        let feed = feeds[entry.reference.assignment]
        // Before it is done: its offset is known until then.
        if !isInRedis { feed?.addUnrememberedRequest(entry.reference.record, checksum: entry.checksum) }
        onRemembered(entry.fingerprint, entry.topic)
        feed?.endPublication(entry.round) { outcomes.settle(entry.reference, entry.outcome) }
    }
}
