import PipelineCore

/// A feedback service, a broker and a Redis around one harvester, each as small as can be, for looking at everything
/// that can happen. A value: every choice makes another world.
///
/// Tuples are as long as a batch may be, so that each is a read of its own.
struct HarvestWorld: Hashable {
    /// An event that may come next. All but the first group are faults, of which a world has a budget.
    enum Event: Int, CaseIterable {
        case timer
        case brokerAnswers
        /// Redis does what it is asked; the answer is on its way.
        case redisExecutes
        case leaseAnswers
        case releaseAnswers
        case opens
        case serviceSends
        case socketIsRead
        case serviceCloses
        case closed
        case brokerAcknowledges

        case brokerIsAway
        /// The question never reached Redis.
        case leaseQuestionLost
        /// Redis did what it was asked, and the answer was lost.
        case leaseAnswerLost
        case connectFails
        case cut
        /// The process stands still for longer than a lease lasts.
        case standsStill
        /// Another harvester takes the lease if it is free.
        case rival
        /// Redis has lost the lease.
        case redisForgets
        case stop
        case kill

        var isFault: Bool { rawValue >= Event.brokerIsAway.rawValue }
    }

    struct Violation: Error, CustomStringConvertible {
        var description: String
    }

    static let settings: HarvestStateMachine.Settings = {
        var settings = HarvestStateMachine.Settings(
            interval: .seconds(100),
            lease: .seconds(10),
            connectTimeout: .seconds(4)
        )
        settings.silenceLimit = .seconds(5)
        settings.retryDelay = .seconds(20)
        settings.stopPatience = .seconds(7)
        settings.answerPatience = .seconds(12)
        return settings
    }()
    private static let unit = HarvestLimits.batchBytes

    private struct Lease: Hashable {
        var isOurs: Bool
        var until: MonotonicTime
    }

    private struct LeaseReply: Hashable {
        var isHeld: Bool
        var at: MonotonicTime
    }

    private struct Socket: Hashable {
        /// Taken from the list, and not sent yet.
        var toSend: Int
        /// Sent, and not read.
        var unread = 0
    }

    private(set) var machine: HarvestStateMachine
    private(set) var now = MonotonicTime(nanoseconds: 0)
    private(set) var faults: Int
    private(set) var timers: Int

    /// Tuples that stand in the service's list.
    private(set) var list: Int
    /// Tuples that are safe.
    private(set) var log = 0
    /// Tuples that the service had taken from its list, and the harvester had not read when the connection ended.
    private(set) var lostWithConnection = 0
    private(set) var lostByKill = 0
    private let total: Int

    private var lease: Lease?
    private var socket: Socket?
    /// Received and not published, and published and not acknowledged.
    private var inHand = 0
    private var unacknowledged = 0

    private var brokerIsAsked = false
    private var leaseIsAsked = false
    /// The time at which Redis answered that the lease is ours or not, before the harvester has heard it.
    private var leaseReply: LeaseReply?
    /// Until when the harvester may rely on the lease by what it has heard.
    private var reliesUntil: MonotonicTime?
    private var brokerIsThere = false
    private var releaseIsAsked = false
    private var isConnecting = false
    private var isListening = false
    private var isClosing = false
    private(set) var hasStopped = false
    /// It has stopped without an answer that it waited for.
    private(set) var hasGivenUp = false
    private var toldAt: MonotonicTime?
    private(set) var wasTold = false

    init(tuples: Int, faults: Int, timers: Int) {
        machine = HarvestStateMachine(settings: Self.settings, due: now)
        list = tuples
        total = tuples
        self.faults = faults
        self.timers = timers
    }

    /// With more patience.
    func withTimers(_ count: Int) -> HarvestWorld {
        var world = self
        world.timers = count
        return world
    }

    var isAtRest: Bool { hasStopped || (machine.step == .waiting && list == 0) }

    /// Events that can happen now, in this order when all goes well.
    var possible: [Event] {
        Event.allCases.filter { event in
            (!event.isFault || faults > 0) && isPossible(event)
        }
    }

