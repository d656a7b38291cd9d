import APNsProtocol

/// The notifications of one topic in one shard on their way over HTTP/2: waiting, in flight, to be sent again.
///
///     append ──▶ waiting ──▶ next, sent ──▶ in flight ──▶ answered, closed, timedOut, lost ──▶ verdict ──▶ release
///                   ▲                                                  │
///                   └────────────── goes again, at once or later ──────┘
///
/// Every request is answered by itself, and answers come in any order, so there is no cursor. Promises:
/// - One request of a token is in flight at a time; the newer ones of the token wait for its outcome, also while it
///   waits for another attempt. Tokens are told apart by their CRC-32.
/// - Notifications go in the order of arrival, those that go again before those never sent.
/// - Every notification gets one final verdict, or is handed back by one of the methods that remove.
///
/// The queue knows nothing of connections but their numbers: a topic may change to other connections at any moment.
/// Work for a notification is constant, and allocates nothing once the queue has its size.
///
/// Pure: time and randomness are arguments; used by one thread at a time.
public struct StreamQueue: ~Copyable {
    /// The time for which nothing goes out after a finding, unless the admission changes before.
    static let pauseAfterFinding = Duration.seconds(1)

    /// Distinguishes the queue from others whose requests share a connection, see ``StreamTicket/queue``.
    public let number: UInt16
    public private(set) var limits: StreamLimits
    public private(set) var admission = Admission.all

    private(set) var slab = StreamSlab()
    private var chains: TokenChains
    private var assignments = AssignmentChains()
    private var contents = ContentUses()
    private var waiting = SlotList()
    private var again = SlotList()
    private var suspects = SlotList()
    /// The oldest sent first.
    private var inFlight = SlotList()
    private var sleepers = Sleepers()

    var suspicion = StreamSuspicion()
    var trouble = ServiceTrouble()
    var rejections = RejectionShare()
    /// The service has refused the topic and has accepted nothing of it since.
    var isTopicRefused = false

    /// Requests in flight.
    public private(set) var inFlightCount = 0
    /// Verdicts that were final, ever: moves when something settles.
    public private(set) var settledEnd: UInt64 = 0
    /// Notifications with an outcome that were not released.
    private var unreleased = 0
    /// Entries looked at because of their assignment, ever: the cost of revocations.
    private(set) var looks = 0
    /// Number of the next sending.
    private var nextSending: UInt64 = 1
    /// Nothing goes out before this time, because of a finding.
    private var pausedUntil = MonotonicTime(nanoseconds: 0)
    /// The slot of the notification appended last.
    private var latest: Int?
    /// Notifications taken in, ever.
    private var appended: UInt64 = 0
    private var restWatch = RestWatch()

    /// - Parameter number: of this queue among those of its connections.
    public init(number: UInt16 = 0, limits: StreamLimits) {
        self.number = number
        self.limits = limits
        chains = TokenChains(capacity: StreamSlab.firstCapacity)
    }

    /// Uses other limits from now on, for what is in flight, too. Each is looked at in the moment of one decision.
    public mutating func use(_ changed: StreamLimits) { limits = changed }

    // MARK: State

    /// Notifications without an outcome that are not in flight.
    public var waitingCount: Int { slab.count - inFlightCount - unreleased }

    /// Every notification has its outcome.
    public var isDrained: Bool { slab.count == unreleased }

    /// The next time at which a notification wants its next attempt; nil: none waits for a time.
    public var wakesAt: MonotonicTime? { sleepers.wakesAt }

    /// All that is left waits for its next attempt, or behind such a one, as of the last ``next(now:)``. The topic does
    /// not stand still then.
    public var isResting: Bool { inFlightCount == 0 && waiting.isEmpty && again.isEmpty && suspects.isEmpty }

    /// The topic is to have connections of its own: many of its requests are rejected, or some end connections, or may
    /// have done so lately; or the service refuses the topic, so that each probe needs a new connection.
    public func needsOwnConnections(now: MonotonicTime) -> Bool {
        rejections.isHigh || isolates || isTopicRefused || now < suspicion.apartUntil
    }

    /// Slots there are: the memory of the queue.
    var capacity: Int { slab.capacity }

    /// Gives memory back once the queue has been empty for ``RestWatch/patience``.
    ///
    /// A ticket of before finds nothing. A queue that is never empty for so long keeps what its busiest time needed.
    ///
    /// - Returns: true if it did: numbers of contents begin anew.
    public mutating func rest(now: MonotonicTime) -> Bool {
        let isEmpty = slab.count == 0 && contents.isEmpty
        let work = nextSending &+ appended
        guard restWatch.isOver(work: work, isAtRest: isEmpty, now: now), slab.capacity > StreamSlab.firstCapacity else {
            return false
        }
        slab = StreamSlab()
        chains = TokenChains(capacity: StreamSlab.firstCapacity)
        contents = ContentUses()
        sleepers = Sleepers()
        return true
    }

    /// The mark of all that is in flight now, see ``hasPassed(_:)``.
    public var barrier: UInt64 { nextSending }

