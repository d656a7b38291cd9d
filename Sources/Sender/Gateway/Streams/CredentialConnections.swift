import APNsProtocol
import HTTP2Transport
import Logging
import NIOCore
import PipelineCore
import ProviderCredentials
import SocketErrors

/// Carries out the decisions of a ``StreamPool``: the connections of one credential in an environment, shared by its
/// topics.
///
/// Requests leave in turns of their topics. What comes back finds its topic by the stream's mark, even if that has
/// other connections by now. Bound to the shard's event loop.
final class CredentialConnections {
    /// Connections are kept apart by it.
    struct Identity: Hashable {
        var environment: String
        var credential: AppCredential
        /// A topic with connections of its own, see ``StreamQueue/needsOwnConnections(now:)``; nil: they are shared.
        var bundleID: String?

        /// Several topics may send over the connections.
        var isShared: Bool { if case .key = credential { bundleID == nil } else { false } }
    }

    let identity: Identity
    /// The numbers of the lanes that send over the connections, ascending.
    private(set) var members: [UInt16] = []
    private(set) var pool: StreamPool
    private let connector: any StreamConnecting
    private var tokens: CredentialTokens?
    private unowned let topics: HTTP2Topics
    private var connections: [UInt32: any StreamConnection] = [:]
    /// Topics with requests that may wait for streams here, in turn.
    private var waiting: [StreamLane] = []
    private var turn = 0
    private var isPumping = false
    /// Connections with streams that were given up since the last tick.
    private var resetSince: [UInt32] = []

    init(
        _ identity: Identity,
        limits: StreamPoolLimits,
        connector: any StreamConnecting,
        tokens: CredentialTokens?,
        topics: HTTP2Topics
    ) {
        self.identity = identity
        pool = StreamPool(limits: limits)
        self.connector = connector
        self.tokens = tokens
        self.topics = topics
    }

    private var now: MonotonicTime { topics.now }

    /// Rises with each certificate or key that takes the place of the former; nil: no token of the key was used yet.
    var edition: UInt64? {
        guard let tokens else { return connector.edition }
        return tokens.edition.map { connector.edition + $0 }
    }

    /// Several topics send over the connections.
    private var isShared: Bool { identity.isShared && members.count > 1 }

    // MARK: Topics

    /// A topic sends over the connections, be it of some push types alone. Idempotent.
    func join(_ lane: StreamLane) {
        guard !members.contains(lane.queue.number) else { return }
        members.insert(lane.queue.number, at: members.firstIndex { $0 > lane.queue.number } ?? members.endIndex)
    }

    /// The topic sends over other connections from now on.
    func leave(_ lane: StreamLane) {
        members.removeAll { $0 == lane.queue.number }
        unlist(lane)
    }

    /// A topic of this credential has something to send.
    func list(_ lane: StreamLane) {
        guard lane.listedBy == nil else { return }
        lane.listedBy = self
        waiting.append(lane)
    }

    private func unlist(_ lane: StreamLane) {
        guard lane.listedBy === self else { return }
        lane.listedBy = nil
        waiting.removeAll { $0 === lane }
    }

    /// The topic works again: a refused credential is tried at once.
    func retryCredential() { pool.retryCredential() }

    // MARK: Sending

    /// Sends all that may be sent, and connects where that is needed.
    func pump(now: MonotonicTime) {
        guard !isPumping else { return }
        isPumping = true
        defer { isPumping = false }
        sendRequests(now: now)
        pool.pumped(isWaiting: nextLane(now: now) != nil, now: now)
        takeSteps(now: now)
        connectIfWanted(now: now)
    }

