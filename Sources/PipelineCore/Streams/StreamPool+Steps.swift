/// Something that a pool wants done about a connection.
public enum StreamStep: Equatable, Sendable {
    /// Write a PING. Any byte is a good answer.
    case ping(UInt32)
    /// End the connection, and report it with ``StreamPool/ended(_:_:now:random:)``: `closedHere` in order, `peerDead`
    /// at once.
    case end(UInt32, ConnectionEnd)
}

/// The consequences of time: pings, ends, fewer connections.
extension StreamPool {
    /// The next step that is due; nil: nothing is left to do now.
    public mutating func nextStep(now: MonotonicTime) -> StreamStep? {
        warmth.lapse(now: now)
        endTrials(now: now)
        shrink(now: now)
        for index in connections.indices {
            if let end = end(of: connections[index], now: now) {
                if connections[index].phase == .open, mayEndIdle(connections[index], now: now) {
                    noteRotation(of: connections[index])
                }
                return .end(connections[index].number, end)
            }
            if wantsPing(connections[index], now: now) {
                connections[index].pingedAt = now
                return .ping(connections[index].number)
            }
        }
        return nil
    }

    private func end(of connection: PooledConnection, now: MonotonicTime) -> ConnectionEnd? {
        if let pingedAt = connection.pingedAt {
            if pingedAt + patience(with: connection) <= now { return .peerDead }
        }
        guard connection.isIdle else { return nil }
        switch connection.phase {
        case .connecting:
            return nil
        case .draining:
            return .closedHere
        case .open:
            let isLong = connection.turnedAt + limits.idleTimeout <= now && !isLastWarm(now: now)
            let isUnused = isLong || mayEndIdle(connection, now: now)
            return isUnused || isUseless(connection, now: now) ? .closedHere : nil
        }
    }

    /// The connection that is open is kept, used or not; during a trial the others beside it, too.
    func isLastWarm(now: MonotonicTime) -> Bool { (openCount == 1 || hasTrial) && warmth.isWanted(now: now) }

    /// The time that a peer has for a byte after a ping.
    private func patience(with connection: PooledConnection) -> Duration {
        // The ping of a busy one went out after some silence already.
        guard connection.isIdle else { return limits.peerTimeout - limits.pingAfter }
        return connection.wantsProof ? limits.proofTimeout : limits.peerTimeout
    }

    /// Requests wait, and the peer has let none onto the idle connection for long.
    ///
    /// The time counts on while no request waits: a topic that does not work sends one from time to time, and each may
    /// give up before its wait is long.
    private func isUseless(_ connection: PooledConnection, now: MonotonicTime) -> Bool {
        guard waitsSince != nil, connection.isUseless, let since = connection.uselessSince else { return false }
        return since + limits.peerTimeout <= now
    }

    private func wantsPing(_ connection: PooledConnection, now: MonotonicTime) -> Bool {
        guard connection.phase != .connecting, connection.pingedAt == nil else { return false }
        guard connection.isIdle else {
            // The peer owes something only since the connection has been busy.
            return max(connection.heardAt, connection.turnedAt) + limits.pingAfter <= now
        }
        return connection.wantsProof || connection.heardAt + limits.keepAliveAfter <= now
    }

    /// Lets the oldest connection drain when the others would do.
    private mutating func shrink(now: MonotonicTime) {
        guard shrinking.isCalm(for: limits.shrinkAfter, now: now), openCount > 1, !hasTrial,
            let oldest = connections.firstIndex(where: { $0.phase == .open })
        else { return }
        let others = connections[(oldest + 1)...].reduce(0) { streams, connection in
            guard connection.phase == .open, !connection.isStalled else { return streams }
            return streams + connection.streamLimit(startsWithOne: limits.startsWithOneStream)
        }
        if shrinking.isEnough(streamsOfOthers: others, now: now) { connections[oldest].phase = .draining }
    }
}
