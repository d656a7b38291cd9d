import APNsProtocol

/// The connections of one credential: the queues that may share them, because they have environment and credential in
/// common.
///
/// A connection is asked for when requests wait and none is there, or one is kept warm; when all that are there have
/// been full for a while; and when one is old or has a former credential (`+Rotation`). Openings are spaced; failures
/// are followed by a back-off. Connections that are too many drain.
///
/// The caller reports all that happens, chooses a connection for each few requests, and carries out the steps that are
/// due. Pure: time and randomness are arguments; used by one thread at a time.
public struct StreamPool: ~Copyable {
    /// A connection for the next requests.
    public struct Choice: Equatable, Sendable {
        /// The connection's number.
        public var connection: UInt32
        /// Requests that it should get before the next choice; 1 or more.
        public var room: Int
    }

    /// Reason of the wait that is on, or of the last one.
    enum WaitCause {
        /// The peer refused the certificate.
        case credential
        /// An attempt to connect failed.
        case gateway
        /// The budget of new connections is spent.
        case budget
        /// A connection was lost, or was of no use.
        case other
    }

    /// Requests that a connection gets in a row: they leave together, and the next connection is not far behind.
    private static let mostInARow = 16

    public let limits: StreamPoolLimits
    /// The oldest attempt first.
    public internal(set) var connections: [PooledConnection] = []
    private var nextNumber: UInt32 = 1

    /// Since when requests have waited for streams without a break; nil: none waits.
    var waitsSince: MonotonicTime?
    /// No connection is opened before this time.
    var connectsFrom = MonotonicTime(nanoseconds: 0)
    /// The end of the shortest wait after the last failure: a wait that is ended early lasts until then.
    var floorEndsAt = MonotonicTime(nanoseconds: 0)
    var waitCause = WaitCause.other
    /// Failures in a row, without an answer in between that shows a use.
    var failures = 0
    /// Connections in a row that the peer ended for the credential before it answered anything.
    var credentialRefusals = 0
    /// The time of the last attempt; nil: there was none.
    var attemptedAt: MonotonicTime?
    /// Most connections so far that were there together.
    var mostConnections = 0
    var shrinking = PoolShrinking()
    var warmth = WarmConnection()

    /// The edition of the credential with which connections are opened now.
    var edition: UInt64 = 0
    /// The latest edition of a connection that was of use; nil: none was.
    var provenEdition: UInt64?
    /// Connections on trial in a row that ended, and the time of the next one.
    var trialFailures = 0
    var triesFrom = MonotonicTime(nanoseconds: 0)
    /// Connections that are replaced since ``takeRotations()``.
    var rotations: [Rotation] = []

    public init(limits: StreamPoolLimits) {
        self.limits = limits
    }

    // MARK: State

    /// The connection of a number; nil: it has ended.
    public func connection(_ number: UInt32) -> PooledConnection? {
        index(of: number).map { connections[$0] }
    }

    /// The attempt is still wanted, and not done.
    public func isConnecting(_ number: UInt32) -> Bool {
        index(of: number).map { connections[$0].phase == .connecting } ?? false
    }

    public var openCount: Int { connections.count { $0.phase == .open } }

    /// Requests in flight, of all queues.
    public var inFlightCount: Int { connections.reduce(0) { $0 + $1.openStreams } }

    /// The connection of a number is only kept warm: no request waits, or is in flight on any, and the wish holds, or
    /// this one was begun for it and has carried nothing.
    public func isOnlyWarm(_ number: UInt32, now: MonotonicTime) -> Bool {
        isOnlyWarm(connection(number), now: now)
    }

    /// - Parameter connection: may have left the pool; nil: the wish alone counts.
    func isOnlyWarm(_ connection: PooledConnection?, now: MonotonicTime) -> Bool {
        let isForWarmth = connection?.isForWarmth ?? false
        return waitsSince == nil && inFlightCount == 0 && (isForWarmth || warmth.isWanted(now: now))
    }

    /// The current wait is for the budget of new connections, not after a failure.
    public var isWaitingForBudget: Bool { waitCause == .budget }

    /// There is no connection, and none is opened before a back-off or the budget allows it.
    public func isWaiting(now: MonotonicTime) -> Bool { connections.isEmpty && now < connectsFrom }

    /// Nothing is open, being opened or draining.
    public var isEmpty: Bool { connections.isEmpty }

    // MARK: Requests

