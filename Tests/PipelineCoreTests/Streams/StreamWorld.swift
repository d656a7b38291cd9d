import APNsProtocol
import TestSupport

@testable import PipelineCore

/// Two topics of one credential, their connections and a service under a virtual clock; every choice comes from the
/// seed.
///
/// Queues and pool are driven as a shell drives them. ``StreamAuditor`` is the naive model.
final class StreamWorld {
    struct Options {
        var policy = UnknownFatePolicy.resend
        /// Connections fail, say goodbye, refuse streams, reset them or never answer.
        var fails = true
        /// Partitions are revoked, and waiting notifications taken away, now and then.
        var removes = false
        /// The service ends connections without a word on some notifications.
        var poisons = false
        var startsWithOneStream = false
        var notifications = 300
        var tokens: UInt32 = 9
    }

    /// A request with the service.
    private struct Request {
        var ticket: StreamTicket
        var ordinal: UInt32
        var stream: Int32
    }

    private struct Line {
        var requests: [Request] = []
        /// The service never answers on it.
        var isMute = false
        var nextStream: Int32 = 1
    }

    static let topics = 2
    private static let mostUnsettled = 60
    private static let finalAnswers = [ProviderVerdict.tokenRefused, .tokenDead, .rejected, .deadLetter]

    let options: Options
    let auditor: StreamAuditor
    var queues: [StreamQueueBox]
    var pool: StreamPool
    var random: SeededGenerator
    var now = MonotonicTime(nanoseconds: 1_000_000_000)
    private var lines: [UInt32: Line] = [:]
    private var order: [UInt32] = []
    private var published: UInt32 = 0
    private var assignment: UInt32 = 1
    private var isQuiet = false
    private(set) var steps = 0
    private(set) var openings = 0
    private var edition: UInt64 = 1
    /// Connections that were replaced for another credential.
    private(set) var rotations = 0

    init(seed: UInt64, options: Options) {
        self.options = options
        random = SeededGenerator(seed: seed)
        auditor = StreamAuditor(options: options)
        let limits = StreamLimits(
            unknownFate: options.policy,
            inFlight: [1, 3, 20, 1000].randomElement(using: &random) ?? 1,
            requestTimeout: .seconds(10),
            backoff: Backoff(base: .milliseconds(200), cap: .seconds(4), floor: .milliseconds(20)),
            retryFor: .seconds(20),
            loneCloses: random.pick(2...5)
        )
        queues = (0..<Self.topics).map { StreamQueueBox(number: UInt16($0), limits: limits) }
        pool = StreamPool(
            limits: StreamPoolLimits(
                connections: random.pick(1...4),
                startsWithOneStream: options.startsWithOneStream,
                connectionMaxAge: random.chance(30) ? .seconds(40) : nil,
                backoff: Backoff(base: .milliseconds(200), cap: .seconds(4), floor: .milliseconds(20))
            )
        )
    }

    /// Runs until everything is settled; false if it did not come to that in a generous number of steps.
    func run() -> Bool {
        while published < options.notifications, steps < 20_000 { step() }
        isQuiet = true
        let limit = steps + 20_000
        while !queues.allSatisfy(\.isDrained), steps < limit { step() }
        for queue in queues { auditor.check(queue.contentsAreFree, "a content is kept") }
        return queues.allSatisfy(\.isDrained)
    }

    private func step() {
        steps += 1
        if random.chance(40) { publishSome() }
        if random.chance(70) { pump() }
        if random.chance(70) { answerSome() }
        now = now + .milliseconds(random.pick(0...(random.chance(5) ? 3000 : 20)))
        if random.chance(50) { tick() }
        if options.fails, !isQuiet, random.chance(8) { injectFault() }
        if options.removes, !isQuiet, random.chance(2) { removeSome() }
        checkCounts()
    }

    // MARK: The shell

    private func publishSome() {
        for _ in 0..<random.pick(1...8) where published < options.notifications {
            let topic = random.pick(0...Self.topics - 1)
            guard queues[topic].unsettledCount < Self.mostUnsettled else { return }
            let token = randomToken(of: topic)
            queues[topic].append(ordinal: published, token: token, assignment: assignment, random: &random)
            auditor.publish(topic: topic, token: token, assignment: assignment, fate: randomFate())
            published += 1
        }
    }

    /// Tokens belong to topics.
    private func randomToken(of topic: Int) -> UInt32 {
        UInt32(random.pick(0...Int(options.tokens) - 1) * Self.topics + topic)
    }

    private func randomFate() -> StreamAuditor.Fate {
        if options.poisons, random.chance(2) { return .poison }
        return switch random.pick(0...99) {
        case 0..<5: .answers(Self.finalAnswers.randomElement(using: &random) ?? .rejected)
        case 5: .answers(.retryTokenLater)
        case 6..<10: .answersAtFirst(.retryTokenLater)
        case 10..<13: .answersAtFirst(.backOff)
        case 13: .answersAtFirst(.reconnect)
        case 14: .answersAtFirst(.reconnectOnce)
        case 15: .answersAtFirst(.doesNotWork(.topic))
        default: .answers(.accepted)
        }
    }

