import APNsProtocol
import NIOCore
import PipelineCore

/// One topic's notifications on their way over HTTP/2: carries out the decisions of a ``StreamQueue``.
///
/// The connections are those of its credentials, which may change at any time. Requests of all push types go in one
/// line, and wait for the credential of the first. Bound to the shard's event loop.
final class StreamLane: AppTransport {
    let topic: Topic
    private(set) var queue: StreamQueue
    unowned let topics: HTTP2Topics
    private(set) var contents: [StreamContent?] = []
    private(set) var sources = LaneConnections()
    /// The connections that have the topic on their list.
    var listedBy: CredentialConnections?
    private(set) var isHeld = false
    private var standstill: LaneStandstill
    /// Notifications ever appended.
    private var appendedEnd: UInt64 = 0
    /// Slots that a connection has just confirmed, to be settled together.
    private var confirmed: [Int] = []
    /// The time at which the first of them was sent; of no meaning without any.
    private var confirmedFrom = MonotonicTime(nanoseconds: 0)
    /// The time of the latest refusal of a token, and whether a notification sent since then was accepted.
    private var refusedAt = MonotonicTime(nanoseconds: 0)
    private var hasAcceptedSince = false
    private let accepted: AcceptedMemory
    /// Memory of the tokens accepted lately; nil: there is none.
    var acceptedTokenBytes: Int? { accepted.bytes }

    init(_ topic: Topic, number: UInt16, limits: StreamLimits, topics: HTTP2Topics) {
        self.topic = topic
        self.topics = topics
        queue = StreamQueue(number: number, limits: limits)
        standstill = LaneStandstill(patience: topics.settings.standstillPatience)
        accepted = AcceptedMemory(indexBits: topics.settings.acceptedTokenBits, memory: topics.memory)
    }

    func use(_ settings: ShardSettings, _ limits: LaneLimits) {
        queue.use(settings.streamLimits(limits))
        standstill.patience = settings.standstillPatience
    }

    // MARK: State

    /// The credentials, for people.
    var credentialName: String {
        let names = sources.all.map(\.identity.credential.name)
        return names.isEmpty ? "none" : names.joined(separator: ", ")
    }
    var inFlightCount: Int { queue.inFlightCount }
    var waitingCount: Int { queue.waitingCount }
    var openConnections: Int { topics.openConnections(of: self) }
    /// Contents in memory.
    var keptContents: Int { contents.count { $0 != nil } }
    var isQuiet: Bool { queue.inFlightCount == 0 }
    var isAtRest: Bool { queue.inFlightCount == 0 && queue.waitingCount == 0 }
    var isStranded: Bool { queue.inFlightCount == 0 && sources.all.allSatisfy { $0.pool.isEmpty } }

    // MARK: Connections

    /// For the bundle itself; nil: the topic has no credential for it.
    var connections: CredentialConnections? { sources.own }

    /// Uses other connections for a push type from now on.
    func use(_ changed: CredentialConnections, for pushType: PushType) { sources.use(changed, for: pushType) }

    /// The connections are for the bundle itself, or for a request that there is now.
    func needs(_ connections: CredentialConnections) -> Bool {
        connections === sources.own
            || contents.contains { $0.map { sources[$0.credentialType] === connections } ?? false }
    }

    /// The source of a stream for the notification in a slot.
    ///
    /// One without a credential goes over any connection, for the service to refuse: the topic had one when the
    /// notification was taken in.
    func connections(at slot: Int) -> CredentialConnections? {
        guard !sources.suffixed.isEmpty, let content = contents[Int(queue.content(at: slot))] else {
            return connections
        }
        return sources[content.credentialType] ?? sources.all.first
    }

    /// The source of a stream for the next notification; nil: none may go now.
    func nextConnections(now: MonotonicTime) -> CredentialConnections? {
        nextTicket(now: now).flatMap { connections(at: $0.slot) }
    }

    /// Puts the topic on a list of those that wait for streams: of the connections that its next notification goes
    /// over, or while none may go of any, which hand it on.
    func list(now: MonotonicTime) {
        guard listedBy == nil, queue.waitingCount > 0 else { return }
        let next = sources.suffixed.isEmpty ? connections : nextConnections(now: now) ?? sources.all.first
        next?.list(self)
    }

    // MARK: Taking notifications in

    /// Keeps a content until ``endContent(_:)``, and for as long as a notification has it.
    func beginContent(_ content: StreamContent) -> UInt32 {
        if sources.add(content.credentialType) { topics.assign(self) }
        let number = queue.addContent()
        while contents.count <= Int(number) { contents.append(nil) }
        contents[Int(number)] = content
        return number
    }

    func endContent(_ number: UInt32) {
        queue.releaseContent(number)
        dropUnusedContents()
    }