    /// A connection for the next requests: one on trial, else the one with the least load for its limit. Nil: there is
    /// none with room.
    ///
    /// Only called when a request waits, because a connection that was silent for long then gets a ping first.
    public mutating func choose(now: MonotonicTime) -> Choice? {
        var best: (index: Int, limit: Int)?
        for index in connections.indices {
            let limit = roomyLimit(index, now: now)
            guard limit > 0 else { continue }
            if isOnTrial(index) { return Choice(connection: connections[index].number, room: 1) }
            if let chosen = best {
                let load = connections[index].openStreams.multipliedFullWidth(by: chosen.limit)
                let least = connections[chosen.index].openStreams.multipliedFullWidth(by: limit)
                guard (load.high, load.low) < (least.high, least.low) else { continue }
            }
            best = (index, limit)
        }
        guard let (index, limit) = best else { return nil }
        let room = min(limit - connections[index].openStreams, Self.mostInARow)
        return Choice(connection: connections[index].number, room: room)
    }

    /// The limit of streams of a connection that can take a request; else 0.
    private mutating func roomyLimit(_ index: Int, now: MonotonicTime) -> Int {
        guard connections[index].phase == .open, !connections[index].isStalled,
            connections[index].pausedUntil <= now
        else { return 0 }
        let startsWithOne = limits.startsWithOneStream || isOnTrial(index)
        let limit = connections[index].streamLimit(startsWithOne: startsWithOne)
        guard connections[index].openStreams < limit else { return 0 }
        guard !connections[index].isIdle || now < connections[index].doubtedFrom else {
            connections[index].wantsProof = true
            return 0
        }
        return limit
    }

    /// All was sent that could be: requests that are left wait for streams.
    ///
    /// - Parameter isWaiting: a queue has a request that may go.
    public mutating func pumped(isWaiting: Bool, now: MonotonicTime) {
        guard isWaiting else {
            waitsSince = nil
            return
        }
        if waitsSince == nil { waitsSince = now }
        shrinking.strained(now: now)
        for index in connections.indices {
            guard connections[index].isUseless else {
                connections[index].uselessSince = nil
                continue
            }
            if connections[index].uselessSince == nil { connections[index].uselessSince = now }
        }
    }

    /// A request has a stream on the connection.
    public mutating func streamOpened(_ number: UInt32, now: MonotonicTime) {
        guard let index = index(of: number) else { preconditionFailure("the connection has ended") }
        if connections[index].isIdle {
            connections[index].turnedAt = now
            connections[index].isTrying = connections[index].ownLimit == 1
        }
        connections[index].openStreams += 1
        connections[index].isForWarmth = false
        shrinking.opened()
    }

    /// A stream of the connection has ended, in any way. Does nothing if the connection has ended before.
    ///
    /// After a refusal the connection gets half as many streams, then more with each answer. A refusal of the only
    /// stream, opened under that limit, is followed by a pause: refusals never spin.
    ///
    /// - Parameters:
    ///   - isRefused: the peer has not processed the request.
    ///   - random: 64 random bits.
    public mutating func streamClosed(
        _ number: UInt32,
        isRefused: Bool,
        now: MonotonicTime,
        random: @autoclosure () -> UInt64
    ) {
        guard let index = index(of: number) else { return }
        precondition(connections[index].openStreams > 0, "more streams end than were opened")
        connections[index].openStreams -= 1
        shrinking.closed()
        if connections[index].isIdle { connections[index].turnedAt = now }
        guard isRefused, connections[index].phase == .open else { return }
        let streams = min(connections[index].ownLimit, connections[index].peerLimit)
        connections[index].ownLimit = max(1, streams / 2)
        guard connections[index].isTrying else { return }
        connections[index].isTrying = false
        connections[index].refusedTries += 1
        let pause = limits.backoff.delay(failures: connections[index].refusedTries, random: random())
        connections[index].pausedUntil = now + pause
    }

    /// Bodies of the connection wait for the peer's windows, or no longer do.
    public mutating func stalled(_ number: UInt32, _ isStalled: Bool, now: MonotonicTime) {
        guard let index = index(of: number), connections[index].isStalled != isStalled else { return }
        connections[index].isStalled = isStalled
        if isStalled { shrinking.strained(now: now) }
    }

    // MARK: Connecting

    /// The purpose, for the budget, of a connection that is wanted now; nil: none is.
    public func wantsConnection(now: MonotonicTime) -> ConnectionBudget.Purpose? {
        guard connectsFrom <= now, !connections.contains(where: { $0.phase == .connecting }) else { return nil }
        let open = openCount
        guard open > 0 else {
            guard waitsSince != nil || warmth.isDue(now: now) else { return nil }
            guard mostConnections > 0 else { return .first }
            return waitsSince == nil ? .successor : .reconnect
        }
        guard attemptedAt.map({ $0 + limits.growEvery <= now }) ?? true, !hasTrial else { return nil }
        if wantsSuccessor(now: now) { return .successor }
        guard open < limits.connections, let since = waitsSince, since + limits.growAfter <= now else { return nil }
        return open < mostConnections ? .successor : .first
    }