    private func sendRequests(now: MonotonicTime) {
        guard !connections.isEmpty, let lane = nextLane(now: now) else { return }
        let authorization = authorization(now: now)
        guard tokens == nil || authorization != nil else { return }
        var next: StreamLane? = lane
        var written: [UInt32] = []
        var unwritten = 0
        // Asked each time: the process may have been stopped in the midst of it.
        while topics.mayWrite, let lane = next, let choice = pool.choose(now: now),
            let connection = connections[choice.connection]
        {
            let sending = send(from: lane, over: connection, choice, authorization, now: now)
            if written.last != choice.connection, !written.contains(choice.connection) {
                written.append(choice.connection)
            }
            pool.stalled(choice.connection, connection.isStalled, now: now)
            guard !sending.isRefused else { break }
            turn += 1
            unwritten += sending.count
            if unwritten >= ShardLimits.requestsPerWrite {
                for number in written { connections[number]?.flush() }
                unwritten = 0
            }
            next = nextLane(now: now)
        }
        for number in written { connections[number]?.flush() }
    }

    /// Sends requests of one topic over one connection, as many as the choice has room for.
    ///
    /// - Returns: the number of requests, and whether the connection takes no more for now, though the pool thought so.
    private func send(
        from lane: StreamLane,
        over connection: any StreamConnection,
        _ choice: StreamPool.Choice,
        _ authorization: [UInt8]?,
        now: MonotonicTime
    ) -> (count: Int, isRefused: Bool) {
        var first: NotificationReference?
        var sent = 0
        defer { if let first { topics.stage.handle(.handedOver(sent, from: first), of: lane.topic) } }
        for _ in 0..<choice.room {
            guard let ticket = lane.nextTicket(over: self, now: now) else { break }
            do throws(HTTP2OpenRefusal) {
                let request = lane.request(ticket, authorization: authorization)
                let stream = try connection.open(request, tag: ticket.rawValue)
                lane.sent(ticket, connection: choice.connection, stream: stream, now: now)
                if first == nil { first = lane.queue.reference(at: ticket.slot) }
                sent += 1
                pool.streamOpened(choice.connection, now: now)
                tokens?.used(on: choice.connection, from: stream)
            } catch {
                switch error {
                case .noStreamLeft:
                    pool.settings(choice.connection, streams: connection.maxConcurrentStreams)
                    return (sent, isRefused: true)
                case .sessionIsEnding:
                    pool.usedUp(choice.connection)
                    return (sent, isRefused: false)
                }
            }
        }
        return (sent, isRefused: false)
    }

    /// The provider token for requests that go now; nil: there is none at present, or the credential is a certificate.
    ///
    /// Connections on which a key has signed that another has replaced take no more.
    private func authorization(now: MonotonicTime) -> [UInt8]? {
        let value = tokens?.authorization(now: now)
        if tokens?.takeReplacement() == true { pool.renew() }
        return value
    }

    /// The next topic in turn with a request that may go over these connections; others leave the list.
    private func nextLane(now: MonotonicTime) -> StreamLane? {
        while !waiting.isEmpty {
            turn %= waiting.count
            let lane = waiting[turn]
            let next = lane.isHeld ? nil : lane.nextConnections(now: now)
            if next === self { return lane }
            lane.listedBy = nil
            waiting.remove(at: turn)
            // Its next request is for another credential: when that one has sent it, it may put the topic back.
            next?.list(lane)
            next?.pump(now: now)
        }
        return nil
    }

    // MARK: Connections

    private func connectIfWanted(now: MonotonicTime) {
        pool.noteEdition(connector.edition, now: now, random: topics.random)
        guard let purpose = pool.wantsConnection(now: now), !topics.isHeld else { return }
        guard tokens == nil || authorization(now: now) != nil else { return }
        if let later = topics.mayConnect(self, purpose, now: now) { return pool.postpone(until: later) }
        topics.noteCredential(of: self, now: now)
        let number = pool.connecting(topics.takeConnectionNumber(for: self), now: now)
        connector.connect(self, number: number)
    }

