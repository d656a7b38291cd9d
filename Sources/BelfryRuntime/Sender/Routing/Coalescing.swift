import APNsProtocol
import Logging
import NIOCore
import PipelineCore
import RedisClient

/// Requests with a coalescing key wait for newer ones while there is a reason to.
///
/// Without a window the reason is a backlog: more of the topic was there when the request came, or frames of its lane have not
/// been written. So what would wait anyway waits where it can be superseded. Requests without a key pass those that wait; what
/// waits holds its cursor. Redis knows when a window was opened and what was sent last, so that windows hold across restarts
/// and rebalances; without token state, and while Redis is away where sending goes on without it, a window is this shard's
/// own. Lives on the shard's event loop.
final class Coalescing {
    /// How far the backlog of a feed reaches, and how far it was routed.
    struct Backlog {
        /// Nil: nothing newer is to come.
        var end: (TopicFeed) -> UInt64?
        var position: (TopicFeed) -> UInt64
    }

    /// A request waits no more and is to be sent.
    var onDue: (WaitingRequest) -> Void = { _ in }
    /// Whether Redis is away and sending goes on without it.
    var isRedisAway: () -> Bool = { false }
    /// Something may go on.
    var onProgress: () -> Void = {}
    var backlog = Backlog(end: { _ in nil }, position: { _ in .max })

    private let settings: ShardSettings
    private let redis: (any RedisPipeline)?
    private let feeds: FeedTable
    private let outcomes: Outcomes
    private let eventLoop: any EventLoop
    private let logger: Logger
    private let lanes: (Int32) -> TopicLanes?
    private var machine = Coalescer(patience: ShardLimits.backlogPatience)
    private var waiting = WaitingRequests()
    /// Requests that are sent as soon as Redis says that they may be.
    private var asked: [Coalescer.Subject: UInt64] = [:]
    /// Redis did not answer for a window, and the log says so.
    private var isUnanswered = false
    private var isClosed = false

    init(
        settings: ShardSettings,
        redis: (any RedisPipeline)?,
        feeds: FeedTable,
        outcomes: Outcomes,
        eventLoop: any EventLoop,
        logger: Logger,
        lanes: @escaping (Int32) -> TopicLanes?
    ) {
        self.settings = settings
        self.redis = redis
        self.feeds = feeds
        self.outcomes = outcomes
        self.eventLoop = eventLoop
        self.logger = logger
        self.lanes = lanes
    }

    var count: Int { waiting.count }
    var oldestBatch: UInt64? { waiting.oldestBatch }
    private var now: MonotonicTime { MonotonicTime(eventLoop.now) }

    /// Nothing is asked any more.
    func close() { isClosed = true }

    /// A feed is over, or on its way out.
    func forget(feed: UInt32) {
        guard !waiting.isEmpty else { return }
        machine.forget(assignment: feed)
        waiting.forget(feed: feed)
        asked = asked.filter { waiting[$0.value] != nil }
    }

    // MARK: Arriving

    /// Whether a notification waits, or was superseded by one that does: it goes no further now.
    func takes(_ index: Int, of record: PreparedRecord, in batch: PreparedBatch, _ lanes: TopicLanes) -> Bool {
        guard let coalescing = record.coalescing else { return false }
        var stamp = coalescing.stamp
        stamp.token = batch.positions[index]
        let request = WaitingRequest(
            reference: batch.reference(of: index, in: record),
            topic: record.topic,
            token: Array(batch.tokens[index]),
            checksum: batch.checksums[index],
            payload: Array(batch.payload(of: record)),
            expiration: record.expiration,
            priority: record.priority,
            fingerprint: RequestFingerprint(token: batch.tokens[index], key: coalescing.key),
            stamp: stamp,
            batch: batch.number,
            isWithoutState: batch.isWithoutState
        )
        return arrive(
            waiting.nextTicket(),
            request,
            window: record.topic.coalescingWindow > .zero && lanes.sending == .all ? .unknown : .none,
            waits: waits(of: request, record.feed, lanes)
        )
    }

