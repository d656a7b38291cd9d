import PipelineCore

/// Moves a lane from an old connection to a new one. The new one's handshake is done before the old one retires, the
/// old one is drained with a sentinel, and then the lane's tokens move together. Contains the idle rule, too.
extension GatewayLane {
    /// A connection being opened while another carries the lane.
    struct Successor {
        let attempt: Int
        /// The connection; nil until its handshake is done.
        var connection: (any GatewayConnection)?
    }

    /// Acts on the age of the connection.
    func succeed(now: MonotonicTime) {
        if machine.isRetired {
            delegate.laneDisconnected(self, reason: .closedHere)
            finishConnection(machine.ended(.closedHere, now: now, random: 0))
            adoptSuccessor()
        } else if successor == nil, !isHeld, machine.wantsSuccessor(now: now) {
            if let later = delegate.laneMayConnect(self, now: now, sparing: true) {
                return machine.postponeSuccessor(until: later)
            }
            let attempt = nextAttempt()
            successor = Successor(attempt: attempt)
            connector.connect(self, attempt: attempt)
        } else if successor == nil, machine.isIdle(now: now) {
            logger.info("closing an idle connection")
            delegate.laneDisconnected(self, reason: .closedHere)
            finishConnection(machine.ended(.closedHere, now: now, random: 0))
        }
    }

    /// The new connection is ready: the old one takes nothing more.
    func successorOpened(_ connection: any GatewayConnection) {
        successor?.connection = connection
        machine.retire()
        pump(now: now)
    }

    /// Goes on over the successor, since the lane's connection is gone. Only if the successor is ready and no wait is
    /// due.
    func adoptSuccessor() {
        guard let ready = successor, let connection = ready.connection, machine.phase == .disconnected else {
            return dropSuccessor()
        }
        successor = nil
        attempt = ready.attempt
        machine.connecting()
        use(connection)
    }

    /// The successor ended, or answered, before it was used.
    func successorEnded(attempt: Int) {
        guard attempt == successor?.attempt else { return }
        dropSuccessor()
        delegate.laneDisconnected(self, reason: .connectFailed)
        logger.warning(
            "a connection that was to replace an old one ended",
            metadata: ["gateway": .string(connector.placeName(of: attempt))]
        )
        machine.successorFailed(now: now, random: random())
    }

    func dropSuccessor() {
        let dropped = successor?.connection
        successor = nil
        dropped?.close()
    }
}
