import PipelineCore
import SocketErrors
import TLSTransport

/// Moves a lane from an old connection to a new one. The new one's handshake is done before the old one retires, the
/// old one is drained with a sentinel, and then the lane's tokens move together. Contains the idle rule, too.
extension GatewayLane {
    /// A connection being opened while another carries the lane.
    struct Successor {
        let attempt: Int
        /// The edition of its credential.
        let edition: UInt64
        /// The connection; nil until its handshake is done.
        var connection: (any GatewayConnection)?
        /// The old connection retires for it, which was told.
        var isNoted = false
    }

    /// Acts on the age of the connection, and on other certificates.
    func succeed(now: MonotonicTime) {
        machine.noteEdition(connector.edition, now: now, random: random())
        machine.endTrial(now: now)
        noteRotation()
        if machine.isRetired {
            tellEnd(.closedHere)
            finishConnection(machine.ended(.closedHere, now: now, random: 0))
            adoptSuccessor()
        } else if successor == nil, !isHeld, machine.wantsSuccessor(now: now) {
            if let later = owner.mayConnect(.successor, now: now) {
                return machine.postponeSuccessor(until: later)
            }
            let attempt = nextAttempt()
            successor = Successor(attempt: attempt, edition: connector.edition)
            connector.connect(self, attempt: attempt)
        } else if successor == nil, machine.isIdle(now: now) {
            logger.info("closing an idle connection")
            tellEnd(.closedHere)
            finishConnection(machine.ended(.closedHere, now: now, random: 0))
        }
    }

    /// The new connection is ready: the old one takes nothing more, at once or after a trial.
    func successorOpened(_ connection: any GatewayConnection) {
        successor?.connection = connection
        machine.successorOpened(edition: successor?.edition ?? 0, now: now)
        noteRotation()
        pump(now: now)
    }

    /// Tells once of a connection that retires for its successor.
    private func noteRotation() {
        guard successor?.isNoted == false, machine.isRetiring else { return }
        successor?.isNoted = true
        logger.info(
            "gateway connection is replaced",
            metadata: [
                "gateway": .string(connector.placeName(of: attempt)),
                "reason": .string(machine.rotation.reason.name),
            ]
        )
        tell(.rotated(machine.rotation.reason))
    }

    /// Goes on over the successor, since the lane's connection is gone. Only if the successor is ready and no wait is
    /// due.
    func adoptSuccessor() {
        guard let ready = successor, let connection = ready.connection, machine.phase == .disconnected else {
            return dropSuccessor()
        }
        successor = nil
        attempt = ready.attempt
        edition = ready.edition
        machine.connecting()
        use(connection)
    }

    /// The successor ended, or answered, before it was used.
    func successorEnded(attempt: Int, error: (any Error)? = nil) {
        guard attempt == successor?.attempt else { return }
        dropSuccessor()
        let refused = (error as? TLSError)?.isCertificateRefused ?? false
        // The topic goes on over the connection that it has, whose certificate was not refused.
        if refused { tell(.disconnected(.certificateRefused)) } else { tellEnd(.connectFailed) }
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
