import PipelineCore
import SocketErrors

/// Moves a lane from an old connection to a new one. The new one's handshake is done before the old one retires, the
/// old one is drained with a sentinel, and then the lane's tokens move together. Contains the idle rule, too.
extension GatewayLane {
    /// A connection being opened while another carries the lane.
    struct Successor {
        let attempt: Int
        /// The connection; nil until its handshake is done.
        var connection: (any GatewayConnection)?
    }

    /// Acts on the age of the connection, and on other certificates.
    func age(now: MonotonicTime) {
        let age = machine.age(edition: connector.edition, now: now, random: random())
        noteRotation()
        switch age {
        case .goesOn: break
        case .ends(let due): end(due, now: now)
        case .wantsSuccessor: connectSuccessor(now: now)
        }
    }

    private func connectSuccessor(now: MonotonicTime) {
        if let later = owner.mayConnect(.successor, now: now) { return machine.postponeSuccessor(until: later) }
        machine.successorConnecting(edition: connector.edition)
        let attempt = nextAttempt()
        successor = Successor(attempt: attempt)
        connector.connect(self, attempt: attempt)
    }

    /// The new connection is ready: the old one takes nothing more, at once or after a trial.
    func successorOpened(_ connection: any GatewayConnection) {
        successor?.connection = connection
        machine.successorOpened(now: now)
        noteRotation()
        pump(now: now)
    }

    /// Tells once of a connection that retires for its successor.
    private func noteRotation() {
        guard let reason = machine.takeRotation() else { return }
        logger.info(
            "gateway connection is replaced",
            metadata: ["gateway": .string(connector.placeName(of: attempt)), "reason": .string(reason.name)]
        )
        tell(.rotated(reason))
    }

    /// Goes on over the successor, since the lane's connection is gone, if the machine does.
    func adoptSuccessor() {
        guard machine.adoptsSuccessor(), let ready = successor, let connection = ready.connection else {
            return dropSuccessor()
        }
        successor = nil
        attempt = ready.attempt
        use(connection)
    }

    /// The successor ended, or answered, before it was used.
    func successorEnded(attempt: Int, error: (any Error)? = nil) {
        guard attempt == successor?.attempt else { return }
        dropSuccessor()
        let reason = DisconnectReason(endedBy: error, wasOpen: false)
        let refused = reason == .certificateRefused
        // The topic goes on over the connection that it has, whose credentials were not refused.
        if reason == .connectFailed { tellEnd(reason) } else { tell(.disconnected(reason)) }
        logger.warning(
            "a connection that was to replace an old one ended",
            metadata: [
                "gateway": .string(connector.placeName(of: attempt)),
                "error": .string(error.map(connectionProblem) ?? "none"),
                "certificate-refused": .stringConvertible(refused),
            ]
        )
        machine.successorFailed(now: now, random: random(), isRefused: refused)
    }

    func dropSuccessor() {
        let dropped = successor?.connection
        successor = nil
        dropped?.close()
    }
}
