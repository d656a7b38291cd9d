import APNsProtocol
import BelfrySupport
import Logging
import NIOCore
import PipelineCore
import PushSchemas
import PushTopics
import RedisClient
import TokenState

/// Lets requests with a coalescing key wait for newer ones while there is a reason.
///
/// Without a window the reason is a backlog: more of the topic was there when the request came, or frames of its lane
/// have not been written. So requests that would wait anyway wait where they can be superseded. Requests without a key
/// pass the waiting ones; a waiting request holds its cursor. Redis keeps the opening time of a window and the last
/// request sent, so that windows hold across restarts and rebalances. Without token state, and while Redis is away and
/// sending goes on without it, a window is this shard's own. Bound to the shard's event loop.
final class Coalescing {
    /// Questions to the stages before this one: the end of a feed's backlog, and the end of its routed part.
    ///
    /// Asked when a request begins to wait and when some do, never for others. Handed down, both would have to be
    /// found for every feed in every turn, and the end might be an old one by the time that a request arrives.
    struct Backlog {
        /// The end of the backlog; nil: nothing newer will come.
        var end: (AppFeed) -> UInt64?
        var position: (AppFeed) -> UInt64
    }

    /// Called when something may go on.
    var onProgress: () -> Void = {}
    var backlog = Backlog(end: { _ in nil }, position: { _ in .max })

    private let settings: ShardSettings
    private let tokens: TokenTable?
    private let feeds: FeedTable
    private let outcomes: Outcomes
    private let memory: RequestMemory
    /// Takes the requests that are to be sent.
    private let badges: DueBadges
    private let eventLoop: any EventLoop
    private let logger: Logger
    private let lanes: (Int32) -> AppLanes?
    private var machine = Coalescer(patience: ShardLimits.backlogPatience)
    private var waiting = WaitingRequests()
    /// Requests that are sent as soon as Redis allows it.
    private var asked = PartedDictionary<Coalescer.Subject, UInt64>()
    private let availability: RedisAvailability
    /// By the ticket of the request that asks.
    private let questions: RedisWrites<UInt64, Question>

    init(
        settings: ShardSettings,
        tokens: TokenTable?,
        feeds: FeedTable,
        outcomes: Outcomes,
        memory: RequestMemory,
        badges: DueBadges,
        availability: RedisAvailability,
        eventLoop: any EventLoop,
        logger: Logger,
        lanes: @escaping (Int32) -> AppLanes?
    ) {
        self.settings = settings
        self.tokens = tokens
        self.feeds = feeds
        self.outcomes = outcomes
        self.memory = memory
        self.badges = badges
        self.eventLoop = eventLoop
        self.logger = logger
        self.lanes = lanes
        self.availability = availability
        questions = RedisWrites(availability, eventLoop)
        questions.onTurn = { [unowned self] in ask($0) }
        questions.onFailure = { _, error in
            logger.warning("coalescing windows cannot be read", metadata: ["error": "\(error)"])
        }
    }

    var count: Int { waiting.count }
    var oldestBatch: UInt64? { waiting.oldestBatch }
    private var now: MonotonicTime { MonotonicTime(eventLoop.now) }

    // MARK: Leaving

    /// Forgets a feed that is over, or being given back. Its requests leave in slices, one in each turn: there may be
    /// hundreds of thousands.
    func forget(feed: UInt32) {
        waiting.leave(feed)
        letLeave()
    }

    private func letLeave() {
        guard waiting.areLeaving else { return }
        let tickets = waiting.nextLeaving(ShardLimits.dueAtOnce)
        machine.forget(tickets.compactMap { ticket in takeRequest(ticket).map { (ticket, $0.subject) } })
    }

    // MARK: Arriving

    /// Keeps a notification that waits, or ends one superseded by a waiting one. True: it goes no further now.
    func takes(_ index: Int, of record: PreparedRecord, in batch: PreparedBatch, _ lanes: AppLanes) -> Bool {
        guard let coalescing = record.coalescing else { return false }
        let identity = identity(of: index, coalescing, in: batch)
        let content = batch.content(of: index, in: record)
        let request = WaitingRequest(
            reference: batch.reference(of: index, in: record),
            topic: record.topic,
            token: Array(batch.tokens[index]),
            checksum: batch.checksums[index],
            payload: Array(content.payload),
            terms: content.terms,
            expiration: content.expiration,
            ids: content.ids,
            fingerprint: identity.fingerprint,
            stamp: identity.stamp,
            batch: batch.oldest,
            isWithoutState: batch.isWithoutState,
            badge: batch.isWithoutState ? nil : batch.latePayload(of: index, in: record)
        )
        let waits = arrive(
            waiting.nextTicket(),
            request,
            window: record.topic.coalescingWindow > .zero && lanes.sending == .all ? .unknown : .none,
            waits: waits(of: request, record.feed, lanes)
        )
        return waits || badges.takes(request)
    }

