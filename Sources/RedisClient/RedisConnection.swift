public import NIOCore

/// A pipelined connection to one Redis server that restores itself. Sentinels may name the server, at each attempt.
///
/// Bound to one event loop: create it there, call everything there, all callbacks come there. Not Sendable.
///
/// Commands run on the server in the order they are sent, and complete in that order. Exception: after a lost
/// connection those in flight fail, and those not handed to the channel yet go out on the next one. Commands sent in
/// one turn of the event loop leave in one flush.
///
/// The owner must ``close()`` the connection; until then it keeps itself alive.
public final class RedisConnection {
    /// Called exactly once per command. The reply is valid during the call only. An error reply of the server is a
    /// failure. May send further commands, and may close the connection.
    public typealias Completion = (Result<RedisReply, RedisError>) -> Void

    typealias Machine = RedisConnectionStateMachine<Pending>

    /// A command that has not completed.
    struct Pending {
        var completion: CommandCompletion
        /// The slot of a command that may be sent to another node instead; see ``onRefusal``.
        var slot: RedisSlot?
        /// Of a command with a slot: it is not sent again after this time; nil: never too late.
        var deadline: NIODeadline?
    }

    /// Its endpoint is the server dialed last, where sentinels name the server.
    public internal(set) var configuration: Configuration
    public let eventLoop: any EventLoop

    /// Called after each change, for readiness and logs. Not called by ``close()``.
    public var onStateChange: ((RedisConnectionState) -> Void)?

    /// Set by a cluster, which takes over commands with a slot that the node refused to run. Receives the command's
    /// bytes; the completion is not called.
    var onRefusal: ((ClusterRefusal, ByteBuffer, Pending, RedisError) -> Void)? {
        didSet { keepsSent = onRefusal != nil }
    }
    /// Set by a cluster. Called for each command that is kept: it may run after some that were sent behind it.
    var onKept: (() -> Void)?
    /// `onRefusal` is set. Checked for every reply, where a check of the closure itself would cost more.
    private var keepsSent = false
    /// The bytes of sent commands, for ``onRefusal``.
    private var sent = SentBytes()
    /// Commands that the present server refused as a replica, kept for the next one.
    private var kept = ByteBuffer()

    private var machine: Machine
    /// Nil: the configuration names the server.
    let inquiry: SentinelInquiry?
    /// The waiting commands, encoded. A command is appended in place; a flush hands the whole buffer over.
    private var outgoing = RedisCommandWriter(buffer: ByteBuffer())
    private var isEncoding = false
    /// The time of the first command since the last flush, while the next one is scheduled: the commands of one turn
    /// count from there, so that the clock is read once for all.
    private var turnStart: NIODeadline?
    /// Capacity for the next buffer: the bytes of the last flush, because batches are alike.
    private var lastFlushBytes = 0
    /// The end of the present channel; nil unless a connection is established.
    private var handler: RedisChannelHandler?
    private var timer: (deadline: NIODeadline, task: Scheduled<Void>)?
    private var reconnect: Scheduled<Void>?
    var scriptLoads: [RedisScript: ScriptLoad] = [:]

    /// Makes an idle connection on `eventLoop`; ``start()`` begins to connect.
    public init(configuration: Configuration, eventLoop: any EventLoop) {
        eventLoop.preconditionInEventLoop()
        self.configuration = configuration
        self.eventLoop = eventLoop
        inquiry = configuration.sentinels.map { SentinelInquiry($0, eventLoop: eventLoop) }
        machine = Machine(
            settings: .init(
                handshake: configuration.handshake,
                commandTimeout: configuration.commandTimeout,
                handshakeTimeout: configuration.connectTimeout,
                waitingLimitCommands: configuration.waitingLimitCommands,
                waitingLimitBytes: configuration.waitingLimitBytes,
                inFlightLimitCommands: configuration.inFlightLimitCommands
            )
        )
    }

    deinit {
        precondition(machine.isClosed, "a RedisConnection must be closed by its owner")
    }

    /// Commands flow at the moment. A command sent while this is false waits.
    public var isReady: Bool { machine.isReady }

    /// Commands handed to the channel and without reply.
    public var inFlightCount: Int { machine.inFlightCount }

    /// Commands not handed to the channel yet.
    public var waitingCount: Int { machine.waitingCount }

    /// Begins to connect, and from then on restores a lost connection. Commands may be sent before.
    public func start() {
        eventLoop.preconditionInEventLoop()
        if machine.start() { connect() }
    }

    /// The server has to be a master; see ``demandMaster()``.
    var demandsMaster: Bool { machine.demandsMaster }

    /// From now on a server that is a replica is given up, at the login and whenever it refuses a command as such. What
    /// it refused goes to the next server in the order sent. For a connection of a cluster, which keeps what it sent.
    ///
    /// - Returns: true: the present server is asked for its role, and nothing flows until it has answered.
    @discardableResult
    func demandMaster() -> Bool {
        precondition(keepsSent, "a connection without a cluster keeps no command")
        let steps = machine.demandMaster(now: .now())
        guard !steps.isEmpty, let handler else { return false }
        shakeHands(steps, on: handler)
        return true
    }