    /// A notification had arrived at its device before it was taken in: what waits and is older is superseded.
    func arrivedBefore(_ index: Int, of record: PreparedRecord, in batch: PreparedBatch) {
        guard !waiting.isEmpty, let coalescing = record.coalescing else { return }
        var stamp = coalescing.stamp
        stamp.token = batch.positions[index]
        let subject = Coalescer.Subject(
            topic: record.topic.index,
            fingerprint: RequestFingerprint(token: batch.tokens[index], key: coalescing.key)
        )
        end(machine.arrivedBefore(stamp, of: subject), .superseded)
        if let other = asked[subject], let before = waiting[other], before.stamp < stamp { end([other], .superseded) }
    }

    /// A request that was due waits for a window, with what has come meanwhile.
    private func waitOn(_ ticket: UInt64, _ window: Coalescer.Window) {
        guard let request = waiting[ticket] else { return }
        _ = arrive(ticket, request, window: window, waits: [])
    }

    private func arrive(
        _ ticket: UInt64,
        _ request: WaitingRequest,
        window: Coalescer.Window,
        waits: @autoclosure () -> [Coalescer.Wait]
    ) -> Bool {
        let arrival = machine.arrive(
            Coalescer.Request(
                ticket: ticket,
                assignment: request.reference.assignment,
                stamp: request.stamp,
                expiration: request.expiration
            ),
            of: request.subject,
            now: now,
            window: window,
            waits: waits()
        )
        if arrival == .passes { return false }
        if waiting[ticket] == nil { waiting.keep(ticket, request) }
        switch arrival {
        case .opens(let group) where window == .unknown: ask(.open(group: group), ticket)
        case .joins(let superseded): end(superseded, .superseded)
        case .passes, .opens: break
        }
        return true
    }

    private func waits(of request: WaitingRequest, _ feed: TopicFeed, _ lanes: TopicLanes) -> [Coalescer.Wait] {
        var waits: [Coalescer.Wait] = []
        if let end = backlog.end(feed) { waits.append(.init(.backlog(assignment: feed.number), until: end)) }
        let number = lanes.affinity.lane(checksum: request.checksum)
        let lane = lanes.ownLanes[number]
        if lanes.sending == .all, lane.machine.waitingCount > 0 {
            waits.append(.init(.lane(topic: request.topic.index, number: number), until: lane.machine.log.tail))
        }
        return waits
    }

    private func position(of gate: Coalescer.Gate) -> UInt64 {
        switch gate {
        case .backlog(let feed):
            return feeds[feed].map { backlog.position($0) } ?? .max
        case .lane(let topic, let number):
            guard let lanes = lanes(topic), lanes.sending == .all else { return .max }
            return lanes.ownLanes[number].machine.sentEnd
        }
    }

    // MARK: Going on

    /// Lets go what nothing holds any more.
    ///
    /// - Returns: whether anything has come to the lanes.
    func release() -> Bool {
        guard !machine.isEmpty else { return false }
        for gate in machine.gates { machine.passed(gate, upTo: position(of: gate)) }
        let settled = machine.takeDue(now: now, unixSeconds: settings.unixMilliseconds() / 1000)
        end(settled.superseded, .superseded)
        end(settled.expired, .expired)
        for due in settled.due { goOn(with: due) }
        return !settled.due.isEmpty
    }

    private func goOn(with due: Coalescer.Due) {
        // The answer for one that was due before may come after this one is sent.
        if let other = asked.removeValue(forKey: due.subject), let before = waiting[other] {
            guard before.stamp < due.stamp else {
                asked[due.subject] = other
                return end([due.ticket], .superseded)
            }
            end([other], .superseded)
        }
        guard let request = waiting[due.ticket], request.topic.coalescingWindow > .zero,
            lanes(due.subject.topic)?.sending == .all
        else { return release(due.ticket) }
        // One without came when its topic did not work.
        if due.hadWindow {
            asked[due.subject] = due.ticket
            ask(.end(ticket: due.ticket), due.ticket)
        } else {
            waitOn(due.ticket, .unknown)
        }
    }

    private func end(_ tickets: [UInt64], _ outcome: OutcomeKind) {
        for ticket in tickets {
            if let request = take(ticket) { outcomes.settle(request.reference, outcome) }
        }
    }

    private func release(_ ticket: UInt64) {
        if let request = take(ticket) { onDue(request) }
    }

    private func take(_ ticket: UInt64) -> WaitingRequest? {
        guard let request = waiting.take(ticket) else { return nil }
        if asked[request.subject] == ticket { asked[request.subject] = nil }
        return request
    }