    /// Supersedes older waiting requests: a notification had arrived at its device, or was on its way, before it was
    /// taken in.
    func arrivedBefore(_ index: Int, of record: PreparedRecord, in batch: PreparedBatch) {
        guard !waiting.isEmpty, let coalescing = record.coalescing else { return }
        let (fingerprint, stamp) = identity(of: index, coalescing, in: batch)
        let subject = Coalescer.Subject(topic: record.topic.index, fingerprint: fingerprint)
        end(machine.arrivedBefore(stamp, of: subject), .superseded)
        if let other = asked[subject], let before = waiting[other], before.stamp < stamp { end([other], .superseded) }
    }

    /// Token and key of a notification, and the stamp of its age.
    private func identity(
        of index: Int,
        _ coalescing: (key: SipHash, stamp: Coalescer.Stamp),
        in batch: PreparedBatch
    ) -> (fingerprint: RequestFingerprint, stamp: Coalescer.Stamp) {
        var stamp = coalescing.stamp
        stamp.token = batch.positions[index]
        return (RequestFingerprint(token: batch.tokens[index], key: coalescing.key), stamp)
    }

    /// Makes a due request wait for a window, with requests that came meanwhile.
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
                stamp: request.stamp,
                expiration: request.expiration ?? 0
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

    private func waits(of request: WaitingRequest, _ feed: AppFeed, _ lanes: AppLanes) -> [Coalescer.Wait] {
        var waits: [Coalescer.Wait] = []
        if let end = backlog.end(feed) { waits.append(.init(.backlog(assignment: feed.number), until: end)) }
        let number = lanes.transport.lane(checksum: request.checksum)
        if lanes.sending == .all, let end = lanes.transport.waitingEnd(ofLane: number) {
            waits.append(.init(.lane(topic: request.topic.index, number: number), until: end))
        }
        return waits
    }

    private func position(of gate: Coalescer.Gate) -> UInt64 {
        switch gate {
        case .backlog(let feed):
            return feeds[feed].map { backlog.position($0) } ?? .max
        case .lane(let topic, let number):
            guard let lanes = lanes(topic), lanes.sending == .all else { return .max }
            return lanes.transport.sentEnd(ofLane: number)
        }
    }

    // MARK: Going on

    /// Requests are left that nothing holds any more.
    var isUnfinished: Bool { waiting.areLeaving || !machine.isEmpty && machine.isUnfinished }

    /// Releases the requests that nothing holds any more, as many as one turn may.
    ///
    /// - Returns: true if a request went to the lanes.
    func release() -> Bool {
        letLeave()
        guard !machine.isEmpty else { return false }
        machine.pass(most: ShardLimits.dueAtOnce, position)
        let settled = machine.takeDue(
            now: now,
            unixSeconds: settings.unixMilliseconds() / 1000,
            most: ShardLimits.dueAtOnce
        )
        end(settled.superseded, .superseded)
        end(settled.expired, .expired)
        for due in settled.due { askOrSend(due) }
        return !settled.due.isEmpty
    }

    private func askOrSend(_ due: Coalescer.Due) {
        guard let request = waiting[due.ticket], !waiting.isLeaving(request) else { return release(due.ticket) }
        // The answer for a request that was due before may come after this one is sent.
        if let other = asked[due.subject], let before = waiting[other], !waiting.isLeaving(before) {
            let isNewer = before.stamp < due.stamp
            end([isNewer ? other : due.ticket], .superseded)
            guard isNewer else { return }
        }
        guard request.topic.coalescingWindow > .zero, lanes(due.subject.topic)?.sending == .all else {
            return release(due.ticket)
        }
        // A request without a window came when its topic did not work.
        if due.hadWindow {
            asked[due.subject] = due.ticket
            ask(.end(ticket: due.ticket), due.ticket)
        } else {
            waitOn(due.ticket, .unknown)
        }
    }

    private func end(_ tickets: [UInt64], _ outcome: OutcomeKind) {
        for ticket in tickets {
            guard let request = takeRequest(ticket), !waiting.isLeaving(request) else { continue }
            guard outcome == .superseded else {
                outcomes.settle(request.reference, outcome)
                continue
            }
            // Remembered as sent: if its record is read again, it must not follow the newer request, which was sent.
            request.token.withUnsafeBytes { token in
                memory.settle(outcome, of: request.topic) { $0(request.reference, token, request.checksum) }
            }
        }
    }