    /// The reply that just came tells that the server is a replica. Called by its completion.
    func foundReplica() {
        machine.foundReplica()
    }

    /// Sends a command.
    ///
    /// - Parameters:
    ///   - write: Writes exactly one command and does not touch the connection; called before `send` returns, unless
    ///     the command is refused.
    ///   - completion: Called once; **before `send` returns** when the command is refused at once, because the
    ///     connection is closed or too much is waiting (``RedisError/closed``, ``RedisError/notSent(reason:)``).
    public func send(_ write: (inout RedisCommandWriter) -> Void, _ completion: @escaping Completion) {
        send(Pending(completion: .closure(completion), slot: nil), write)
    }

    func send(_ pending: Pending, _ write: (inout RedisCommandWriter) -> Void) {
        eventLoop.preconditionInEventLoop()
        precondition(!isEncoding, "a command was sent from within the writing of another")
        if let refusal = machine.admit() {
            pending.completion(.failure(refusal))
            return
        }
        isEncoding = true
        makeRoom()
        let before = outgoing.buffer.readableBytes
        // In place: an empty buffer to exchange it for would count references that the threads of all loops share.
        write(&outgoing)
        outgoing.endCommand()
        isEncoding = false
        enqueue(byteCount: outgoing.buffer.readableBytes - before, pending)
    }

    /// Sends an encoded command, under the rules of ``send(_:_:)``.
    func send(encoded command: ByteBuffer, _ completion: @escaping Completion) {
        if let refusal = machine.admit() {
            completion(.failure(refusal))
            return
        }
        makeRoom()
        outgoing.buffer.writeImmutableBuffer(command)
        enqueue(byteCount: command.readableBytes, Pending(completion: .closure(completion), slot: nil))
    }

    /// Gives a new buffer the size that the commands of a turn usually have.
    private func makeRoom() {
        if outgoing.buffer.capacity == 0 { outgoing.buffer.reserveCapacity(min(lastFlushBytes, 1 << 20)) }
    }

    /// Hands waiting commands to the channel now, not at the end of the turn. Does nothing without a connection.
    public func flush() {
        turnStart = nil
        guard let handler else { return }
        let byteCount = machine.flush(now: .now(), isWritable: handler.isWritable)
        guard byteCount > 0 else { return }
        lastFlushBytes = byteCount
        let bytes: ByteBuffer
        if byteCount == outgoing.buffer.readableBytes {
            bytes = outgoing.buffer.takeBytes()
        } else {
            // A copy: a slice would share the storage and make the next command copy all that is still waiting.
            bytes = ByteBuffer(bytes: outgoing.buffer.readableBytesView.prefix(byteCount))
            discardOutgoing(byteCount)
        }
        if keepsSent { sent.append(bytes) }
        handler.send(bytes)
        armTimer()
    }

    /// Ends the connection for good. Commands in flight fail as ``RedisError/maybeExecuted(reason:)``, waiting ones as
    /// ``RedisError/closed``, before the call returns. Closing twice is harmless.
    public func close() {
        eventLoop.preconditionInEventLoop()
        let failed = machine.close()
        inquiry?.close()
        dropChannel()
        reconnect?.cancel()
        reconnect = nil
        timer?.task.cancel()
        timer = nil
        outgoing.buffer = ByteBuffer()
        fail(failed)
    }

    private func enqueue(byteCount: Int, _ pending: Pending) {
        let now = turnStart ?? .now()
        let deadline = configuration.commandTimeout.map { now + $0 }
        var pending = pending
        if pending.slot != nil { pending.deadline = deadline }
        if machine.enqueue(pending, byteCount: byteCount, now: now) {
            turnStart = now
            eventLoop.assumeIsolated().execute { self.flush() }
        }
        // The timer is early enough for all older commands.
        if let due = timer?.deadline, let deadline, due <= deadline { return }
        armTimer()
    }

    /// Drops the front of the waiting bytes. Now and then moves the rest: otherwise the buffer of a slow server would
    /// keep growing.
    private func discardOutgoing(_ byteCount: Int) {
        outgoing.buffer.moveReaderIndex(forwardBy: byteCount)
        if outgoing.buffer.readerIndex > outgoing.buffer.readableBytes { outgoing.buffer.discardReadBytes() }
    }

    private func fail(_ failed: [Machine.Failed]) {
        for (pending, error) in failed { pending.completion(.failure(error)) }
    }

    /// Takes back commands not handed to the channel, in their order: they have definitely not run.
    func takeWaiting() -> [(command: ByteBuffer, Pending)] {
        restoreKept()
        let taken = machine.takeWaiting().map { pending, byteCount in
            guard let command = outgoing.buffer.readSlice(length: byteCount) else {
                preconditionFailure("a size without bytes")
            }
            return (command, pending)
        }
        outgoing.buffer = ByteBuffer()
        return taken
    }
}

