import Logging
import NIOCore
import PipelineCore
import PushTopics
import RedisClient
import TLSTransport
import TokenState

/// Third stage: asks Redis for the state of each token and request, one batch ahead of sending. Badges are counted on
/// the way, so that the number comes in the same round trip.
///
/// Batches leave in the order in which they came. While the oldest waits for Redis for long, topics that need nothing
/// of it pass the others, each in its own order (`+Passing`). A record that Redis refuses for good concerns its token
/// alone. Bound to the shard's event loop.
final class Lookup {
    /// A batch can go on, or may be asked about again.
    var onProgress: () -> Void = {}
    /// Redis is away, and sending goes on without it; or it is back. It counts as away until it has told where tokens
    /// lie.
    var onRedisAway: (_ isAway: Bool) -> Void = { _ in }

    private let tokens: TokenTable?
    let filters: DeadTokenSets?
    let routing: Routing
    private let logger: Logger
    let clock: () -> MonotonicTime
    private var patience: TokenStorePatience
    /// Oldest first.
    var entries: [Entry] = []
    /// Topics that others pass, because they wait for Redis.
    var held: Set<Int32> = []
    /// The entries may have changed since topics were last looked for that can pass.
    var mayPass = true
    private(set) var counters = LookupCounters()
    /// Work left for this turn, in questions about tokens.
    private var workLeft = ShardLimits.askedPerTurn
    private var isClosed = false

    /// A batch and the state of its look-up.
    final class Entry {
        enum State {
            /// Not asked, or asked without success: ask (again).
            case needed
            case asked(pendingReplies: Int)
            case known
        }

        let batch: PreparedBatch
        var state = State.needed
        /// The time since when the look-up is due; nil before that.
        var due: MonotonicTime?
        /// Questions without an answer; nil: nothing was asked yet.
        var unanswered: Questions?
        /// The questions that were, or are to be, asked last; nil: none is known.
        var asked: Questions?
        /// The questions among `asked` that are for another turn.
        var unsent = Questions()
        /// Records that have not gone on; nil: none has.
        var rest: [Int]?
        /// The time before which nothing is asked again; nil: at any time.
        var askAgainAt: MonotonicTime?

        init(_ batch: PreparedBatch) {
            self.batch = batch
        }

        var isKnown: Bool {
            if case .known = state { true } else { false }
        }

        /// Something may be asked about the batch.
        var isOpen: Bool {
            switch state {
            case .needed: true
            case .asked: !unsent.isEmpty
            case .known: false
            }
        }

        func skipLookup() {
            batch.isWithoutState = true
            unsent = Questions()
            state = .known
        }
    }

    /// - Parameter patience: the longest wait of sending for Redis; nil: without limit.
    init(
        tokens: TokenTable?,
        filters: DeadTokenSets?,
        patience: Duration?,
        routing: Routing,
        logger: Logger,
        clock: @escaping () -> MonotonicTime
    ) {
        self.tokens = tokens
        self.filters = filters
        self.patience = TokenStorePatience(limit: patience)
        self.routing = routing
        self.logger = logger
        self.clock = clock
    }

    /// The number of batches in the stage.
    var count: Int { entries.count }

    /// Redis was away when the worker began, and has not told where tokens lie.
    private var isPlaceUnknown: Bool { tokens.map { $0.layout == nil } ?? false }

    /// Says whether Redis is away. To be called at the start, and when Redis has told where tokens lie.
    func publishAvailability() { onRedisAway(patience.isAway || isPlaceUnknown) }

    /// Ends the stage: no answer counts any more.
    func close() { isClosed = true }

    func add(_ batch: PreparedBatch) {
        entries.append(Entry(batch))
        mayPass = true
    }

    /// Drops batches whose feeds are all over: while Redis is away they would pile up with every rebalance.
    func dropOver() {
        entries.removeAll { entry in entry.left.allSatisfy { entry.batch.records[$0].feed.isOver } }
        mayPass = true
    }

    // MARK: Asking

    /// Lets the stage ask anew: a turn of the event loop begins.
    func beginTurn() { workLeft = ShardLimits.askedPerTurn }

    /// The work for this turn was done before everything was asked.
    var isUnfinished: Bool { workLeft <= 0 && entries.contains(where: \.isOpen) }