    /// A connection is to be open for a while from now on though no request waits.
    public mutating func keepWarm(now: MonotonicTime) { warmth.want(now: now) }

    /// An attempt to connect has begun.
    ///
    /// - Parameter given: the number of the connection, where queues change between pools: no two connections of theirs
    ///   may have the same. Nil: the next one of this pool.
    /// - Returns: the number of the connection.
    @discardableResult
    public mutating func connecting(_ given: UInt32? = nil, now: MonotonicTime) -> UInt32 {
        let number = given ?? nextNumber
        nextNumber = number &+ 1
        waitCause = .other
        attemptedAt = now
        if openCount > 0 { shrinking.grew(now: now, shrinkAfter: limits.shrinkAfter) }
        var connection = PooledConnection(number: number, edition: edition, now: now)
        // A successor is for warmth like the connection that it replaces, though the wish may have lapsed.
        connection.isForWarmth = isOnlyWarm(connections.first { $0.isForWarmth }, now: now)
        connections.append(connection)
        mostConnections = max(mostConnections, min(openCount + 1, limits.connections))
        return number
    }

    /// The budget of new connections is spent until `time`.
    public mutating func postpone(until time: MonotonicTime) {
        // Requests to come do not wait for it.
        if warmth.wasWanted, waitsSince == nil, connections.allSatisfy({ $0.phase != .open || $0.isIdle }) {
            triesFrom = max(triesFrom, time)
            return warmth.postpone(until: time)
        }
        waitCause = .budget
        connectsFrom = time
    }

    /// The connection is ready for requests. An old one that it replaces takes no more.
    ///
    /// - Parameters:
    ///   - streams: that may be open before the peer's SETTINGS arrive.
    ///   - random: 64 random bits, for the time at which the connection is old.
    public mutating func opened(_ number: UInt32, streams: Int, now: MonotonicTime, random: UInt64) {
        guard let index = index(of: number), connections[index].phase == .connecting else {
            preconditionFailure("no attempt with this number is wanted")
        }
        if !isOnTrial(index) { replaceOldest(now: now) }
        connections[index].phase = .open
        connections[index].openedAt = now
        connections[index].turnedAt = now
        connections[index].peerLimit = streams
        connections[index].rotation = ConnectionRotation(
            edition: connections[index].rotation.edition,
            maxAge: limits.connectionMaxAge,
            now: now,
            random: random
        )
        connections[index].rotation.noteEdition(edition, now: now, random: random)
        hear(index, now: now)
        shrinking.strained(now: now)
    }

    /// The peer's SETTINGS allow so many streams now; 0 and more.
    public mutating func settings(_ number: UInt32, streams: Int) {
        guard let index = index(of: number) else { return }
        if streams > connections[index].peerLimit {
            connections[index].pausedUntil = MonotonicTime(nanoseconds: 0)
            connections[index].refusedTries = 0
            connections[index].uselessSince = nil
        }
        connections[index].peerLimit = streams
    }

    // MARK: Helpers

    func index(of number: UInt32) -> Int? {
        connections.firstIndex { $0.number == number }
    }

    /// A byte came.
    mutating func hear(_ index: Int, now: MonotonicTime) {
        connections[index].heardAt = now
        connections[index].doubtedFrom = now + limits.doubtedAfter
        connections[index].pingedAt = nil
        connections[index].wantsProof = false
    }

    /// A connection failed, or was of no use: the next one comes after a back-off.
    ///
    /// - Parameter connection: nil: it had requests.
    mutating func countFailure(
        _ cause: WaitCause,
        of connection: PooledConnection? = nil,
        now: MonotonicTime,
        random: UInt64
    ) {
        let isForWarmth = connection?.isIdle == true && isOnlyWarm(connection, now: now)
        let wasAttempt = connection?.phase == .connecting
        let wait = warmth.countFailure(
            isForWarmth: isForWarmth,
            lived: wasAttempt ? nil : connection?.openedAt.elapsed(until: now),
            isRefused: cause == .credential,
            failures: &failures,
            limits: limits,
            now: now,
            random: random
        )
        waitCause = cause
        connectsFrom = now + wait
        floorEndsAt = now + limits.backoff.floor
    }
}