    private func takeSteps(now: MonotonicTime) {
        defer { noteRotations() }
        while let step = pool.nextStep(now: now) {
            switch step {
            case .ping(let number):
                connections[number]?.ping()
                connections[number]?.flush()
            case .end(let number, let end):
                let connection = connections.removeValue(forKey: number)
                if end == .peerDead {
                    topics.logger.warning("gateway answers nothing, not even a ping", metadata: metadata(number))
                    connector.noteFailure()
                }
                topics.disconnected(self, number, end == .peerDead ? .failure : .closedHere)
                lose(number, end)
                if end == .peerDead { connection?.abort() } else { connection?.close() }
            }
        }
    }

    private func noteRotations() {
        for rotation in pool.takeRotations() {
            var metadata = metadata(rotation.connection)
            metadata["reason"] = .string(rotation.reason.name)
            topics.logger.info("gateway connection is replaced", metadata: metadata)
            topics.rotated(self, rotation.reason)
        }
    }

    private func lose(_ number: UInt32, _ end: ConnectionEnd) {
        tokens?.forget(connection: number)
        let random = topics.random()
        let sharers = isShared ? topics.topicCount(on: number) : 0
        if let loss = pool.ended(number, end, sharers: sharers, now: now, random: random) { topics.lost(loss) }
    }

    /// Lets time pass. Connections that no topic sends over take no more, and end when all is answered.
    func tick(now: MonotonicTime) {
        _ = authorization(now: now)
        if members.isEmpty { pool.renew() }
        for number in resetSince { connections[number]?.flush() }
        resetSince.removeAll(keepingCapacity: true)
        pump(now: now)
    }

    /// Gives a stream up whose request was not answered in time.
    ///
    /// - Returns: the connection has answered a request that was sent after this one.
    func timedOut(connection number: UInt32, stream: Int32, now: MonotonicTime) -> Bool {
        connections[number]?.reset(stream: stream)
        if resetSince.last != number { resetSince.append(number) }
        return pool.timedOut(number, stream: stream, now: now, random: topics.random())
    }

    /// An answer refused the provider: this topic, or all that share the credential.
    func isRefused(_ extent: ProviderVerdict.Extent, of lane: StreamLane) {
        switch extent {
        case .topic:
            if !identity.isShared { renew() }
            topics.stage.handle(.refused(extent), of: lane.topic)
        case .team:
            topics.refused(self, extent)
        }
    }

    /// The connections take no more: what the credential may send is settled when one is opened [later].
    func renew() { pool.renew() }

    /// Connections of another credential have reached the same gateway.
    func gatewayAnswers(now: MonotonicTime) { pool.gatewayAnswers(now: now) }

    /// A topic wants a connection to be open for a while from now on, though nothing is to be sent.
    func keepWarm(now: MonotonicTime) { pool.keepWarm(now: now) }

    /// Closes all connections in order. Attempts to connect are not wanted any more.
    func close() {
        for number in pool.connections.map(\.number) {
            let connection = connections.removeValue(forKey: number)
            if connection != nil { topics.disconnected(self, number, .closedHere) }
            lose(number, .closedHere)
            connection?.close()
        }
    }

    private func metadata(_ number: UInt32) -> Logger.Metadata {
        [
            "environment": .string(identity.environment),
            "credential": .string(identity.credential.name),
            "gateway": .string(connector.placeName(of: number)),
            "unanswered": .stringConvertible(pool.connection(number)?.openStreams ?? 0),
        ]
    }
}

// MARK: Reported by connections

extension CredentialConnections: ConnectionOwner {
    func isConnecting(_ attempt: Int) -> Bool { pool.isConnecting(UInt32(attempt)) }

    func isOpen(_ attempt: Int) -> Bool { connections[UInt32(attempt)] != nil }

    var mayWrite: Bool { topics.mayWrite }

    var hasStoodStill: Bool { topics.hasStoodStill }

