import APNsProtocol

/// Replaces connections: the old ones, and those with a former credential.
///
/// The peer may refuse a new credential, at the handshake or with its first answers. So the first connection with it is
/// *on trial* while others with the former are open: it gets the next request, one at a time, and takes over when one
/// was accepted, or when it has lasted for a while without any. If it ends before, the others go on.
extension StreamPool {
    /// A connection that takes no more because it is replaced, or is to be.
    public struct Rotation: Equatable, Sendable {
        public var connection: UInt32
        public var reason: ConnectionRotation.Reason
    }

    // MARK: The credential

    /// New connections are opened with a credential of this edition. Those with another are replaced soon.
    ///
    /// - Parameter random: 64 random bits, others at each call.
    public mutating func noteEdition(_ edition: UInt64, now: MonotonicTime, random: () -> UInt64) {
        guard edition != self.edition else { return }
        self.edition = edition
        trialFailures = 0
        triesFrom = now
        retryCredential()
        for index in connections.indices {
            connections[index].rotation.noteEdition(edition, now: now, random: random())
        }
    }

    /// The meaning of an answer on a connection. One that is on trial says of its own credential that it does not
    /// work: the request goes again over the others.
    public func judged(_ answer: ProviderVerdict, on number: UInt32) -> ProviderVerdict {
        switch answer {
        case .doesNotWork, .topicRefused:
            guard let index = index(of: number), isOnTrial(index) else { return answer }
            return .reconnect
        default:
            return answer
        }
    }

    /// The connection's credential is not proven, and others with a former one are open.
    func isOnTrial(_ index: Int) -> Bool {
        let edition = connections[index].rotation.edition
        guard !isProven(edition) else { return false }
        return connections.contains { $0.phase == .open && $0.rotation.edition < edition }
    }

    /// A connection with this credential, or one that took its place, was of use.
    private func isProven(_ edition: UInt64) -> Bool { provenEdition.map { edition <= $0 } ?? false }

    var hasTrial: Bool { connections.indices.contains { connections[$0].phase == .open && isOnTrial($0) } }

    /// The connection was of use.
    mutating func prove(_ index: Int, now: MonotonicTime) {
        guard !isProven(connections[index].rotation.edition) else { return }
        let wasOnTrial = isOnTrial(index)
        provenEdition = connections[index].rotation.edition
        trialFailures = 0
        if wasOnTrial { replaceOldest(now: now) }
    }

    /// Ends trials without requests.
    mutating func endTrials(now: MonotonicTime) {
        for index in connections.indices where connections[index].phase == .open && isOnTrial(index) {
            let connection = connections[index]
            guard connection.isIdle, connection.hasSpoken, connection.openedAt + ConnectionRotation.trial <= now
            else { continue }
            prove(index, now: now)
        }
    }

    /// A connection on trial has ended.
    mutating func trialFailed(now: MonotonicTime, random: UInt64) {
        trialFailures += 1
        triesFrom = now + limits.topicBackoff.delay(failures: trialFailures, random: random)
    }

    // MARK: Replacing

    /// A connection is to be opened in the place of an old one.
    func wantsSuccessor(now: MonotonicTime) -> Bool {
        connections.contains { connection in
            guard connection.isOld(now: now) else { return false }
            if needsTrial(connection) { return triesFrom <= now }
            return !connection.isIdle || openCount == 1 && warmth.isDue(now: now)
        }
    }

    /// An old connection without work needs no successor, unless it is the one that is known to be of use, or the last
    /// one of a pool that is kept warm.
    func mayEndIdle(_ connection: PooledConnection, now: MonotonicTime) -> Bool {
        connection.isOld(now: now) && !needsTrial(connection) && !isLastWarm(now: now)
    }

    /// The connection has a former credential, and the present one is not proven.
    private func needsTrial(_ connection: PooledConnection) -> Bool {
        connection.rotation.isOutdated && !isProven(edition)
    }

    /// The oldest of the old connections takes no more.
    mutating func replaceOldest(now: MonotonicTime) {
        let old = connections.indices.filter { connections[$0].isOld(now: now) }
        guard let oldest = old.min(by: { connections[$0].openedAt < connections[$1].openedAt }) else { return }
        connections[oldest].phase = .draining
        noteRotation(of: connections[oldest])
    }

    mutating func noteRotation(of connection: PooledConnection) {
        rotations.append(Rotation(connection: connection.number, reason: connection.rotation.reason))
    }

    /// The connections that are replaced since the last call.
    public mutating func takeRotations() -> [Rotation] {
        defer { rotations.removeAll() }
        return rotations
    }
}
