import KafkaClient
import NIOCore
import PipelineCore

/// Partitions on their way out: nothing new of them is sent; they are given back when what was in flight has settled.
struct Revocation {
    var partitions: [PartitionState]
    /// What must be settled, per lane.
    var barriers: [(lane: GatewayLane, end: UInt64)]
    var deadline: MonotonicTime
}

/// Partitions come and go.
extension WorkerShard {
    // MARK: Coming

    /// The group assigned partitions; they start where their last commit says.
    func assign(_ partitions: [KafkaTopicPartition]) {
        // What came before it and was not answered is answered with it.
        awaitingPositions += partitions.filter { !awaitingPositions.contains($0) }
        refused.keep(awaitingPositions)
        hasJoined = false
        // A shard may get none, and after it gave some back in a cooperative group it always hears so; the group waits for
        // the answer to that, too.
        if awaitingPositions.isEmpty { complete([]) } else { requestPositions() }
    }

    /// Reads the committed positions of newly assigned partitions; tried again if the broker does not answer.
    func requestPositions() {
        guard !awaitingPositions.isEmpty else { return }
        let starts: [AssignmentStart]
        do throws(KafkaError) {
            starts = try assignmentStarts(of: awaitingPositions)
        } catch {
            logger.warning("committed positions could not be read; trying again", metadata: ["error": "\(error)"])
            return
        }
        awaitingPositions = []
        for start in starts { begin(start) }
        complete(starts)
    }

    private func complete(_ starts: [AssignmentStart]) {
        do throws(KafkaError) {
            try consumer.completeAssign(starts.map(\.source.startPosition))
            hasJoined = true
            logger.info("partitions assigned", metadata: ["partitions": "\(starts.map(\.source.partition).sorted())"])
        } catch {
            logger.error("partitions could not be assigned", metadata: ["error": "\(error)"])
        }
    }

    private func begin(_ start: AssignmentStart) {
        let position = start.source
        var done = DoneRanges()
        if position.offset >= 0 {
            do throws(DoneRanges.DecodingError) {
                done = try DoneRanges(decoding: position.metadata, committedOffset: position.offset)
            } catch {
                logger.warning(
                    "commit metadata is not ours; what it may cover is sent again",
                    metadata: ["partition": "\(position.partition)", "error": "\(error)"]
                )
            }
        }
        // Still there only if a rebalance failed in between: what it left must not be sent beside what is fetched anew.
        if let former = assigned[position.partition] { for state in former.withLags { forget(state) } }
        let state = PartitionState(
            topic: position.topic,
            partition: position.partition,
            assignment: UInt32(partitions.count),
            startOffset: position.offset,
            alreadyDone: done,
            writer: String(UInt32(truncatingIfNeeded: settings.randomBits()), radix: 36)
        )
        if start.isRefused {
            state.startToCommit = .init(position)
            if start.parked.offset >= 0 { state.parking.startToCommit = .init(start.parked) }
        }
        partitions.append(state)
        assigned[position.partition] = state
        inherit(start, by: state)
    }

    // MARK: Going

    /// The group takes partitions back. Lost ones belong to another already: nothing of them is committed.
    func revoke(_ places: [KafkaTopicPartition], lost: Bool) {
        awaitingPositions.removeAll { places.contains($0) }
        if lost {
            hasJoined = false
            refused.forgetAll()
        }
        let leaving = places.compactMap { assigned[$0.partition] }
        logger.info(
            lost ? "partitions lost" : "partitions revoked",
            metadata: ["partitions": "\(places.map(\.partition).sorted())"]
        )
        startRevocation(of: leaving, within: lost ? .zero : settings.revokeDeadline)
        if lost {
            for partition in leaving.flatMap(\.withLags) { forget(partition) }
            finishRevocation(commit: false)
        } else {
            finishRevocationIfSettled(now: now)
        }
    }

    /// Everything goes: the worker stops.
    func beginDrain() {
        startRevocation(of: Array(assigned.values), within: settings.stopTimeout)
        // What is in flight is proven by sentinels: faster than silence, and confirmed instead of presumed.
        for lane in lanes { lane.finish(now: now) }
        finishRevocationIfSettled(now: now)
    }

    private func startRevocation(of sources: [PartitionState], within limit: Duration) {
        for partition in sources { dropCopies(of: partition) }
        let leaving = sources.flatMap(\.withLags)
        for partition in leaving {
            partition.phase = .revoking
            coalescing.forget(assignment: partition.assignment)
        }
        for lane in lanes {
            for partition in leaving { lane.machine.stopSending(assignment: partition.assignment) }
        }
        // A rebalance inside a drain adds nothing: everything is leaving already.
        revocation = Revocation(
            partitions: leaving + (revocation?.partitions ?? []),
            barriers: lanes.map { ($0, $0.machine.sentEnd) },
            deadline: min(revocation?.deadline ?? MonotonicTime(nanoseconds: .max), now + limit)
        )
    }

    /// Gives the partitions back once what was in flight has settled and what was published is acknowledged.
    func finishRevocationIfSettled(now: MonotonicTime) {
        guard let revocation else { return }
        let isSettled =
            revocation.partitions.allSatisfy { $0.unacknowledged == 0 }
            && revocation.barriers.allSatisfy { $0.lane.machine.settledEnd >= $0.end || $0.lane.machine.hasGivenUp }
        guard isSettled || revocation.deadline <= now else { return }
        if !isSettled {
            logger.warning(
                "deadline reached with notifications in flight; who takes over sends them again",
                metadata: ["in-flight": .stringConvertible(inFlightCount)]
            )
        }
        finishRevocation(commit: true)
    }

    private func finishRevocation(commit: Bool) {
        guard let revocation else { return }
        self.revocation = nil
        if commit { refused.note(commitNow(revocation.partitions)) }
        for partition in revocation.partitions { forget(partition) }
        dropStaleBatches()
        if case .draining = state { return finishDrain() }
        do throws(KafkaError) {
            try consumer.completeRevoke()
        } catch {
            logger.error("partitions could not be given back", metadata: ["error": "\(error)"])
        }
        turn()
    }

    private func forget(_ partition: PartitionState) {
        if assigned[partition.partition] === partition { assigned[partition.partition] = nil }
        if partition.lag == nil { endParking(of: partition) }
        partitions[Int(partition.assignment)] = nil
        partition.phase = .revoking
        coalescing.forget(assignment: partition.assignment)
        if lastSource?.assignment == partition.assignment { lastSource = nil }
        for lane in lanes { lane.machine.forget(assignment: partition.assignment) }
    }

    /// Batches of which nothing is assigned any more wait for no token state: while Redis is away they would pile up with
    /// every rebalance.
    private func dropStaleBatches() {
        prepared.removeAll { batch in
            batch.notifications.allSatisfy { partitions[Int($0.reference.assignment)] == nil }
                && batch.returning.allSatisfy { partitions[Int($0.assignment)] !== $0 }
        }
    }

    private var lanes: [GatewayLane] {
        senders.senders.flatMap(\.lanes)
    }

    // MARK: Errors of the consumer

    /// An error that stands in place of a message.
    func report(_ error: KafkaError, of message: KafkaMessageView) {
        if error.isPartitionEnd { return }
        if error.isOffsetOutOfRange { return noteOffsetOutOfRange(message.partition) }
        logger.error(
            "consuming failed",
            metadata: ["partition": "\(message.partition)", "offset": "\(message.offset)", "error": "\(error)"]
        )
    }
}

extension CommitFrontier.Position {
    fileprivate init(_ position: KafkaPartitionOffset) {
        self.init(offset: position.offset, metadata: position.metadata)
    }
}