    /// Asks about every batch that needs it, in their order and as far as the turn's work goes.
    func ask() {
        let now = clock()
        for entry in entries where entry.isOpen {
            guard workLeft > 0 else { return }
            if let tokens, case .asked = entry.state { goOn(tokens, of: entry) }
            guard case .needed = entry.state, entry.askAgainAt.map({ $0 <= now }) ?? true else { continue }
            guard let tokens else {
                entry.state = .known
                continue
            }
            let questions = againQuestions(of: entry) ?? questions(of: entry.batch, now: now)
            guard !questions.isEmpty else {
                entry.state = .known
                continue
            }
            if entry.due == nil { entry.due = now }
            entry.asked = questions
            mayPass = true
            if isPlaceUnknown {
                if patience.isAway { entry.skipLookup() }
                continue
            }
            switch patience.decide(now: now) {
            case .ask:
                ask(tokens, questions, of: entry)
            case .probe:
                ask(tokens, questions, of: entry)
                entry.skipLookup()
            case .goOn:
                entry.skipLookup()
            }
        }
    }

    /// A connection to Redis came up, which counts as an answer.
    func redisConnected() {
        guard !isPlaceUnknown else { return }
        noteAnswer()
        for entry in entries { entry.askAgainAt = nil }
        ask()
    }

    /// Releases batches whose look-up timed out.
    func endLate(now: MonotonicTime) {
        for entry in entries where !entry.isKnown {
            guard let due = entry.due else { continue }
            let wasAway = patience.isAway
            guard patience.isOver(since: due, now: now) else { continue }
            entry.skipLookup()
            guard !wasAway else { continue }
            logger.error("Redis is away; notifications are sent without token state")
            onRedisAway(true)
        }
    }

    private func noteAnswer() {
        guard patience.answered() else { return }
        logger.notice("Redis is back; tokens are looked up again")
        onRedisAway(false)
    }

    /// The questions to ask again: those without an answer, and those about dead tokens, which may have registered
    /// meanwhile. So a batch with more questions than the client takes at once makes progress. Nil: nothing was asked
    /// yet.
    private func againQuestions(of entry: Entry) -> Questions? {
        guard var questions = entry.unanswered else { return nil }
        let verdicts = entry.batch.verdicts
        questions.tokens += verdicts.indices.filter { verdicts[$0].reasonOfDeath != nil }
        return questions
    }

    private func ask(_ tokens: TokenTable, _ questions: Questions, of entry: Entry) {
        entry.state = .asked(pendingReplies: questions.count)
        counters.lookUps += questions.tokens.count
        let batch = entry.batch
        if entry.unanswered != nil {
            // A dead token may have registered meanwhile. What Redis has told of the request stays true.
            for index in questions.tokens where batch.verdicts[index] != .isRepetition {
                batch.verdicts[index] = .sends
            }
        }
        entry.unanswered = Questions()
        entry.askAgainAt = nil
        entry.unsent = questions
        goOn(tokens, of: entry)
    }

    /// Sends the next questions about a batch.
    private func goOn(_ tokens: TokenTable, of entry: Entry) {
        let part = entry.unsent.take(&workLeft)
        if !part.tokens.isEmpty { look(up: part.tokens, of: entry, tokens) }
        for index in part.requests { askForRepetition(tokens, of: entry, index) }
        for index in part.badges { changeBadge(tokens, of: entry, index) }
    }

    private func look(up indices: [Int], of entry: Entry, _ table: TokenTable) {
        let batch = entry.batch
        // Until the last answer this keeps the entry, whose batch keeps the tokens' bytes, and the stage: when that is
        // closed the client answers what is open.
        let lookUps = table.lookUps(capacity: indices.count) { answer, index in
            self.tokenStateArrived(answer, of: entry, index)
        }
        // Each look at a column of the batch would count references to it.
        let (tokens, rows, records) = (batch.tokens, batch.rows, batch.records)
        table.together {
            for index in indices {
                let space = records[Int(rows[index])].topic.tokens
                lookUps.add(tokens[index], in: space, number: index)
            }
        }
    }

    private func askForRepetition(_ tokens: TokenTable, of entry: Entry, _ index: Int) {
        let batch = entry.batch
        let record = batch.records[Int(batch.rows[index])]
        guard let requestKey = record.requestKey else { return }
        let tag = tokens.tag(of: batch.tokens[index])
        let key = record.topic.requestKey
        tokens.redis.send(slot: record.topic.tokens.keys.slot(tag: tag)) { writer in
            writer.command("GET", argumentCount: 1)
            writer.argument(byteCount: key.count) { room in
                key.write(RequestFingerprint(token: batch.tokens[index], key: requestKey), tag: tag, into: room)
            }
        } _: { result in
            switch result {
            case .success(let reply): if !reply.isNull { batch.verdicts[index] = .isRepetition }
            case .failure(let error): if !error.isLastingRefusal { entry.unanswered?.requests.append(index) }
            }
            self.answerArrived(result.map { _ in }, of: entry)
        }
    }