    private func release(_ ticket: UInt64) {
        if let request = takeRequest(ticket), !waiting.isLeaving(request) { badges.add(request) }
    }

    private func takeRequest(_ ticket: UInt64) -> WaitingRequest? {
        guard let request = waiting.takeRequest(ticket) else { return nil }
        if asked[request.subject] == ticket { asked.removeValue(forKey: request.subject) }
        return request
    }

    // MARK: Windows

    /// A question to Redis about the window of a token and coalescing key.
    private struct Question {
        enum Purpose {
            /// Asks for the end of a group's window.
            case open(group: UInt64)
            /// Asks whether a request may be sent, now that its window is over.
            case end(ticket: UInt64)
        }

        var purpose: Purpose
        var topic: Topic
        var fingerprint: RequestFingerprint
        var stamp: Coalescer.Stamp
        /// The number of the token's hash tag.
        var tag: Int
        var askedAt: MonotonicTime
    }

    private func ask(_ purpose: Question.Purpose, _ ticket: UInt64) {
        guard let request = waiting[ticket] else { return }
        let question = Question(
            purpose: purpose,
            topic: request.topic,
            fingerprint: request.fingerprint,
            stamp: request.stamp,
            tag: request.token.withUnsafeBytes { tokens?.tag(of: $0) ?? 0 },
            askedAt: now
        )
        questions.add(question, of: ticket)
    }

    private func ask(_ turn: RedisWrites<UInt64, Question>.Turn) {
        let question = turn.write
        guard isOpen(question) else { return questions.end(turn) }
        // The window may be gone by now, or Redis away.
        let window = question.topic.coalescingWindow
        guard window > .zero, let redis = tokens?.redis, !mayGoOnWithoutRedis(since: question.askedAt) else {
            decideWithoutRedis(question)
            return questions.end(turn)
        }
        let key = question.topic.windowKey
        let slot = question.topic.tokens.keys.slot(tag: question.tag)
        redis.evaluate(CoalesceScript.coalesce, slot: slot, keyCount: 1, argumentCount: 5) { writer in
            writer.argument(byteCount: key.count) { key.write(question.fingerprint, tag: question.tag, into: $0) }
            writer.argument(Int(settings.unixMilliseconds()))
            writer.argument(Int(window.wholeNanoseconds / 1_000_000))
            writer.argument(Int(min(question.stamp.milliseconds, CoalesceScript.largestNumber)))
            writer.argument(Int(min(question.stamp.offset, CoalesceScript.largestNumber)))
            if case .end = question.purpose { writer.argument(1) } else { writer.argument(0) }
        } _: { [weak self] result in
            self?.answered(turn, result)
        }
    }

    /// A request still waits for the answer. Not so in a group whose partition is given back.
    private func isOpen(_ question: Question) -> Bool {
        switch question.purpose {
        case .open(let group): machine.waits(group)
        case .end(let ticket): waiting[ticket] != nil
        }
    }

    private func answered(
        _ turn: RedisWrites<UInt64, Question>.Turn,
        _ result: Result<RedisReply, RedisError>
    ) {
        guard questions.isOpen(turn) else { return }
        let question = turn.write
        switch result {
        case .success(let reply):
            if isOpen(question) { decide(question, reply.integer ?? 0) }
            questions.end(turn)
            onProgress()
        case .failure(let error) where error.isLastingRefusal:
            logger.error(
                "coalescing window was refused by Redis",
                metadata: [
                    "app": "\(question.topic.bundleID)", "environment": "\(question.topic.environment)",
                    "offset": "\(question.stamp.offset)", "error": "\(error)",
                ]
            )
            decideWithoutRedis(question)
            questions.end(turn)
        case .failure(let error):
            // The question may be asked twice; the cursor waits for it.
            questions.fail(turn, error)
        }
    }

    /// Acts on the answer of Redis, see ``CoalesceScript``.
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
                if let subject = waiting[ticket]?.subject { asked.removeValue(forKey: subject) }
                waitOn(ticket, .ends(end))
            }
        }
    }

    /// Goes on without Redis: a window begins now, or is over.
    private func decideWithoutRedis(_ question: Question) {
        switch question.purpose {
        case .open(let group): machine.windowEnds(group, at: now + question.topic.coalescingWindow)
        case .end(let ticket): release(ticket)
        }
    }

    /// Sending may go on without Redis, which is away.
    private func mayGoOnWithoutRedis(since asked: MonotonicTime) -> Bool {
        guard let patience = settings.redisPatience else { return false }
        return availability.isAway || asked + patience <= now
    }
}