    /// Appends a notification.
    ///
    /// - Parameter checksum: CRC-32 of the token.
    func append(
        _ reference: NotificationReference,
        token: UnsafeRawBufferPointer,
        checksum: UInt32,
        content: UInt32
    ) {
        queue.append(reference, token: token, checksum: checksum, content: content)
        appendedEnd += 1
        if listedBy == nil { list(now: topics.now) }
    }

    func inheritTrouble(_ trouble: NotificationTrouble, checksum: UInt32) {
        queue.inheritTrouble(trouble)
    }

    private func dropUnusedContents() {
        while let number = queue.takeUnusedContent() { contents[Int(number)] = nil }
    }

    // MARK: Sending

    func pump(now: MonotonicTime, isMoreAtHand: Bool) {
        guard queue.waitingCount > 0 else { return }
        list(now: now)
        listedBy?.pump(now: now)
    }

    func hold(_ isHeld: Bool) { self.isHeld = isHeld }

    /// The next notification that may go.
    func nextTicket(now: MonotonicTime) -> StreamTicket? { queue.next(now: now) }

    /// The next notification, if it goes over these connections, and now.
    func nextTicket(over connections: CredentialConnections, now: MonotonicTime) -> StreamTicket? {
        nextTicket(now: now).flatMap { self.connections(at: $0.slot) === connections ? $0 : nil }
    }

    func request(_ ticket: StreamTicket, authorization: [UInt8]?) -> StreamRequest {
        let slot = ticket.slot
        guard let content = contents[Int(queue.content(at: slot))] else {
            preconditionFailure("a content is kept while a notification has it")
        }
        let token = queue.token(at: slot)
        let id = content.ids.id(token: token, index: queue.reference(at: slot).token)
        return StreamRequest(content: content, token: token, id: id, authorization: authorization)
    }

    func sent(_ ticket: StreamTicket, connection: UInt32, stream: Int32, now: MonotonicTime) {
        queue.sent(ticket, connection: connection, stream: stream, now: now)
    }

    func tick(now: MonotonicTime) {
        while let ticket = queue.nextTimedOut(now: now) {
            guard let place = queue.place(of: ticket) else { break }
            let isPassedOver = topics.timedOut(connection: place.connection, stream: place.stream, now: now)
            let verdict = queue.timedOut(ticket, isPassedOver: isPassedOver, now: now, random: topics.random())
            if let verdict { settle(verdict, nil) }
        }
        topics.assign(self)
        list(now: now)
        rest(now: now)
    }

    /// Gives back the memory that the topic has not needed for long.
    private func rest(now: MonotonicTime) {
        if accepted.hasRefused, refusedAt + ProbationSwitch.fall <= now { accepted.end() }
        guard queue.rest(now: now) else { return }
        contents = []
        confirmed = []
    }

    func standsStill(now: MonotonicTime) -> Bool {
        let isWaiting = queue.waitingCount > 0 && queue.admission != .none && !queue.isResting
        return standstill.observeLane(
            hasWork: queue.inFlightCount > 0 || isWaiting,
            isExcused: isHeld || sources.all.isEmpty || nextWaitsForBudget(now: now),
            settledEnd: queue.settledEnd,
            allowance: queue.inFlightCount > 0 ? queue.limits.requestTimeout : .zero,
            now: now
        )
    }

    // MARK: Admission

    func admitAll() { admit(.all) }

    func admitProbe() { admit(.one) }

    func suspend() { queue.admit(.none) }

    private func admit(_ admission: Admission) {
        guard queue.admission != admission else { return }
        queue.admit(admission)
        for connections in sources.all { connections.retryCredential() }
        list(now: topics.now)
    }

    // MARK: Feeds

    func stopSending(assignment: UInt32) {
        queue.stopSending(assignment: assignment)
        dropUnusedContents()
    }

    func forget(assignment: UInt32) {
        queue.forget(assignment: assignment)
        dropUnusedContents()
    }

    /// Each is answered, so none is presumed and sent again.
    func keeps(assignment: UInt32) -> Bool { false }

    func takeWaiting(assignment: UInt32, where isTaken: (NotificationReference) -> Bool) -> [NotificationReference] {
        defer { dropUnusedContents() }
        return queue.takeWaiting(assignment: assignment, where: isTaken)
    }

    func discardWaiting(token: [UInt8], checksum: UInt32, kind: TopicKind?) -> [NotificationReference] {
        defer { dropUnusedContents() }
        return token.withUnsafeBytes { bytes in
            queue.discard(checksum: checksum, token: bytes) { content in
                kind == nil || contents[Int(content)]?.pushType.topicKind == kind
            }
        }
    }

    /// The kind of topic of a notification that has not been released.
    func topicKind(at slot: Int) -> TopicKind? { contents[Int(queue.content(at: slot))]?.pushType.topicKind }

    func troubles(assignment: UInt32) -> [(NotificationReference, NotificationTrouble)] {
        queue.troubles(assignment: assignment)
    }

    // MARK: Positions

