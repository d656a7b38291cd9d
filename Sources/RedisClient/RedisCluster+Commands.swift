import NIOCore

/// The commands that need more than a look at the map.
extension RedisCluster {
    /// A command whose time begins now.
    func command(
        slot: RedisSlot,
        bytes: ByteBuffer,
        script: RedisScript? = nil,
        _ completion: CommandCompletion
    ) -> ClusterCommand {
        ClusterCommand(
            slot: slot,
            bytes: bytes,
            script: script,
            patience: ClusterPatience(deadline: commandTimeout.map { .now() + $0 }),
            completion: completion
        )
    }

    /// Sends a command to the master of its slot, or keeps it until there is one.
    func dispatch(_ command: ClusterCommand) {
        if isClosed { return command.completion(.failure(.closed)) }
        guard let owner = topology.owner(of: command.slot) else {
            let reason = topology.isKnown ? "nobody serves slot \(command.slot.number)" : problem
            return park(command, because: .notSent(reason: reason))
        }
        send(command, to: masters[owner])
    }

    private func send(_ command: ClusterCommand, to connection: RedisConnection, asking: Bool = false) {
        let completion: Completion = { [weak self] result in
            guard let self else { return command.completion(result) }
            answered(command, result, by: connection)
        }
        if let script = command.script {
            connection.evaluate(encoded: command.bytes, of: script, asking: asking, completion)
        } else {
            connection.send(encoded: command.bytes, asking: asking, completion)
        }
    }

    private func answered(
        _ command: ClusterCommand,
        _ result: Result<RedisReply, RedisError>,
        by connection: RedisConnection
    ) {
        guard case .failure(let error) = result, !isClosed else { return command.completion(result) }
        let node = connection.configuration.endpoint.node
        if let refusal = ClusterRefusal(error, asked: node) {
            refused(command, refusal, error)
        } else if case .notSent = error, !nodes.values.contains(where: { $0 === connection }) {
            // The command waited for a node that serves no slots any more.
            dispatch(command)
        } else {
            command.completion(result)
        }
    }

    /// Treats a command that its node did not run.
    func refused(_ command: ClusterCommand, _ refusal: ClusterRefusal, _ error: RedisError) {
        switch refusal {
        case .moved(let slot, let node):
            move(slot, to: node)
            redirect(command, to: node, because: error)
        case .ask(let node):
            redirect(command, to: node, asking: true, because: error)
        case .later(let mapIsDoubtful):
            if mapIsDoubtful { requestRefresh() }
            park(command, because: error)
        }
    }

    private func redirect(
        _ command: ClusterCommand,
        to node: RedisAddress,
        asking: Bool = false,
        because reason: RedisError
    ) {
        // A callback about a new master may have closed the client.
        if isClosed { return command.completion(.failure(.closed)) }
        var command = command
        if command.patience.follows(limit: configuration.redirectionLimit, now: .now()) {
            detours += 1
            send(command, to: connection(to: node), asking: asking)
        } else {
            park(command, because: reason)
        }
    }

    /// Takes over a command that its node refused to run. Its time goes on.
    func refused(
        _ refusal: ClusterRefusal,
        _ bytes: ByteBuffer,
        _ pending: RedisConnection.Pending,
        _ error: RedisError
    ) {
        guard let slot = pending.slot, !isClosed else { return pending.completion(.failure(error)) }
        let command = ClusterCommand(
            slot: slot,
            bytes: bytes,
            patience: ClusterPatience(deadline: pending.deadline),
            completion: pending.completion
        )
        refused(command, refusal, error)
    }

    // MARK: Waiting

    /// Keeps a command that no node can run at the moment, if there is room and time for it.
    private func park(_ command: ClusterCommand, because reason: RedisError) {
        var command = command
        command.reason = reason
        detours += 1
        if parked.isFull {
            return command.completion(
                .failure(.notSent(reason: "\(parked.count) commands are waiting: \(reason)"))
            )
        }
        guard let due = command.patience.nextTry(now: .now(), random: configuration.randomBits()) else {
            return command.completion(.failure(reason))
        }
        parked.append(command, due: due)
        armParked()
    }

    /// Tries all waiting commands once more, with a new map.
    func dispatchParked() {
        tryAgain(parked.takeAll(now: .now()))
    }

    private func tryAgain(_ taken: (expired: [ClusterCommand], others: [ClusterCommand])) {
        for command in taken.expired { command.completion(.failure(command.reason ?? .notSent(reason: problem))) }
        for command in taken.others { dispatch(command) }
        armParked()
    }

    /// Sets one timer for all waiting commands: for the first that is due.
    private func armParked() {
        guard let due = parked.nextDue else {
            parkedTimer?.task.cancel()
            parkedTimer = nil
            return
        }
        if let parkedTimer {
            if parkedTimer.due <= due { return }
            parkedTimer.task.cancel()
        }
        // Never at once: NIO runs tasks until none is due before it looks at its sockets, where a new map comes from.
        let next = max(due, .now() + .milliseconds(1))
        let task = eventLoop.assumeIsolated().scheduleTask(deadline: next) {
            self.parkedTimer = nil
            self.tryAgain(self.parked.takeDue(now: .now()))
        }
        parkedTimer = (due, task)
    }
}
