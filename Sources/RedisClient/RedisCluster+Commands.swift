import NIOCore

/// The commands that need more than a look at the map.
extension RedisCluster {
    /// The deadline of a command that begins to wait now.
    var deadline: NIODeadline? {
        commandTimeout.map { .now() + $0 }
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
        } else if case .notSent = error, nodes[node] !== connection {
            // The command waited for a node that serves no slots any more.
            dispatch(command)
        } else {
            command.completion(result)
        }
    }

    /// Treats a command that its node did not run.
    func refused(_ command: ClusterCommand, _ refusal: ClusterRefusal, _ error: RedisError) {
        var command = command
        switch refusal {
        case .moved(let slot, let node):
            command.redirections += 1
            move(slot, to: node)
            guard command.redirections <= configuration.redirectionLimit else {
                return command.completion(.failure(error))
            }
            send(command, to: connection(to: node))
        case .ask(let node):
            command.redirections += 1
            guard command.redirections <= configuration.redirectionLimit else {
                return command.completion(.failure(error))
            }
            send(command, to: connection(to: node), asking: true)
        case .later(let mapIsDoubtful):
            if mapIsDoubtful { requestRefresh() }
            park(command, because: error)
        }
    }

    /// Takes over a command that its node refused to run.
    func refused(
        _ refusal: ClusterRefusal,
        _ bytes: ByteBuffer,
        _ pending: RedisConnection.Pending,
        _ error: RedisError
    ) {
        guard let slot = pending.slot, !isClosed else { return pending.completion(.failure(error)) }
        let command = ClusterCommand(slot: slot, bytes: bytes, deadline: deadline, completion: pending.completion)
        refused(command, refusal, error)
    }

    // MARK: Waiting

    /// Keeps a command that no node can run at the moment, if there is room and time for it.
    private func park(_ command: ClusterCommand, because reason: RedisError) {
        var command = command
        command.waits += 1
        command.reason = reason
        let now = NIODeadline.now()
        if parked.isFull {
            return command.completion(
                .failure(.notSent(reason: "\(parked.commands.count) commands are waiting: \(reason)"))
            )
        }
        if let deadline = command.deadline, deadline <= now { return command.completion(.failure(reason)) }
        parked.append(command)
        guard parkedTimer == nil else { return }
        parkedTimer = eventLoop.assumeIsolated().scheduleTask(in: configuration.retryDelay(command.waits)) {
            self.parkedTimer = nil
            self.dispatchParked()
        }
    }

    /// Tries all waiting commands once more: after their wait, or with a new map.
    func dispatchParked() {
        parkedTimer?.cancel()
        parkedTimer = nil
        let (expired, others) = parked.takeAll(now: .now())
        for command in expired { command.completion(.failure(command.reason ?? .notSent(reason: problem))) }
        for command in others { dispatch(command) }
    }
}