    func connectionOpened(number: UInt32, connection: any StreamConnection) {
        guard pool.isConnecting(number) else { return connection.close() }
        connections[number] = connection
        pool.opened(number, streams: connection.maxConcurrentStreams, now: now, random: topics.random())
        topics.connected(self)
        topics.logger.info("connected to the gateway", metadata: metadata(number))
        pump(now: now)
    }

    /// Bytes came.
    func connectionHeard(number: UInt32) { pool.heard(number, now: now) }

    /// A request was answered.
    ///
    /// - Parameter answer: nil: accepted.
    func answered(number: UInt32, stream: Int32, tag: UInt64, _ answer: ProviderAnswer?) {
        let verdict = pool.judged(answer?.verdict ?? .accepted, on: number)
        let now = now
        let openedAt = pool.connection(number)?.openedAt ?? now
        // Only a failure asks for randomness, which is a call of the system.
        pool.answered(number, stream: stream, verdict, now: now, random: topics.random())
        let judged = tokens?.judge(verdict, on: number, stream, openedAt: openedAt, now: now) ?? verdict
        let ticket = StreamTicket(rawValue: tag)
        topics.lane(of: ticket)?.answered(ticket, judged, answer, by: self, now: now)
    }

    func streamClosed(number: UInt32, tag: UInt64, isRefused: Bool) {
        let now = now
        pool.streamClosed(number, isRefused: isRefused, now: now, random: topics.random())
        let ticket = StreamTicket(rawValue: tag)
        topics.lane(of: ticket)?.closed(ticket, isRefused: isRefused, now: now)
    }

    /// The gateway takes no more streams on a connection.
    ///
    /// - Parameters:
    ///   - last: the last stream that it has processed, or will.
    ///   - debugData: may be JSON with a reason [field], or a text.
    func wentAway(number: UInt32, last: Int32, isError: Bool, code: String, debugData: [UInt8]) {
        let reason = try? ProviderErrorBody(parsing: debugData).reason
        var metadata = metadata(number)
        metadata["last-stream"] = .stringConvertible(last)
        metadata["code"] = .string(code)
        metadata["reason"] = .string(reason?.rawValue ?? String(decoding: debugData.prefix(200), as: UTF8.self))
        topics.logger.log(level: isError ? .warning : .info, "gateway closes a connection", metadata: metadata)
        topics.wentAway(self, number, reason)
        let random = topics.random()
        guard let extent = pool.goAway(number, reason: reason, isError: isError, now: now, random: random) else {
            return
        }
        topics.refused(self, extent)
    }

    func settingsChanged(number: UInt32) {
        guard let connection = connections[number] else { return }
        pool.settings(number, streams: connection.maxConcurrentStreams)
    }

    /// All that came was reported, or the connection takes more again.
    func connectionReadCompletely(number: UInt32) {
        if let connection = connections[number] { pool.stalled(number, connection.isStalled, now: now) }
        topics.settle()
        pump(now: now)
    }

    func connectionEnded(attempt: Int, error: (any Error)?) {
        let number = UInt32(attempt)
        guard pool.connection(number) != nil else { return }
        let wasOpen = connections.removeValue(forKey: number) != nil
        let isForeign = if case .notHTTP2? = error as? HTTP2Failure { true } else { false }
        let reason = DisconnectReason(endedBy: error, wasOpen: wasOpen && !isForeign)
        let isRefused = reason == .certificateRefused
        var metadata = metadata(number)
        metadata["error"] = .string(error.map(connectionProblem) ?? "end of stream")
        metadata["certificate-refused"] = .stringConvertible(isRefused)
        let isQuiet = pool.connection(number).map { $0.phase == .draining && $0.openStreams == 0 } ?? true
        topics.logger.log(level: isQuiet ? .info : .warning, "connection to the gateway ended", metadata: metadata)
        topics.settle()
        topics.disconnected(self, number, reason)
        connector.noteFailure()
        lose(number, isRefused ? .certificateRefused : isForeign ? .foreignProtocol : .failed)
        pump(now: now)
    }
}