    private func pump() {
        var isFull = false
        while !isFull, let choice = chooseIfWanted() {
            var room = choice.room
            while room > 0, let (queue, ticket) = nextTicket() {
                send(ticket, of: queue, over: choice.connection)
                room -= 1
            }
            isFull = room == choice.room
        }
        pool.pumped(isWaiting: nextTicket() != nil, now: now)
        connectIfWanted()
        while let step = pool.nextStep(now: now) { carryOut(step) }
    }

    private func chooseIfWanted() -> StreamPool.Choice? {
        nextTicket() == nil ? nil : pool.choose(now: now)
    }

    private func nextTicket() -> (StreamQueueBox, StreamTicket)? {
        let first = random.pick(0...Self.topics - 1)
        for offset in 0..<Self.topics {
            let queue = queues[(first + offset) % Self.topics]
            if let ticket = queue.queue.next(now: now) { return (queue, ticket) }
        }
        return nil
    }

    private func send(_ ticket: StreamTicket, of queue: StreamQueueBox, over number: UInt32) {
        guard let line = lines[number], let connection = pool.connection(number) else {
            return auditor.check(false, "connection \(number) is chosen after its end")
        }
        auditor.check(connection.phase == .open, "connection \(number) is chosen though it is \(connection.phase)")
        auditor.check(line.requests.count < connection.peerLimit, "connection \(number) has more streams than it may")
        if options.startsWithOneStream, !connection.hasAccepted {
            auditor.check(line.requests.isEmpty, "connection \(number) has more streams than its pilot")
        }
        let ordinal = queue.queue.reference(at: ticket.slot).token
        let token = Array(queue.queue.token(at: ticket.slot))
        auditor.sent(ordinal, token: token, isAllowed: queue.queue.admission != .none)
        queue.queue.sent(ticket, connection: number, stream: line.nextStream, now: now)
        pool.streamOpened(number, now: now)
        lines[number]?.requests.append(Request(ticket: ticket, ordinal: ordinal, stream: line.nextStream))
        lines[number]?.nextStream += 2
    }

    private func connectIfWanted() {
        // Other certificates come.
        if options.fails, !isQuiet, random.chance(1) { edition += 1 }
        pool.noteEdition(edition, now: now) { random.next() }
        guard pool.wantsConnection(now: now) != nil else { return }
        if random.chance(10) { return pool.postpone(until: now + .milliseconds(100)) }
        let number = pool.connecting(now: now)
        openings += 1
        if !isQuiet, random.chance(20) {
            _ = pool.ended(number, random.chance(20) ? .certificateRefused : .failed, now: now, random: random.next())
            pool.retryCredential()
            return
        }
        lines[number] = Line(isMute: options.fails && !isQuiet && random.chance(5))
        order.append(number)
        pool.opened(number, streams: random.pick(1...20), now: now, random: random.next())
    }

    private func carryOut(_ step: StreamStep) {
        switch step {
        case .ping(let number): pool.heard(number, now: now)
        case .end(let number, let end): lose(number, end)
        }
    }

    private func lose(_ number: UInt32, _ end: ConnectionEnd) {
        let requests = lines.removeValue(forKey: number)?.requests ?? []
        order.removeAll { $0 == number }
        guard let loss = pool.ended(number, end, now: now, random: random.next()) else {
            return auditor.check(false, "connection \(number) ended twice")
        }
        auditor.check(loss.inFlight == requests.count, "\(loss.inFlight) were in flight, not \(requests.count)")
        for request in requests { auditor.lost(request.ordinal, isLone: loss.isSilent && loss.inFlight == 1) }
        for queue in queues {
            for verdict in queue.queue.lost(loss) { settle(verdict, of: queue) }
        }
    }

    private func settle(_ verdict: StreamVerdict?, of queue: StreamQueueBox) {
        guard let verdict else { return }
        if verdict.isFinal {
            let ordinal = queue.queue.reference(at: verdict.slot).token
            auditor.settled(ordinal, verdict.result, loneCloses: queue.queue.limits.loneCloses)
            queue.release(verdict.slot)
        }
        if verdict.finding != .none {
            queue.queue.admit(.none)
            auditor.findings += 1
        }
    }

    private func tick() {
        for queue in queues {
            while let ticket = queue.queue.nextTimedOut(now: now) {
                guard let place = queue.queue.place(of: ticket) else { break }
                let isPassedOver = pool.timedOut(
                    place.connection,
                    stream: place.stream,
                    now: now,
                    random: random.next()
                )
                let ordinal = queue.queue.reference(at: ticket.slot).token
                auditor.lost(ordinal, isLone: isPassedOver)
                settle(
                    queue.queue.timedOut(ticket, isPassedOver: isPassedOver, now: now, random: random.next()),
                    of: queue
                )
                close(place.connection, isRefused: false) { $0.ticket == ticket }
            }
            if queue.queue.admission != .all, random.chance(20) {
                queue.queue.admit(random.chance(50) || isQuiet ? .all : .one)
            }
        }
        for number in order where random.chance(50) { pool.heard(number, now: now) }
        while let step = pool.nextStep(now: now) { carryOut(step) }
        rotations += pool.takeRotations().count { $0.reason == .credential }
    }