    /// Everything that was in flight at the barrier has ended its flight.
    public func hasPassed(_ barrier: UInt64) -> Bool {
        inFlight.first.map { slab.entries[$0].sending >= barrier } ?? true
    }

    // MARK: Contents

    /// A number for the content of requests, for as long as a notification has it, and until
    /// ``releaseContent(_:)``.
    public mutating func addContent() -> UInt32 {
        contents.add()
    }

    /// No further notification gets the content.
    public mutating func releaseContent(_ content: UInt32) {
        contents.release(content)
    }

    /// The number of a content that is not needed any more; nil: there is none (left).
    public mutating func takeUnusedContent() -> UInt32? {
        contents.takeUnused()
    }

    // MARK: Taking notifications in

    /// Takes a notification in, as the topic's newest.
    ///
    /// - Parameters:
    ///   - token: 1 to 255 bytes; copied.
    ///   - checksum: CRC-32 of the token.
    ///   - content: a number of ``addContent()``.
    public mutating func append(
        _ reference: NotificationReference,
        token: UnsafeRawBufferPointer,
        checksum: UInt32,
        content: UInt32
    ) {
        let entry = StreamEntry(
            reference: reference,
            checksum: checksum,
            content: content,
            state: .waiting,
            tokenBytes: UInt8(token.count)
        )
        let slot = slab.fillSlot(entry, token: token)
        contents.use(content)
        chains.append(slot, in: slab)
        assignments.append(slot, in: slab)
        slab.append(slot, to: &waiting)
        latest = slot
        appended += 1
    }

    /// Adds earlier trouble to the notification appended last, which was sent before.
    public mutating func inheritTrouble(_ trouble: NotificationTrouble) {
        guard let latest, slab.entries[latest].state == .waiting else {
            preconditionFailure("the notification has just been appended")
        }
        slab.entries[latest].refusals = trouble.refusals
        slab.entries[latest].loneCloses = trouble.loneCloses
        slab.entries[latest].retriedSince = trouble.retriedSince
    }

    // MARK: Sending

    /// Changes the admission. This ends the pause after a finding, and the waits for another attempt: the breaker
    /// decides on the next one.
    public mutating func admit(_ admission: Admission) {
        guard self.admission != admission else { return }
        self.admission = admission
        if admission != .none { sleepers.wakeAll() }
        pausedUntil = MonotonicTime(nanoseconds: 0)
    }

    /// The next notification to be sent, as long as no other method is called; nil: none may go now.
    ///
    /// The answer stays the same until ``sent(_:connection:stream:now:)``, so that a caller without a free stream just
    /// does not send.
    public mutating func next(now: MonotonicTime) -> StreamTicket? {
        wakeSleepers(now: now)
        guard maySend(now: now), let slot = isolates ? suspects.first : firstInLine() else { return nil }
        return StreamTicket(queue: number, slot: slot, sending: nextSending)
    }

    /// The notification that ``next(now:)`` named has its stream.
    public mutating func sent(_ ticket: StreamTicket, connection: UInt32, stream: Int32, now: MonotonicTime) {
        let slot = ticket.slot
        precondition(ticket.isOf(sending: nextSending), "the ticket is not the next")
        leaveLine(slot)
        if slab.entries[slot].isSuspected { suspicion.inFlight += 1 }
        slab.entries[slot].state = .inFlight
        slab.entries[slot].connection = connection
        slab.entries[slot].stream = stream
        slab.entries[slot].sending = nextSending
        slab.entries[slot].time = now
        slab.append(slot, to: &inFlight)
        nextSending += 1
        inFlightCount += 1
    }

    private func maySend(now: MonotonicTime) -> Bool {
        guard pausedUntil <= now, inFlightCount < limits.inFlight else { return false }
        // Suspects go when nothing else is in flight, and then nothing else goes.
        guard !isolates || suspicion.inFlight == inFlightCount && inFlightCount < suspicion.groupSize else {
            return false
        }
        switch admission {
        case .all: return true
        case .one: return inFlightCount == 0
        case .none: return false
        }
    }

    /// Suspects go now; see ``StreamSuspicion``.
    private var isolates: Bool { !suspects.isEmpty || suspicion.inFlight > 0 }

    /// The first that may go. Newer ones of a token that is under way leave the line for now.
    private mutating func firstInLine() -> Int? {
        if let slot = again.first { return slot }
        while let slot = waiting.first {
            if slab.entries[slot].isFirst { return slot }
            slab.remove(slot, from: &waiting)
            slab.entries[slot].state = .passedOver
        }
        return nil
    }

    private mutating func wakeSleepers(now: MonotonicTime) {
        while let sleeper = sleepers.takeAwake(now: now) {
            let entry = slab.entries[sleeper.slot]
            if entry.state == .asleep, entry.sending == sleeper.sending { enterLine(sleeper.slot) }
        }
    }

    /// Stops sending for a while, until the owner has acted on a finding.
    public mutating func pause(now: MonotonicTime) {
        pausedUntil = now + Self.pauseAfterFinding
    }

    // MARK: Landing

    /// A request is in flight on the connection.
    public func hasRequests(on connection: UInt32) -> Bool { !slotsInFlight(on: connection).isEmpty }