    /// There is one line, though its notifications may overtake each other: what waits counts, not which.
    func lane(checksum: UInt32) -> Int { 0 }

    func waitingEnd(ofLane number: Int) -> UInt64? { queue.waitingCount > 0 ? appendedEnd : nil }

    func sentEnd(ofLane number: Int) -> UInt64 { appendedEnd - UInt64(queue.waitingCount) }

    func barriers() -> [LaneBarrier] {
        guard queue.inFlightCount > 0 else { return [] }
        let end = queue.barrier
        return [LaneBarrier { [self] in queue.hasPassed(end) }]
    }

    // MARK: The end

    /// Nothing is left to prove: every request is answered.
    func finish(now: MonotonicTime) {}

    /// The connections are not the topic's own: ``HTTP2Topics/close()`` ends them.
    func close() {}

    // MARK: Results

    /// - Parameters:
    ///   - answer: nil: accepted.
    ///   - verdict: of the answer, judged by the history of the provider token as well.
    ///   - credential: with the connection that the answer came on.
    func answered(
        _ ticket: StreamTicket,
        _ verdict: ProviderVerdict,
        _ answer: ProviderAnswer?,
        by connections: CredentialConnections?,
        now: MonotonicTime
    ) {
        let judged = judge(verdict, of: ticket, answer, by: connections)
        // No other token is to follow one that goes back to wait, until the stop is acted on.
        if verdict == .tokenRefused, judged == .reconnect { queue.pause(now: now) }
        let result = queue.answered(
            ticket,
            judged,
            slowsConnection: answer?.slowsConnection ?? false,
            now: now,
            random: topics.random()
        )
        guard let result else { return }
        list(now: now)
        if let answer {
            topics.stage.handle(.answered(answer, to: queue.reference(at: result.slot)), of: self)
        }
        // An answer after which a request only changes its connection does not show that the topic works.
        let told = judged == .reconnect ? nil : answer
        guard result.result == .confirmed else { return settle(result, told, by: connections) }
        let sentAt = queue.sentAt(result.slot)
        if confirmed.isEmpty { topics.hasConfirmed(self) }
        confirmedFrom = confirmed.isEmpty ? sentAt : min(confirmedFrom, sentAt)
        confirmed.append(result.slot)
    }

    func closed(_ ticket: StreamTicket, isRefused: Bool, now: MonotonicTime) {
        guard let verdict = queue.closed(ticket, isRefused: isRefused, now: now, random: topics.random()) else {
            return
        }
        list(now: now)
        settle(verdict, nil)
    }

    /// A connection has ended.
    func lost(_ loss: StreamLoss) {
        let verdicts = queue.lost(loss)
        for verdict in verdicts { settle(verdict, nil) }
        // Possible reasons are not to go over connections of others, not even until the next tick.
        if !verdicts.isEmpty { topics.assign(self) }
        list(now: topics.now)
    }

    /// Settles what was confirmed since the last call.
    func settleConfirmed() {
        guard !confirmed.isEmpty else { return }
        topics.stage.handle(.confirmed(confirmed, sentAt: confirmedFrom), of: self)
        if confirmedFrom >= refusedAt { hasAcceptedSince = true }
        accepted.noteAcceptance()
        for slot in confirmed {
            accepted.tokens?.insert(checksum: queue.checksum(at: slot))
            queue.release(slot)
        }
        confirmed.removeAll(keepingCapacity: true)
        dropUnusedContents()
    }

    /// - Parameter connections: on which it was answered; nil: it was not.
    private func settle(
        _ verdict: StreamVerdict,
        _ answer: ProviderAnswer?,
        by connections: CredentialConnections? = nil
    ) {
        topics.stage.handle(.settled(verdict, answer, standing(of: verdict)), of: self)
        switch verdict.finding {
        case .none: break
        case .doesNotWork(let extent): connections?.isRefused(extent, of: self)
        case .serviceTrouble: topics.stage.handle(.serviceTrouble, of: topic)
        }
        guard verdict.isFinal else { return }
        queue.release(verdict.slot)
        dropUnusedContents()
    }

    /// The history before the refusal of a token.
    ///
    /// A connection goes on after a refusal, so a gateway goes wrong in the midst of one: a row of refusals without an
    /// acceptance in between counts like a row of connections that begin with a refusal. [ours]
    private func standing(of verdict: StreamVerdict) -> AppHealth.RefusalStanding {
        guard verdict.result == .tokenRefused else { return .afterAcceptance }
        settleConfirmed()
        accepted.noteRefusal()
        let checksum = queue.checksum(at: verdict.slot)
        let isKnown = accepted.contains(checksum: checksum)
        accepted.tokens?.remove(checksum: checksum)
        defer {
            refusedAt = topics.now
            hasAcceptedSince = false
        }
        if hasAcceptedSince { return .afterAcceptance }
        return isKnown ? .firstThoughKnown : .first
    }
}
