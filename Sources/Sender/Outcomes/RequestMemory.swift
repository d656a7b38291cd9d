import Logging
import NIOCore
import PipelineCore
import PushSchemas
import PushTopics
import RedisClient
import TokenState

/// Remembers arrived requests in Redis, between the gateway and the outcomes. A notification is done only after that.
///
/// So a worker that consumes the request again, after a crash or because it was published again, finds it there. Bound
/// to the shard's event loop.
final class RequestMemory {
    /// A request that arrived.
    struct Entry {
        var fingerprint: RequestFingerprint
        /// CRC-32 of the token.
        var checksum: UInt32
        /// The number of the token's hash tag.
        var tag: Int
        var reference: NotificationReference
    }

    /// Called when Redis has a request, or sending goes on without it.
    var onRemembered: (RequestFingerprint) -> Void = { _ in }

    private let tokens: TokenTable?
    private let window: Duration
    private let mostAtOnce: Int
    private let feeds: FeedTable
    private let outcomes: Outcomes
    private let eventLoop: any EventLoop
    private let logger: Logger
    /// Writes under way, by number.
    private var writes: [UInt64: Write] = [:]
    private var lastWrite: UInt64 = 0
    /// Redis is away and sending goes on without it.
    private(set) var isRedisAway = false
    private var isClosed = false

    /// Entries on their way into Redis together.
    private final class Write {
        let topic: Topic
        let outcome: OutcomeKind
        var entries: [Entry] = []
        /// Entries without an answer of Redis.
        var pending = 0
        /// The last error among the answers.
        var failure: RedisError?
        /// Number of the write, in the order of their beginning.
        var number: UInt64 = 0

        init(_ topic: Topic, _ outcome: OutcomeKind) {
            self.topic = topic
            self.outcome = outcome
        }
    }

    init(
        tokens: TokenTable?,
        settings: ShardSettings,
        feeds: FeedTable,
        outcomes: Outcomes,
        eventLoop: any EventLoop,
        logger: Logger
    ) {
        self.tokens = tokens
        window = settings.dedupeWindow
        mostAtOnce = settings.batchRecords
        self.feeds = feeds
        self.outcomes = outcomes
        self.eventLoop = eventLoop
        self.logger = logger
    }

    /// Ends the stage: nothing is written any more.
    func close() { isClosed = true }

    /// Redis went away, so that sending goes on without it, or is back.
    func setRedisAway(_ isAway: Bool) { isRedisAway = isAway }

    /// Settles accepted or superseded notifications; those of requests with an id are remembered first.
    ///
    /// - Parameter each: calls its argument with every such notification that was not dropped, and its token.
    func settle(
        _ outcome: OutcomeKind,
        of topic: Topic,
        _ each: ((NotificationReference, UnsafeRawBufferPointer, UInt32) -> Void) -> Void
    ) {
        var write = Write(topic, outcome)
        each { reference, token, checksum in
            guard let feed = feeds[reference.assignment] else { return }
            // Settled before: the first outcome stands.
            guard !feed.isDone(reference.record, token: reference.token) else { return }
            guard let key = feed.requestKeys[reference.record] else { return outcomes.settle(reference, outcome) }
            guard feed.unrememberedRequests[checksum] == nil else {
                feed.addUnrememberedRequest(reference.record, checksum: checksum)
                onRemembered(RequestFingerprint(token: token, key: key))
                return outcomes.settle(reference, outcome)
            }
            write.entries.append(
                Entry(
                    fingerprint: RequestFingerprint(token: token, key: key),
                    checksum: checksum,
                    tag: tokens?.tag(of: token, checksum: checksum) ?? 0,
                    reference: reference
                )
            )
            feed.publicationBegun()
            if write.entries.count == mostAtOnce {
                begin(write)
                write = Write(topic, outcome)
            }
        }
        if !write.entries.isEmpty { begin(write) }
    }

    /// Settles the writes under way while sending goes on without Redis. Notifications sent meanwhile are settled at
    /// once, and an older notification of a token must not stay behind a newer one.
    func goOnWithoutRedis() {
        guard !writes.isEmpty, isRedisAway else { return }
        for (_, write) in writes.sorted(by: { $0.key < $1.key }) {
            for entry in write.entries { addUnremembered(entry) }
            finish(write)
        }
    }

    private func begin(_ write: Write) {
        lastWrite += 1
        write.number = lastWrite
        writes[lastWrite] = write
        send(write)
    }

    private func send(_ write: Write) {
        guard let redis = tokens?.redis, !isClosed, isOpen(write) else { return }
        guard !isRedisAway else { return goOnWithoutRedis() }
        let key = write.topic.requestKey
        let milliseconds = Int(window.wholeNanoseconds / 1_000_000)
        write.pending = write.entries.count
        write.failure = nil
        for entry in write.entries {
            redis.send(slot: write.topic.tokens.keys.slot(tag: entry.tag)) { writer in
                writer.command("SET", argumentCount: 4)
                writer.argument(byteCount: key.count) { key.write(entry.fingerprint, tag: entry.tag, into: $0) }
                writer.argument("1")
                writer.argument("PX")
                writer.argument(milliseconds)
            } _: { [weak self] result in
                if case .failure(let error) = result {
                    if error.isAboutOneKey { self?.addUnremembered(entry) } else { write.failure = error }
                }
                write.pending -= 1
                if write.pending == 0 { self?.answered(write) }
            }
        }
    }

    private func addUnremembered(_ entry: Entry) {
        feeds[entry.reference.assignment]?.addUnrememberedRequest(entry.reference.record, checksum: entry.checksum)
    }

    /// The write's notifications are not settled: Redis has not answered, and sending did not go on without it.
    private func isOpen(_ write: Write) -> Bool { writes[write.number] != nil }

    private func answered(_ write: Write) {
        guard !isClosed, isOpen(write) else { return }
        guard let error = write.failure else { return finish(write) }
        logger.warning("request ids could not be remembered", metadata: ["error": "\(error)"])
        // The write may run twice; the offsets wait for it.
        eventLoop.assumeIsolated().scheduleTask(in: ShardLimits.writeAgain) { [weak self] in self?.send(write) }
    }

    private func finish(_ write: Write) {
        writes[write.number] = nil
        for entry in write.entries {
            onRemembered(entry.fingerprint)
            feeds[entry.reference.assignment]?.publicationEnded()
            outcomes.settle(entry.reference, write.outcome)
        }
    }
}