    /// The slot of a request in flight; nil if the ticket is old, which is a legal race.
    func slotInFlight(_ ticket: StreamTicket) -> Int? {
        let slot = ticket.slot
        guard slot < slab.capacity, slab.entries[slot].state == .inFlight,
            ticket.isOf(sending: slab.entries[slot].sending)
        else { return nil }
        return slot
    }

    /// The oldest request in flight, if it was sent so long ago.
    ///
    /// The caller resets its stream and reports ``timedOut(_:isPassedOver:now:random:)``; then comes the next one.
    public func nextTimedOut(now: MonotonicTime) -> StreamTicket? {
        guard let slot = inFlight.first, slab.entries[slot].time + limits.requestTimeout <= now else { return nil }
        return StreamTicket(queue: number, slot: slot, sending: slab.entries[slot].sending)
    }

    /// The slots of a connection's requests, in the order of sending.
    func slotsInFlight(on connection: UInt32) -> [Int] {
        var slots: [Int] = []
        var link = inFlight.head
        while link != StreamEntry.none {
            if slab.entries[Int(link)].connection == connection { slots.append(Int(link)) }
            link = slab.entries[Int(link)].next
        }
        return slots
    }

    /// A request is in flight no more; what becomes of it follows.
    mutating func land(_ slot: Int) {
        slab.remove(slot, from: &inFlight)
        inFlightCount -= 1
        if slab.entries[slot].isSuspected { suspicion.inFlight -= 1 }
    }

    /// Ends a notification that has landed.
    mutating func settle(_ slot: Int, _ result: StreamVerdict.Result) -> StreamVerdict {
        if slab.entries[slot].leave == .isForgotten { return dropLanded(slot) }
        leaveChain(slot)
        slab.entries[slot].state = .settled
        unreleased += 1
        settledEnd += 1
        return StreamVerdict(slot: slot, result: result, finding: .none)
    }

    /// Puts a notification that has landed in line again, or to sleep until a time.
    mutating func sendAgain(
        _ slot: Int,
        _ result: StreamVerdict.Result,
        from time: MonotonicTime? = nil
    ) -> StreamVerdict {
        guard slab.entries[slot].leave == .goesAgain else { return dropLanded(slot) }
        if let time {
            slab.entries[slot].state = .asleep
            sleepers.insert(.init(wakesAt: time, sending: slab.entries[slot].sending, slot: slot))
        } else {
            enterLine(slot)
        }
        return StreamVerdict(slot: slot, result: result, finding: .none)
    }

    private mutating func dropLanded(_ slot: Int) -> StreamVerdict {
        leaveChain(slot)
        free(slot)
        return StreamVerdict(slot: slot, result: .forgotten, finding: .none)
    }

    /// Lets go of a notification whose final verdict was read.
    public mutating func release(_ slot: Int) {
        precondition(slab.entries[slot].state == .settled, "only what is settled can be released, once")
        unreleased -= 1
        free(slot)
    }

    // MARK: Lines and chains

    /// The slots of a token's notifications, oldest first.
    func chain(of checksum: UInt32) -> [Int] {
        var slots: [Int] = []
        var link = chains.first(checksum, in: slab).map { Int32(truncatingIfNeeded: $0) } ?? StreamEntry.none
        while link != StreamEntry.none {
            slots.append(Int(link))
            link = slab.entries[Int(link)].newer
        }
        return slots
    }

    /// Calls `body` with the slots of an assignment, the latest first. It may free the slot.
    mutating func eachSlot(of assignment: UInt32, _ body: (inout StreamQueue, Int) -> Void) {
        var link = assignments.latest(of: assignment)
        while link != StreamEntry.none {
            let slot = Int(link)
            link = slab.entries[slot].earlier
            looks += 1
            body(&self, slot)
        }
    }

    /// Removes a notification that waits; it gets no verdict.
    mutating func drop(_ slot: Int) {
        leaveLine(slot)
        leaveChain(slot)
        free(slot)
    }

    private mutating func free(_ slot: Int) {
        contents.release(slab.entries[slot].content)
        assignments.remove(slot, in: slab)
        if latest == slot { latest = nil }
        slab.freeSlot(slot)
    }

    private mutating func enterLine(_ slot: Int) {
        if slab.entries[slot].isSuspected {
            slab.entries[slot].state = .suspect
            slab.append(slot, to: &suspects)
        } else {
            slab.entries[slot].state = .again
            slab.append(slot, to: &again)
        }
    }

    private mutating func leaveLine(_ slot: Int) {
        switch slab.entries[slot].state {
        case .waiting: slab.remove(slot, from: &waiting)
        case .again: slab.remove(slot, from: &again)
        case .suspect: slab.remove(slot, from: &suspects)
        case .passedOver, .asleep: break
        case .free, .inFlight, .settled: preconditionFailure("the notification does not wait")
        }
    }

    /// Lets the next of the token have its turn. If it was passed over, it is older than all that was never sent.
    private mutating func leaveChain(_ slot: Int) {
        guard let heir = chains.remove(slot, in: slab), slab.entries[heir].state == .passedOver else { return }
        enterLine(heir)
    }
}
