import Logging
import NIOCore
import PipelineCore
import PushSchemas
import RedisClient
import TokenState

/// Counts the badges of coalesced requests, each when it is due: what is superseded while it waits is never counted.
///
/// Requests of one token leave in the order in which they became due, also those without a badge. Bound to the shard's
/// event loop.
final class DueBadges {
    private typealias Requests = RedisWrites<AppToken, WaitingRequest>

    /// Called with a request that goes on.
    var onReady: (WaitingRequest) -> Void = { _ in }
    /// Called when Redis has answered for some, and they have gone on.
    var onProgress: () -> Void = {}

    private let tokens: TokenTable?
    private let feeds: FeedTable
    private let outcomes: Outcomes
    private let availability: RedisAvailability
    private let requests: Requests
    private let logger: Logger
    /// Requests here, by number of their batch.
    private var batches: [UInt64: Int] = [:]

    init(
        tokens: TokenTable?,
        feeds: FeedTable,
        outcomes: Outcomes,
        availability: RedisAvailability,
        eventLoop: any EventLoop,
        logger: Logger
    ) {
        self.tokens = tokens
        self.feeds = feeds
        self.outcomes = outcomes
        self.availability = availability
        self.logger = logger
        requests = Requests(availability, eventLoop)
        requests.onTurn = { [unowned self] in count($0) }
        requests.onFailure = { _, error in
            logger.warning("badges could not be counted", metadata: ["error": "\(error)"])
        }
    }

    /// Number of the oldest batch with a request here.
    var oldestBatch: UInt64? { batches.isEmpty ? nil : batches.keys.min() }

    /// Takes in a request that is due.
    func add(_ request: WaitingRequest) {
        if !takes(request) { onReady(request) }
    }

    /// Keeps a request that changes its token's number, or comes behind one that does. False: it goes on now.
    func takes(_ request: WaitingRequest) -> Bool {
        let token = AppToken(topic: request.topic.index, checksum: request.checksum)
        guard request.badge != nil && counts || requests.contains(token) else { return false }
        batches[request.batch, default: 0] += 1
        requests.add(request, of: token)
        return true
    }

    /// Lets everything go on that waits for Redis while sending goes on without it.
    func goOnWithoutRedis() {
        guard availability.isAway, !requests.isEmpty else { return }
        for request in requests.takeAll() { leave(request) }
    }

    private var counts: Bool { tokens != nil && !availability.isAway }

    /// Counts the request whose turn has come. One without a badge goes on.
    private func count(_ turn: Requests.Turn) {
        let request = turn.write
        guard let tokens, let change = request.badge?.change, counts, let mark = mark(of: request) else {
            leave(request)
            return requests.end(turn)
        }
        request.token.withUnsafeBytes { token in
            tokens.changeBadge(
                of: token,
                in: request.topic.tokens,
                change,
                mark: mark
            ) { [weak self] result in
                self?.answered(turn, result)
            }
        }
    }

    /// Nil: the feed is over or being given back, and the request goes no further.
    private func mark(of request: WaitingRequest) -> BadgeMark? {
        let reference = request.reference
        guard let feed = feeds[reference.assignment], !feed.isOver else { return nil }
        return request.token.withUnsafeBytes {
            feed.badgeMark(of: reference.record, position: reference.token, token: $0)
        }
    }

    private func answered(_ turn: Requests.Turn, _ result: Result<UInt32, RedisError>) {
        // Sending may have gone on without the answer.
        guard requests.isOpen(turn) else { return }
        switch result {
        case .success(let number):
            end(turn, number: number)
        case .failure(let error) where error.isLastingRefusal:
            let request = turn.write
            var metadata = outcomes.coordinates(of: request.reference)
            metadata["error"] = "\(error)"
            logger.error("a badge could not be counted", metadata: metadata)
            end(turn, number: nil)
        case .failure(let error):
            // The script may run twice; it counts once.
            requests.fail(turn, error)
        }
    }

    private func end(_ turn: Requests.Turn, number: UInt32?) {
        var request = turn.write
        do throws(RecordRefusal) {
            if let number, let (payload, terms) = try request.badge?.make(number: number) {
                request.payload = payload
                request.terms = terms
            }
            leave(request)
        } catch {
            leave(request, error)
        }
        requests.end(turn)
        onProgress()
    }

    /// - Parameter fault: there is no payload with the number.
    private func leave(_ request: WaitingRequest, _ fault: RecordRefusal? = nil) {
        if let number = batches[request.batch] { batches[request.batch] = number > 1 ? number - 1 : nil }
        guard let fault else { return onReady(request) }
        guard let feed = feeds[request.reference.assignment], !feed.isOver else { return }
        var tokens = TokenRuns()
        tokens.append(request.reference.token)
        outcomes.deadLetter(record: request.reference.record, of: feed, tokens: tokens, fault)
    }
}