    private func isPossible(_ event: Event) -> Bool {
        switch event {
        case .timer: machine.deadline != nil && timers > 0
        case .brokerAnswers, .brokerIsAway: brokerIsAsked
        case .redisExecutes, .leaseQuestionLost: leaseIsAsked && leaseReply == nil
        case .leaseAnswers, .leaseAnswerLost: leaseReply != nil
        case .redisForgets: lease?.isOurs == true
        case .releaseAnswers: releaseIsAsked
        case .opens: isConnecting && !isClosing
        case .connectFails: isConnecting
        case .serviceSends: socket.map { $0.toSend > 0 && $0.unread == 0 } ?? false
        case .socketIsRead: isListening && !isClosing && (socket?.unread ?? 0) > 0
        case .serviceCloses: !isClosing && socket?.toSend == 0
        case .closed: isClosing
        case .brokerAcknowledges: unacknowledged > 0
        case .cut: !isClosing && socket != nil
        case .standsStill: true
        case .rival: lease.map { !$0.isOurs || $0.until <= now } ?? true
        case .stop: !wasTold
        case .kill: !hasStopped
        }
    }

    /// - Throws: ``Violation``: the machine did what it must not.
    mutating func happen(_ event: Event) throws {
        if event.isFault { faults -= 1 }
        switch event {
        case .timer:
            timers -= 1
            now = max(now, machine.deadline ?? now)
            try carryOut(machine.timerFired(now: now))
        case .brokerAnswers, .brokerIsAway:
            brokerIsAsked = false
            brokerIsThere = event == .brokerAnswers
            try carryOut(machine.brokerAnswered(event == .brokerAnswers, now: now))
        case .redisExecutes: leaseReply = LeaseReply(isHeld: hold(), at: now)
        case .leaseAnswers: try answerLease(isHeard: true)
        case .leaseQuestionLost, .leaseAnswerLost: try answerLease(isHeard: false)
        case .releaseAnswers:
            releaseIsAsked = false
            if lease?.isOurs == true { lease = nil }
            try carryOut(machine.leaseReleased(now: now))
        case .opens:
            isConnecting = false
            socket = Socket(toSend: list)
            list = 0
            try carryOut(machine.opened(now: now))
        case .connectFails:
            isConnecting = false
            isClosing = false
            try carryOut(machine.ended(failed: true, now: now))
        case .serviceSends:
            socket?.toSend -= 1
            socket?.unread += 1
        case .socketIsRead:
            isListening = false
            socket?.unread -= 1
            try receive(1)
        case .serviceCloses: try end(failed: false)
        case .closed: try endOfClosing()
        case .brokerAcknowledges:
            unacknowledged -= 1
            log += 1
            try carryOut(machine.acknowledged(now: now))
        case .cut: try end(failed: true)
        case .standsStill: now = now + .seconds(30)
        case .rival: lease = Lease(isOurs: false, until: now + .seconds(3))
        case .redisForgets: lease = nil
        case .stop:
            wasTold = true
            toldAt = now
            try carryOut(machine.stop(now: now))
        case .kill: try kill()
        }
        try check()
    }

    // MARK: The harvester's surroundings

    private mutating func hold() -> Bool {
        if let lease, !lease.isOurs, now < lease.until { return false }
        lease = Lease(isOurs: true, until: now + Self.settings.lease)
        return true
    }

    private var holdsLease: Bool { reliesUntil.map { now < $0 } ?? false }

    private mutating func answerLease(isHeard: Bool) throws {
        let reply = isHeard ? leaseReply : nil
        leaseIsAsked = false
        leaseReply = nil
        if let reply { reliesUntil = reply.isHeld ? reply.at + Self.settings.lease : nil }
        let answer: HarvestStateMachine.LeaseAnswer =
            switch reply?.isHeld {
            case true?: .held
            case false?: .refused
            case nil: .unknown
            }
        try carryOut(machine.leaseAnswered(answer, now: now))
    }

    private mutating func receive(_ tuples: Int) throws {
        guard tuples > 0 else { return }
        inHand += tuples
        try carryOut(machine.received(bytes: tuples * Self.unit, now: now))
    }

    /// Ends the connection. The bytes in the socket come all at once.
    private mutating func end(failed: Bool) throws {
        guard let ended = socket else { return }
        socket = nil
        isListening = false
        lostWithConnection += ended.toSend
        try receive(ended.unread)
        try carryOut(machine.ended(failed: failed, now: now))
    }