    // MARK: The service

    /// Answers some requests, in any order.
    private func answerSome() {
        guard let number = order.randomElement(using: &random), lines[number]?.isMute == false else { return }
        for _ in 0..<random.pick(1...10) {
            guard let count = lines[number]?.requests.count, count > 0 else { return }
            let place = random.chance(50) ? 0 : random.pick(0...count - 1)
            guard let request = lines[number]?.requests[place] else { return }
            switch auditor.answer(to: request.ordinal) {
            case nil:
                lose(number, .failed)
                return
            case let answer?:
                lines[number]?.requests.remove(at: place)
                pool.heard(number, now: now)
                pool.answered(number, stream: request.stream, answer, now: now, random: random.next())
                let queue = queues[Int(request.ticket.queue)]
                settle(queue.queue.answered(request.ticket, answer, now: now, random: random.next()), of: queue)
                auditor.landed(request.ordinal)
                pool.streamClosed(number, isRefused: false, now: now, random: random.next())
                let late = queue.queue.closed(request.ticket, isRefused: false, now: now, random: random.next())
                auditor.check(late == nil, "\(request.ordinal) got a verdict after its answer")
            }
        }
    }

    /// Ends streams of a connection.
    private func close(_ number: UInt32, isRefused: Bool, where isMeant: (Request) -> Bool) {
        let meant = lines[number]?.requests.filter(isMeant) ?? []
        lines[number]?.requests.removeAll(where: isMeant)
        for request in meant {
            pool.streamClosed(number, isRefused: isRefused, now: now, random: random.next())
            let queue = queues[Int(request.ticket.queue)]
            if isRefused { auditor.landed(request.ordinal) } else { auditor.lost(request.ordinal, isLone: true) }
            settle(queue.queue.closed(request.ticket, isRefused: isRefused, now: now, random: random.next()), of: queue)
        }
    }

    private func injectFault() {
        guard let number = order.randomElement(using: &random), let requests = lines[number]?.requests else { return }
        switch random.pick(0...9) {
        case 0: lose(number, .failed)
        case 1: lose(number, .peerDead)
        case 2...4:
            let last = requests.randomElement(using: &random)?.stream ?? 0
            _ = pool.goAway(number, reason: nil, isError: random.chance(30), now: now, random: random.next())
            close(number, isRefused: true) { $0.stream > last }
        case 5, 6:
            pool.settings(number, streams: random.pick(0...20))
            let first = requests.randomElement(using: &random)?.stream ?? 0
            if random.chance(50) { close(number, isRefused: true) { $0.stream >= first } }
        case 7:
            let stream = requests.randomElement(using: &random)?.stream
            close(number, isRefused: false) { $0.stream == stream }
        case 8: pool.stalled(number, random.chance(50), now: now)
        default: if random.chance(10) { pool.renew() }
        }
        if random.chance(30) {
            for number in order {
                pool.settings(number, streams: random.pick(1...20))
                pool.stalled(number, false, now: now)
            }
        }
    }

    private func removeSome() {
        let queue = queues[random.pick(0...Self.topics - 1)]
        switch random.pick(0...2) {
        case 0:
            let revoked = assignment
            assignment += 1
            for queue in queues { queue.queue.stopSending(assignment: revoked) }
            auditor.stopped(assignment: revoked)
            if random.chance(50) {
                for queue in queues { queue.queue.forget(assignment: revoked) }
                auditor.forgotten(assignment: revoked)
            }
        case 1:
            let remainder = UInt32(random.pick(0...2))
            let taken = (0...assignment).flatMap { assignment in
                queue.queue.takeWaiting(assignment: assignment) { $0.token % 3 == remainder }
            }
            for reference in taken { auditor.removed(reference.token) }
            auditor.check(taken == taken.sorted { $0.token < $1.token }, "taken out of order")
        default:
            let token = randomToken(of: Int(queue.queue.number))
            let discarded = queue.discard(token: token)
            auditor.check(discarded == auditor.waiting(token: token), "token \(token): \(discarded) are discarded")
            for ordinal in discarded { auditor.removed(ordinal) }
        }
        queue.freeContents()
    }

    private func checkCounts() {
        for (topic, queue) in queues.enumerated() {
            let inFlight = queue.queue.inFlightCount
            auditor.check(inFlight <= queue.queue.limits.inFlight, "\(inFlight) are in flight")
            auditor.checkCounts(topic: topic, inFlight: inFlight, waiting: queue.queue.waitingCount)
        }
        let open = lines.values.reduce(0) { $0 + $1.requests.count }
        auditor.check(pool.inFlightCount == open, "the pool counts \(pool.inFlightCount) streams, not \(open)")
        auditor.check(pool.openCount <= pool.limits.connections + 1, "\(pool.openCount) connections are open")
    }
}