// MARK: - Connecting

extension RedisConnection {
    /// Runs the handshake on a channel that has just become active.
    func activated(_ handler: RedisChannelHandler) {
        switch machine.connected(now: .now()) {
        case .close:
            handler.close()
        case .shakeHands(let steps):
            self.handler = handler
            shakeHands(steps, on: handler)
        }
    }

    private func shakeHands(_ steps: [Machine.HandshakeStep], on handler: RedisChannelHandler) {
        handler.send(configuration.encoded(steps))
        armTimer()
    }

    /// A channel became inactive, or reported an error that ends it.
    func lost(_ handler: RedisChannelHandler, reason: String) {
        // A channel that was given up before is ignored.
        guard handler === self.handler else { return }
        lost(reason: reason)
    }

    /// The present connection, or the attempt to make one, has come to its end.
    func lost(reason: String, refusal: RedisError? = nil) {
        guard let loss = machine.lost(reason: "\(configuration.endpoint.address): \(reason)") else { return }
        carryOut(loss, reason: reason, refusal: refusal)
    }

    private func carryOut(_ loss: Machine.Loss, reason: String, refusal: RedisError? = nil) {
        dropChannel()
        reconnect = eventLoop.assumeIsolated().scheduleTask(in: configuration.delay(loss.attempt)) {
            self.reconnect = nil
            if self.machine.backOffElapsed() { self.connect() }
        }
        onStateChange?(
            .disconnected(
                RedisDisconnection(
                    address: configuration.endpoint.address,
                    reason: reason,
                    refusal: refusal,
                    attempt: loss.attempt
                )
            )
        )
        fail(loss.failed)
    }

    /// Puts kept commands before all that wait, as the machine does.
    private func restoreKept() {
        guard kept.readableBytes > 0 else { return }
        kept.writeImmutableBuffer(outgoing.buffer)
        outgoing.buffer = kept.takeBytes()
    }

    private func dropChannel() {
        let dropped = handler
        handler = nil
        sent.removeAll()
        restoreKept()
        dropped?.close()
    }
}

// MARK: - Replies and time

extension RedisConnection {
    /// Returns true if the channel of the reply is still wanted.
    func received(_ reply: RedisReply, on handler: RedisChannelHandler) -> Bool {
        guard handler === self.handler else { return false }
        let error = reply.error
        carryOut(machine.replied(error: error), error, reply)
        if let reason = machine.departed { lost(reason: reason) }
        // Any of the callbacks may have closed the connection.
        return handler === self.handler
    }

    private func carryOut(_ action: Machine.ReplyAction, _ error: RedisError?, _ reply: RedisReply) {
        switch action {
        case .complete(let pending, let byteCount):
            complete(pending, byteCount, error, reply)
        case .keep(let byteCount):
            kept.writeImmutableBuffer(sent.firstCommand(byteCount: byteCount))
            sent.removeFirst(byteCount: byteCount)
            onKept?()
        case .role:
            carryOut(machine.toldRole(isReplica: reply.tellsReplica), nil, reply)
        case .replica:
            lost(reason: "the server is a replica")
        case .none:
            break
        case .ready:
            flush()
            onStateChange?(.connected)
        case .refused(_, let error) where error.isAboutTooManyClients:
            lost(reason: "the server has no room for one more client: \(error)", refusal: error)
        case .refused(let step, let error):
            lost(reason: "the server refused \(configuration.name(of: step)): \(error)", refusal: error)
        case .unsolicited:
            lost(reason: "a reply to no command")
        }
    }

    private func complete(_ pending: Pending, _ byteCount: Int, _ error: RedisError?, _ reply: RedisReply) {
        guard let error else {
            if keepsSent { sent.removeFirst(byteCount: byteCount) }
            return pending.completion(.success(reply))
        }
        guard keepsSent else { return pending.completion(.failure(error)) }
        if let onRefusal, pending.slot != nil, let refusal = ClusterRefusal(error, asked: configuration.endpoint.node) {
            let command = sent.firstCommand(byteCount: byteCount)
            sent.removeFirst(byteCount: byteCount)
            return onRefusal(refusal, command, pending, error)
        }
        sent.removeFirst(byteCount: byteCount)
        pending.completion(.failure(error))
    }

    /// Sets one timer for all commands: for the oldest, and again only when it fires. A command costs no timer.
    private func armTimer() {
        guard let deadline = machine.nextDeadline else { return }
        if let timer {
            if timer.deadline <= deadline { return }
            timer.task.cancel()
        }
        let task = eventLoop.assumeIsolated().scheduleTask(deadline: deadline) { self.timerFired() }
        timer = (deadline, task)
    }

    private func timerFired() {
        timer = nil
        let action = machine.timerFired(now: .now())
        discardOutgoing(action.expiredBytes)
        armTimer()
        // First the loss: a completion may close the connection, and no state change may be reported after that.
        if let (reason, loss) = action.loss { carryOut(loss, reason: reason) }
        fail(action.expired)
    }
}