    private mutating func endOfClosing() throws {
        isClosing = false
        isConnecting = false
        isListening = false
        // Unread bytes go with the connection.
        lostWithConnection += (socket?.toSend ?? 0) + (socket?.unread ?? 0)
        socket = nil
        try carryOut(machine.ended(failed: true, now: now))
    }

    private mutating func kill() throws {
        try die()
        // The lease of the killed harvester stands until it is over: its successor has another name.
        if lease?.isOurs == true { lease?.isOurs = false }
        wasTold = false
        machine = HarvestStateMachine(settings: Self.settings, due: now)
    }

    /// Loses what is not safe.
    private mutating func die() throws {
        let readAhead = inHand + unacknowledged + (socket?.unread ?? 0)
        guard readAhead * Self.unit <= HarvestLimits.readAheadBytes else {
            throw Violation(description: "a kill loses \(readAhead) reads")
        }
        lostByKill += readAhead
        lostWithConnection += socket?.toSend ?? 0
        socket = nil
        inHand = 0
        unacknowledged = 0
        (brokerIsAsked, leaseIsAsked, releaseIsAsked) = (false, false, false)
        (leaseReply, reliesUntil) = (nil, nil)
        (isConnecting, isListening, isClosing) = (false, false, false)
    }

    // MARK: The rules

    private mutating func carryOut(_ effects: [HarvestStateMachine.Effect]) throws {
        for effect in effects { try carryOut(effect) }
    }

    private mutating func carryOut(_ effect: HarvestStateMachine.Effect) throws {
        switch effect {
        case .checkBroker:
            try expect(!brokerIsAsked, "asks for the broker once")
            brokerIsAsked = true
        case .holdLease:
            try expect(!leaseIsAsked && !releaseIsAsked, "asks for the lease once")
            leaseIsAsked = true
        case .releaseLease:
            try expect(socket == nil && !isConnecting, "keeps the lease while it is connected")
            try expect(inHand == 0 && unacknowledged == 0, "keeps the lease until all is safe")
            releaseIsAsked = true
        case .connect:
            try expect(socket == nil && !isConnecting, "connects once")
            try expect(holdsLease, "connects under its lease")
            try expect(brokerIsThere, "connects when the broker is there")
            isConnecting = true
        case .listen:
            try expect(inHand == 0 && unacknowledged == 0, "reads when all is safe")
            try expect(holdsLease, "reads under its lease")
            try expect(socket != nil && !isListening && !isClosing, "reads once from an open connection")
            isListening = true
        case .publish(let bytes):
            try expect(unacknowledged == 0, "publishes one batch at a time")
            try expect(bytes > 0 && bytes <= HarvestLimits.batchBytes, "publishes no more than a batch")
            inHand -= bytes / Self.unit
            unacknowledged += bytes / Self.unit
            try carryOut(machine.handedOver(tuples: bytes / Self.unit, heldBytes: 0, now: now))
        case .close:
            try expect((socket != nil || isConnecting) && !isClosing, "closes what is open")
            isClosing = true
        case .report(let reading):
            try expect(inHand == 0 && unacknowledged == 0, "reports what is safe")
            try expect(reading.tuples <= total, "reports what was read")
        case .stopped:
            try expect(wasTold && socket == nil && inHand == 0 && unacknowledged == 0, "stops when all is safe")
            hasStopped = true
        case .giveUp:
            try expect(toldAt.map { $0 + Self.settings.answerPatience <= now } ?? false, "gives up long after a stop")
            try die()
            hasStopped = true
            hasGivenUp = true
        }
    }

    private func check() throws {
        let all = list + (socket?.toSend ?? 0) + (socket?.unread ?? 0) + inHand + unacknowledged + log
        try expect(all + lostWithConnection + lostByKill == total, "loses nothing but by a kill or with a connection")
        if hasGivenUp { return try expect(machine.deadline == nil, "wants nothing after it has given up") }
        try expect(machine.unacknowledged == unacknowledged, "counts what is not safe")
        try expect(machine.backlogBytes == inHand * Self.unit, "counts what it has not handed over")
        if faults == 0, hasStopped { try expect(machine.deadline == nil, "wants nothing after its stop") }
    }

    private func expect(_ condition: Bool, _ rule: String) throws {
        guard !condition else { return }
        throw Violation(description: "it \(rule): broken at \(now.nanoseconds / 1_000_000_000) s, \(machine.step)")
    }
}
