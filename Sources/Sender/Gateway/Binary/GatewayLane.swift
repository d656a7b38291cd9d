import APNsProtocol
import BelfrySupport
import Logging
import NIOCore
import PipelineCore
import SocketErrors

/// Carries out the decisions of a ``LaneStateMachine``: connects, writes, reads. Decides nothing itself.
///
/// Bound to its shard's event loop. Connections and attempts are identified by the number of the attempt: the lane's
/// own, and that of a successor which is opened before an old connection retires (`+Succession`).
final class GatewayLane: ConnectionOwner {
    let topic: Topic
    let number: Int
    var machine: LaneStateMachine

    let eventLoop: any EventLoop
    let connector: any GatewayConnecting
    /// 64 uniformly random bits.
    let random: () -> UInt64
    let logger: Logger
    private let buffers: RunBuffers
    unowned let owner: BinaryLanes
    var connection: (any GatewayConnection)?
    /// Number of the attempt for the lane's connection, made or to be made.
    var attempt = 0
    /// The connection that is to take over.
    var successor: Successor?
    /// The last number given to an attempt.
    private var attempts = 0
    private var isPumping = false
    private var hasWarnedOfAcknowledgements = false

    private static let allocator = ByteBufferAllocator()

    init(
        of topic: Topic,
        number: Int,
        connector: any GatewayConnecting,
        buffers: RunBuffers,
        frames: FrameChunks,
        random: @escaping () -> UInt64,
        logger: Logger,
        owner: BinaryLanes
    ) {
        self.topic = topic
        self.number = number
        self.connector = connector
        self.buffers = buffers
        self.random = random
        eventLoop = connector.eventLoop
        self.owner = owner
        var logger = logger
        logger[metadataKey: "lane"] = .stringConvertible(number)
        self.logger = logger
        machine = LaneStateMachine(limits: topic.limits, memory: frames)
    }

    var now: MonotonicTime { MonotonicTime(eventLoop.now) }

    // MARK: Driven by the shard

    /// Sends everything that may be sent, or connects first if necessary.
    func pump(now: MonotonicTime) {
        if let connection {
            write(to: connection)
        } else if machine.wantsConnection(now: now) {
            if let later = owner.mayConnect(machine.purpose(isFirst: attempts == 0), now: now) {
                machine.postpone(until: later)
            } else {
                machine.connecting(edition: connector.edition)
                attempt = nextAttempt()
                connector.connect(self, attempt: attempt)
            }
        }
    }

    /// Lets time pass: silence settles, waits end, connections grow old.
    func tick(now: MonotonicTime) {
        if machine.freesBuffers() { connection?.rest() }
        switch machine.beginTick(now: now) {
        case .nothing: return
        case .age: return age(now: now)
        case .all: break
        }
        if machine.awaitsAcknowledgement, let bytes = connection?.acknowledged {
            machine.acknowledged(streamBytes: bytes, now: now)
        }
        if let verdict = machine.passSilence(now: now) { report(verdict) }
        if let due = machine.overdue(now: now) { end(due, now: now) }
        age(now: now)
        if machine.wantsPump || machine.wantsConnection(now: now) { pump(now: now) }
    }

    /// Ends the connection for which the time has come; the lane goes on over a successor that is ready.
    func end(_ due: LaneStateMachine.Due, now: MonotonicTime) {
        switch due {
        case .sentinelUnanswered: logger.warning("the gateway did not answer a sentinel in time")
        case .idle: logger.info("closing an idle connection")
        case .retired: break
        case .peerDead: return abandonPeer(now: now)
        }
        tellEnd(.closedHere)
        finishConnection(machine.end(due, now: now, random: random()))
        adoptSuccessor()
    }

    /// Aborts the connection, for an orderly close would wait for an answer.
    private func abandonPeer(now: MonotonicTime) {
        logger.warning(
            "gateway acknowledges nothing",
            metadata: [
                "gateway": .string(connector.placeName(of: attempt)),
                "unsettled": .stringConvertible(machine.inFlightCount),
            ]
        )
        tellEnd(.failure)
        connector.noteFailure()
        let dead = connection
        connection = nil
        finishConnection(machine.end(.peerDead, now: now, random: random()))
        dead?.abort()
        adoptSuccessor()
    }

    /// Begins the end of the lane at a stop: notifications in flight are proven by a sentinel, faster than by silence.
    func finish(now: MonotonicTime) {
        machine.finish()
        dropSuccessor()
        pump(now: now)
    }

    /// Ends the connection when all is settled, and opens no other: the topic does not work.
    func suspend() {
        machine.suspend()
        dropSuccessor()
    }

    /// Closes the connection in order; notifications in flight keep their unknown fate.
    func close() {
        suspend()
        guard machine.hasConnection else { return }
        tellEnd(.closedHere)
        finishConnection(machine.ended(.closedHere, now: now, random: random()))
    }

    /// Releases the connection, which has ended for the machine, and closes it in order.
    private func finishConnection(_ verdict: LaneVerdict) {
        let old = connection
        connection = nil
        attempt = nextAttempt()
        report(verdict)
        old?.close()
    }

    func nextAttempt() -> Int {
        attempts += 1
        return attempts
    }

    /// The attempt is still wanted and not done.
    func isConnecting(_ attempt: Int) -> Bool {
        if attempt == self.attempt { return machine.isConnecting }
        return attempt == successor?.attempt && successor?.connection == nil
    }

    /// The attempt led to a connection that the lane has, or will take over.
    func isOpen(_ attempt: Int) -> Bool {
        if attempt == self.attempt { return connection != nil }
        return attempt == successor?.attempt && successor?.connection != nil
    }

    // MARK: Reported by the channel