    /// Counts a notification for its token's number; asked again, it counts once.
    private func changeBadge(_ tokens: TokenTable, of entry: Entry, _ index: Int) {
        let batch = entry.batch
        let record = batch.records[Int(batch.rows[index])]
        let (token, position) = (batch.tokens[index], batch.positions[index])
        guard let change = batch.badgeChange(of: index, in: record),
            let mark = record.feed.badgeMark(of: record.number, position: position, token: token)
        else { return answerArrived(.success(()), of: entry) }
        tokens.changeBadge(
            of: token,
            in: record.topic.tokens,
            change,
            mark: mark
        ) { result in
            switch result {
            case .success(let number):
                if case .asked = entry.state { batch.foundBadge(number, of: index) }
            case .failure(let error) where error.isLastingRefusal:
                self.tellUnreadable(error, of: index, record.topic, in: batch)
            case .failure:
                entry.unanswered?.badges.append(index)
            }
            self.answerArrived(result.map { _ in }, of: entry)
        }
    }

    // MARK: Answers

    private func tokenStateArrived(_ result: TokenLookUps.Answer, of entry: Entry, _ index: Int) {
        let batch = entry.batch
        var topic: Topic { batch.records[Int(batch.rows[index])].topic }
        switch result {
        case .success(let value?):
            guard case .asked = entry.state else { break }
            if let reason = TokenRecord.reasonOfDeath(value, for: batch.records[Int(batch.rows[index])].kind) {
                if batch.verdicts[index] == .sends { batch.verdicts[index] = .init(reason) }
            } else if let registeredAt = TokenRecord.registeredAt(value) {
                // If the gateway refused the token before that, it is sent to again.
                routing.registered(batch.tokens[index], batch.checksums[index], of: topic, at: registeredAt)
            }
            if batch.hasLanguages { batch.foundLanguage(TokenRecord.locale(value), of: index) }
        case .success(nil):
            break
        case .failure(let error) where error.isLastingRefusal:
            tellUnreadable(error, of: index, topic, in: batch)
        case .failure:
            entry.unanswered?.tokens.append(index)
        }
        answerArrived(result.map { _ in }, of: entry)
    }

    private func tellUnreadable(_ error: RedisError, of index: Int, _ topic: Topic, in batch: PreparedBatch) {
        counters.unreadable += 1
        let key = tokens?.key(of: Array(batch.tokens[index]), in: topic.tokens) ?? []
        logger.error(
            "token state cannot be understood; the token is sent to without it",
            metadata: [
                "app": "\(topic.bundleID)", "environment": "\(topic.environment)", "error": "\(error)",
                "key": "\(String(decoding: key, as: UTF8.self))", "token": "\(TokenHash.text(batch.tokens[index]))",
            ]
        )
    }

    private func answerArrived(_ result: Result<Void, RedisError>, of entry: Entry) {
        guard !isClosed else { return }
        switch result {
        case .success: noteAnswer()
        case .failure(let error) where error.isLastingRefusal: noteAnswer()
        case .failure: patience.failed(now: clock())
        }
        guard case .asked(let pending) = entry.state else { return }
        if case .failure(let error) = result, !error.isLastingRefusal, entry.askAgainAt == nil {
            logger.warning("token state could not be read", metadata: ["error": "\(error)"])
            // Reading changes nothing, so the question can simply be repeated; until then the batch waits, and with it
            // its topics. Not at once: a refused command would be refused again, before the event loop has looked at
            // its sockets.
            entry.askAgainAt = clock() + ShardLimits.retryInterval
        }
        guard pending == 1 else {
            entry.state = .asked(pendingReplies: pending - 1)
            return
        }
        guard entry.unanswered?.isEmpty ?? true else {
            entry.state = .needed
            return
        }
        entry.state = .known
        mayPass = true
        onProgress()
    }
}

/// Counts of a shard's questions to Redis about tokens.
struct LookupCounters: Equatable, Sendable {
    /// Tokens that Redis was asked for.
    var lookUps = 0
    /// Tokens whose state has an unknown form.
    var unreadable = 0
}
