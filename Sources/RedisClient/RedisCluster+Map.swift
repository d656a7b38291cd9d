import NIOCore

/// The map of slots, and the connections to the nodes it names.
extension RedisCluster {
    // MARK: Asking for the map

    /// Asks for the map because there is a hint of a change.
    func requestRefresh() {
        guard configuration.kind != .single, !isClosed else { return }
        refresh.request(now: .now())
        armRefresh()
    }

    private func armRefresh() {
        refreshTimer?.cancel()
        refreshTimer = eventLoop.assumeIsolated().scheduleTask(deadline: refresh.nextDeadline) { self.turnRefresh() }
    }

    func turnRefresh() {
        guard !isClosed else { return }
        closeRetired()
        if refresh.timerFired(now: .now()) { askForMap() }
        if !isClosed { armRefresh() }
    }

    /// Asks the next node in turn: a connected master, else any node ever named.
    private func askForMap() {
        let ready = masters.filter(\.isReady).map(\.configuration.endpoint.node)
        let candidates = ready.isEmpty ? configuration.seeds.map(\.node) + topology.masters + topology.replicas : ready
        let node = candidates[(refresh.question - 1) % candidates.count]
        asked = node
        let connection = connection(to: node)
        if connection.isReady { ask(connection) }
    }

    private func ask(_ connection: RedisConnection) {
        asked = nil
        let question = refresh.question
        connection.send { writer in
            writer.command("CLUSTER", argumentCount: 1)
            writer.argument("SLOTS")
        } _: { [weak self] result in
            guard let self, !isClosed, refresh.isAwaiting(question) else { return }
            takeMap(result, from: connection)
        }
    }

    private func takeMap(_ result: Result<RedisReply, RedisError>, from connection: RedisConnection) {
        let node = connection.configuration.endpoint.node
        if isOfSingleServer(result), !connection.demandsMaster {
            watchRole()
            // A master is asked once more, when it has told that it is one.
            if connection.demandMaster() {
                asked = node
                return
            }
        }
        do {
            adopt(try ranges(in: result, from: node))
            refresh.succeeded(isSettled: isReady, now: .now())
        } catch {
            problem = "\(node): \(error)"
            refresh.failed(now: .now())
        }
        if !isClosed { armRefresh() }
    }

    private func ranges(
        in result: Result<RedisReply, RedisError>,
        from node: RedisAddress
    ) throws -> [ClusterTopology.Range] {
        if isOfSingleServer(result) { return [.all(node)] }
        return try ClusterTopology.Range.read(result.get(), asked: node)
    }

    /// The server has no support for clusters or no such command, or the user has no right to it.
    private func isOfSingleServer(_ result: Result<RedisReply, RedisError>) -> Bool {
        guard configuration.kind == .detect, configuration.seeds.count == 1,
            case .failure(.server(let prefix, _)) = result
        else { return false }
        return ["ERR", "NOPERM"].contains(prefix)
    }

    // MARK: Using the map

    /// Takes a new map: connects to new masters, retires those that are gone, and sends waiting commands.
    func adopt(_ ranges: [ClusterTopology.Range]) {
        let before = topology.masters
        topology.replace(by: ranges)
        masters = topology.masters.map { connection(to: $0) }
        let inUse = Set(topology.masters)
        for node in nodes.keys.sorted() where !inUse.contains(node) { retire(node) }
        if before != topology.masters { onMasters?() }
        guard !isClosed else { return }
        dispatchParked()
        reportIfReady()
    }

    /// Moves a slot as told by a redirection, until the next map.
    func move(_ slot: RedisSlot, to node: RedisAddress) {
        let before = topology.masters.count
        if topology.move(slot, to: node) { masters = topology.masters.map { connection(to: $0) } }
        requestRefresh()
        if topology.masters.count > before { onMasters?() }
    }

    /// The connection to a node; a new one if there is none.
    func connection(to node: RedisAddress) -> RedisConnection {
        if let known = nodes[node] { return known }
        let connection = RedisConnection(
            configuration: configuration.connection(configuration.seeds[0].at(node)),
            eventLoop: eventLoop
        )
        nodes[node] = connection
        connection.onRefusal = { [unowned self] in refused($0, $1, $2, $3) }
        connection.onKept = { [unowned self] in detours += 1 }
        connection.onStateChange = { [unowned self, unowned connection] in changed($0, of: connection) }
        connection.start()
        return connection
    }

    /// Retires a node that serves nothing any more. Its unsent commands go to the present masters of their slots.
    private func retire(_ node: RedisAddress) {
        guard let connection = nodes.removeValue(forKey: node) else { return }
        connection.onStateChange = nil
        retired.append(connection)
        for (bytes, pending) in connection.takeWaiting() {
            if let slot = pending.slot {
                dispatch(command(slot: slot, bytes: bytes, pending.completion))
            } else {
                pending.completion(.failure(.notSent(reason: "\(node) serves no slots any more")))
            }
        }
        closeRetired()
    }

    private func closeRetired() {
        let idle = retired.filter { $0.inFlightCount == 0 }
        retired.removeAll { $0.inFlightCount == 0 }
        for connection in idle { connection.close() }
    }

    // MARK: Connections

    private func changed(_ state: RedisConnectionState, of connection: RedisConnection) {
        switch state {
        case .connected:
            let node = connection.configuration.endpoint.node
            if asked == node { ask(connection) }
            guard masters.contains(where: { $0 === connection }) else { return }
            if nodes[node] == nil {
                // The sentinels named another server than before: the connection is the same, and what waits on it.
                nodes = nodes.filter { $0.value !== connection }
                nodes[node] = connection
                return adopt([.all(node)])
            }
            onMasters?()
            reportIfReady()
        case .disconnected(let cause):
            wasReady = false
            if asked == connection.configuration.endpoint.node {
                // The node is not waited for: the next one's turn.
                asked = nil
                problem = "\(cause)"
                refresh.failed(now: .now())
                armRefresh()
            } else {
                requestRefresh()
            }
            onStateChange?(.disconnected(cause))
        }
    }

    private func reportIfReady() {
        guard isReady, !wasReady, !isClosed else { return }
        wasReady = true
        onStateChange?(.connected)
    }
}