    func connectionOpened(attempt: Int, connection: any GatewayConnection) {
        guard isConnecting(attempt) else { return connection.close() }
        logger.info("connected to the gateway")
        tell(.connected)
        if !connection.tellsAcknowledgements, !hasWarnedOfAcknowledgements {
            hasWarnedOfAcknowledgements = true
            logger.warning("system does not tell acknowledged bytes: silence counts from when the kernel took them")
        }
        if attempt == self.attempt { use(connection) } else { successorOpened(connection) }
    }

    /// Goes on over a connection that was just opened.
    func use(_ connection: any GatewayConnection) {
        self.connection = connection
        machine.opened(now: now, random: random())
        write(to: connection)
    }

    /// The connection has failed or was closed by the peer: nothing more is written, because it would not arrive. Its
    /// end follows. One that was to take over carries nothing, so that its end need not be awaited.
    func connectionEnding(attempt: Int, error: (any Error)?) {
        if attempt == self.attempt {
            machine.ending()
        } else {
            successorEnded(attempt: attempt, error: error)
        }
    }

    func connectionAnswered(attempt: Int, response: ErrorResponse) {
        guard attempt == self.attempt, connection != nil else { return successorEnded(attempt: attempt) }
        owner.answered(response, of: self, now: now)
        tellEnd(response.status == .shutdown ? .shutdown : .errorResponse)
        let verdict = machine.answered(response, now: now, random: random())
        // The gateway closes after an answer, and discards everything else that it reads of ours.
        finishConnection(verdict)
        adoptSuccessor()
        pump(now: now)
    }

    func connectionEnded(attempt: Int, error: (any Error)?) {
        guard attempt == self.attempt else { return successorEnded(attempt: attempt, error: error) }
        let reason = DisconnectReason(endedBy: error, wasOpen: connection != nil)
        let refused = reason == .certificateRefused
        let isRefusal = refused || reason == .proxyRefused
        // Nothing would probe a topic that stopped without a notification.
        if isRefusal, machine.isOnlyWarm(now: now) { tell(.disconnected(reason)) } else { tellEnd(reason) }
        logger.warning(
            "connection to the gateway ended",
            metadata: [
                "gateway": .string(connector.placeName(of: attempt)),
                "error": .string(error.map(connectionProblem) ?? "end of stream"),
                "certificate-refused": .stringConvertible(refused),
                "unsettled": .stringConvertible(machine.inFlightCount),
            ]
        )
        connector.noteFailure()
        finishConnection(
            machine.ended(refused ? .certificateRefused : .failed, now: now, random: random())
        )
        adoptSuccessor()
        pump(now: now)
    }

    var hasStoodStill: Bool { owner.hasStoodStill }

    func connectionWritable(attempt: Int) {
        guard attempt == self.attempt, let connection else { return }
        write(to: connection)
    }

    // MARK: Writing

    /// Hands whole TLS records to the channel while it takes them. Then a sentinel, if it is time for one.
    private func write(to connection: any GatewayConnection) {
        // A flush can complete, and a write can fail, before the call returns: one pump at a time.
        guard !isPumping, machine.mayWrite, owner.mayWrite else { return }
        isPumping = true
        defer { isPumping = false }
        let current = attempt
        while current == attempt, machine.mayWrite, owner.mayWrite, connection.isWritable {
            let start = machine.sentEnd
            if machine.isSorted { owner.sort(self, now: now) }
            // All sorted notifications may have gone elsewhere: then there is nothing to write, and more to sort.
            guard writeGroup(to: connection) || machine.sentEnd > start else { break }
        }
        // The machine goes first: the write can bring the answer, or the end.
        if current == attempt, let sentinel = machine.takeSentinel(now: now) { write(sentinel, to: connection) }
    }

    /// Writes and flushes a limited number of records, so that the channel can report in between that it is full. False
    /// if there was nothing to write.
    private func writeGroup(to connection: any GatewayConnection) -> Bool {
        // One run behind, so that the last one carries the flush.
        var last: ByteBuffer?
        var runs = 0
        let start = machine.sentEnd
        let first = machine.firstWaiting
        while runs < RunBuffers.count, let run = machine.nextRun() {
            if let last { connection.write(last) }
            last = buffers.copy(run, at: runs)
            runs += 1
        }
        guard let last else { return false }
        let end = machine.sentEnd
        let current = attempt
        if let first, end > start { tell(.handedOver(Int(end - start), from: first)) }
        if connection.tellsAcknowledgements {
            connection.writeAndFlush(last, whenFlushed: nil)
            if current == attempt { machine.written(upTo: end, streamBytes: connection.writtenBytes, now: now) }
        } else {
            connection.writeAndFlush(last) { [self] in
                if current == attempt { machine.flushed(upTo: end, now: now) }
            }
        }
        return true
    }

    /// Writes a sentinel.
    private func write(_ identifier: UInt32, to connection: any GatewayConnection) {
        var buffer = Self.allocator.buffer(capacity: NotificationFrame.sentinelBytes)
        buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: NotificationFrame.sentinelBytes) {
            NotificationFrame.encodeSentinel(identifier: identifier, into: $0)
        }
        connection.writeAndFlush(buffer, whenFlushed: nil)
    }

    // MARK: Told to the owner

    private func report(_ verdict: LaneVerdict) {
        let now = now
        owner.settled(verdict, of: self, now: now)
        machine.evictSettled(now: now)
    }

    func tell(_ event: TransportEvent) { owner.handle(event, of: self) }

    /// Tells of the end of the topic's connection, or of the attempt to make one.
    func tellEnd(_ reason: DisconnectReason) {
        tell(.disconnected(reason))
        tell(.failed(reason))
    }
}
