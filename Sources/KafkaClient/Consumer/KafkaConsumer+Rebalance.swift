import CRdKafka

/// The answers to ``onAssigned`` and ``onRevoked``. librdkafka waits for them before the group moves on.
extension KafkaConsumer {
    private static let cooperative = "COOPERATIVE"

    /// Starts the partitions of the last reported assignment.
    ///
    /// - Parameter positions: the start of each partition; ``KafkaOffset/none`` and partitions left out: at the
    ///   committed position. The result of ``committed(_:timeoutMilliseconds:)`` can be passed as it is. Partitions
    ///   that were not assigned are ignored. Metadata is ignored.
    /// - Throws: `KafkaError`. Without an assignment to answer (it was lost meanwhile, or the consumer is closing)
    ///   nothing happens.
    public func completeAssign(_ positions: [KafkaPartitionOffset] = []) throws(KafkaError) {
        guard let handle, let partitions = takeUnansweredAssign() else { return }
        let starts = Dictionary(positions.map { ($0.place, $0.offset) }) { _, last in last }
        let assigned = partitions.map { KafkaPartitionOffset($0, offset: starts[$0] ?? KafkaOffset.none) }
        if isCooperative {
            try assignIncrementally(assigned, handle)
            assignment.add(assigned)
        } else {
            try assign(assigned, handle)
            assignment.replace(by: assigned)
        }
    }

    /// Gives back the partitions of the last reported revocation. Commit before.
    ///
    /// - Throws: `KafkaError`. Without a revocation to answer nothing happens.
    public func completeRevoke() throws(KafkaError) {
        guard let handle, let partitions = takeUnansweredRevoke() else { return }
        // librdkafka keeps a pause beyond the revocation, and the partition may come back. If resuming fails, giving
        // back matters more.
        try? resume(partitions)
        if isCooperative {
            let begun = partitions.filter { assignment.starts[$0] != nil }
            assignment.remove(partitions)
            try unassignIncrementally(begun, handle)
        } else {
            assignment.replace(by: [])
            let code = rd_kafka_assign(handle.pointer, nil)
            guard code == RD_KAFKA_RESP_ERR_NO_ERROR else { throw KafkaError(code, "giving back partitions") }
        }
    }

    /// Withdraws partitions revoked before their assignment was answered. They never begin: a later answer must not be
    /// taken for theirs.
    func withdraw(_ revoked: [KafkaTopicPartition]) {
        guard isCooperative else { return unanswered.removeAll(where: \.isAssign) }
        unanswered = unanswered.map { question in
            guard case .assign(let partitions) = question else { return question }
            return .assign(partitions.filter { !revoked.contains($0) })
        }
    }

    /// Answers every open rebalance, for closing; waits for that until `deadline` at most.
    ///
    /// - Returns: false: librdkafka takes no answer any more.
    func abandonRebalances(by deadline: ContinuousClock.Instant) -> Bool {
        guard let handle else { return true }
        while !unanswered.isEmpty {
            let rebalance = unanswered.removeFirst()
            let begun = rebalance.partitions.filter { assignment.starts[$0] != nil }
            let isAnswered = BoundedCall.run(on: handle.pointer, until: deadline) { client in
                // Partitions that could not be given back are taken by the group at the end of the session.
                guard !rebalance.isAssign, Self.isCooperative(client) else {
                    rd_kafka_assign(client, nil)
                    return
                }
                let list = KafkaPartitionList(begun)
                if let error = rd_kafka_incremental_unassign(client, list.pointer) { rd_kafka_error_destroy(error) }
            }
            guard isAnswered else { return false }
        }
        assignment.replace(by: [])
        return true
    }

    /// Starts assigned partitions elsewhere, including those that librdkafka stopped after an error and cannot seek in.
    func restart(_ positions: [KafkaPartitionOffset], _ handle: KafkaHandle) throws(KafkaError) {
        let pausedBefore = Array(assignment.paused)
        if isCooperative {
            try unassignIncrementally(positions.map(\.place), handle)
            try assignIncrementally(positions, handle)
            assignment.add(positions)
        } else {
            // An eager group's assignment changes as a whole only: the other partitions go on where they are.
            var starts = assignment.starts
            let settled = assignment.partitions.filter { !assignment.moved.contains($0) }
            for position in try self.positions(settled) where position.offset >= 0 {
                starts[position.place] = position.offset
            }
            for position in positions { starts[position.place] = position.offset }
            let all = starts.map { KafkaPartitionOffset($0.key, offset: $0.value) }
            try assign(all, handle)
            assignment.replace(by: all)
        }
        try pause(pausedBefore)
    }

    private func assign(_ positions: [KafkaPartitionOffset], _ handle: KafkaHandle) throws(KafkaError) {
        let list = KafkaPartitionList(positions)
        let code = rd_kafka_assign(handle.pointer, list.pointer)
        if let failure = list.failure(code, "assignment") { throw failure }
    }

    private func assignIncrementally(_ positions: [KafkaPartitionOffset], _ handle: KafkaHandle) throws(KafkaError) {
        let list = KafkaPartitionList(positions)
        if let error = rd_kafka_incremental_assign(handle.pointer, list.pointer) {
            throw KafkaError(consuming: error, "assignment")
        }
    }

    private func unassignIncrementally(_ places: [KafkaTopicPartition], _ handle: KafkaHandle) throws(KafkaError) {
        let list = KafkaPartitionList(places)
        if let error = rd_kafka_incremental_unassign(handle.pointer, list.pointer) {
            throw KafkaError(consuming: error, "giving back partitions")
        }
    }

    /// The group moves single partitions (`cooperative-sticky`) rather than all at once.
    private var isCooperative: Bool { handle.map { Self.isCooperative($0.pointer) } ?? false }

    private static func isCooperative(_ client: OpaquePointer) -> Bool {
        rd_kafka_rebalance_protocol(client).map { String(cString: $0) == cooperative } ?? false
    }

    /// All partitions assigned and not answered. One answer serves several reports: answering only the last would leave
    /// the others unanswered for ever.
    private func takeUnansweredAssign() -> [KafkaTopicPartition]? {
        guard unanswered.contains(where: \.isAssign) else { return nil }
        var all: [KafkaTopicPartition] = []
        for case .assign(let partitions) in unanswered { all += partitions }
        unanswered.removeAll(where: \.isAssign)
        return all
    }

    private func takeUnansweredRevoke() -> [KafkaTopicPartition]? {
        for (index, rebalance) in unanswered.enumerated() {
            guard case .revoke(let partitions) = rebalance else { continue }
            unanswered.remove(at: index)
            return partitions
        }
        return nil
    }
}