    // MARK: Windows

    /// A question to Redis about the window of a token and coalescing key.
    private struct Question {
        enum Purpose {
            /// When the window of a group ends.
            case open(group: UInt64)
            /// Whether a request is sent, now that its window is over.
            case end(ticket: UInt64)
        }

        var purpose: Purpose
        var topic: Topic
        var fingerprint: RequestFingerprint
        var stamp: Coalescer.Stamp
        /// CRC-32 of the token.
        var checksum: UInt32
        var askedAt: MonotonicTime
    }

    private func ask(_ purpose: Question.Purpose, _ ticket: UInt64) {
        guard let request = waiting[ticket] else { return }
        ask(
            Question(
                purpose: purpose,
                topic: request.topic,
                fingerprint: request.fingerprint,
                stamp: request.stamp,
                checksum: request.checksum,
                askedAt: now
            )
        )
    }

    private func ask(_ question: Question) {
        guard !isClosed, isOpen(question) else { return }
        guard let redis, !mayGoOnWithoutRedis(since: question.askedAt) else { return goOn(question) }
        let key = question.topic.windowKey
        let slot = question.topic.tokens.keys.slot(checksum: question.checksum)
        redis.evaluate(CoalesceScript.coalesce, slot: slot, keyCount: 1, argumentCount: 5) { writer in
            writer.argument(byteCount: key.count) {
                key.write(question.fingerprint, checksum: question.checksum, into: $0)
            }
            writer.argument(Int(settings.unixMilliseconds()))
            writer.argument(Int(question.topic.coalescingWindow.wholeNanoseconds / 1_000_000))
            writer.argument(Int(min(question.stamp.milliseconds, CoalesceScript.largestNumber)))
            writer.argument(Int(min(question.stamp.offset, CoalesceScript.largestNumber)))
            if case .end = question.purpose { writer.argument(1) } else { writer.argument(0) }
        } _: { [weak self] result in
            self?.answered(question, result)
        }
    }

    /// Whether anybody waits for the answer: a group whose partition is given back does not.
    private func isOpen(_ question: Question) -> Bool {
        switch question.purpose {
        case .open(let group): machine.waits(group)
        case .end(let ticket): waiting[ticket] != nil
        }
    }

    private func answered(_ question: Question, _ result: Result<RedisReply, RedisError>) {
        guard !isClosed else { return }
        switch result {
        case .success(let reply):
            isUnanswered = false
            decide(question, reply.integer ?? 0)
            onProgress()
        case .failure(let error) where error.isAboutOneKey:
            logger.error("coalescing window was refused by Redis", metadata: ["error": "\(error)"])
            goOn(question)
        case .failure(let error):
            // Thousands may wait for their windows.
            if !isUnanswered { logger.warning("coalescing windows cannot be read", metadata: ["error": "\(error)"]) }
            isUnanswered = true
            // It may run twice; the cursor waits for it.
            eventLoop.assumeIsolated().scheduleTask(in: ShardLimits.writeAgain) { [weak self] in self?.ask(question) }
        }
    }

    /// Redis has answered, see ``CoalesceScript``.
    private func decide(_ question: Question, _ milliseconds: Int64) {
        let end = now + .milliseconds(max(0, milliseconds))
        switch question.purpose {
        case .open(let group):
            machine.windowEnds(group, at: end)
        case .end(let ticket):
            if milliseconds == 0 {
                release(ticket)
            } else if milliseconds < 0 {
                self.end([ticket], .superseded)
            } else {
                // Another shard has sent in this window, or clocks differ.
                if let subject = waiting[ticket]?.subject { asked[subject] = nil }
                waitOn(ticket, .ends(end))
            }
        }
    }

    /// Goes on without Redis: a window begins now, or is over.
    private func goOn(_ question: Question) {
        switch question.purpose {
        case .open(let group): machine.windowEnds(group, at: now + question.topic.coalescingWindow)
        case .end(let ticket): release(ticket)
        }
    }

    /// Whether Redis is away, and sending goes on without it.
    private func mayGoOnWithoutRedis(since asked: MonotonicTime) -> Bool {
        guard let patience = settings.redisPatience else { return false }
        return isRedisAway() || asked + patience <= now
    }
}
