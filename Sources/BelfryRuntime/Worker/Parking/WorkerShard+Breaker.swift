import Logging
import PipelineCore

/// Topics that do not work are parked, probed, and come back.
extension WorkerShard {
    /// Does what the state of each topic asks for.
    func tendTopics(now: MonotonicTime) {
        for sender in senders.senders { tend(sender, now: now) }
        for partition in activePartitions {
            produceCopies(of: partition)
            if partition.parking.places.hasLostEnd { _ = findEnd(of: partition) }
            releaseHeld(of: partition)
            finishLags(of: partition)
        }
    }

    private func tend(_ sender: TopicSender, now: MonotonicTime) {
        let isConnected = sender.lanes.contains { $0.machine.phase == .open }
        sender.breaker.noteWaiting(
            sender.lanes.contains { $0.machine.waitingCount > 0 },
            allowance: isConnected ? sender.lanes[0].machine.limits.confirmationWindow : .zero,
            now: now,
            random: settings.randomBits()
        )
        if sender.breaker.isOpen {
            sender.detours = true
            for lane in sender.lanes { lane.suspend() }
            sender.breaker.tick(isQuiet: isQuiet(sender) && handOver(sender), now: now)
            if sender.breaker.isHalfOpen { beginProbe(of: sender) }
        }
        if sender.breaker.holdsRefusals, hasNothingToSend(sender) {
            sender.breaker.sampleExhausted(now: now, random: settings.randomBits())
        }
        if !sender.breaker.isOpen {
            for lane in sender.lanes { lane.machine.admit(sender.breaker.isClosed ? .all : .one) }
        }
        if sender.breaker.isClosed, !sender.suspects.isEmpty {
            let suspects = sender.suspects
            sender.suspects = []
            believe(suspects, of: sender)
        }
        noteChange(of: sender)
    }

    private func beginProbe(of sender: TopicSender) {
        for partition in activePartitions { partition.parking.handsOver.remove(sender.index) }
        // The sample is judged on its own; after it the guard begins anew.
        sender.tokenGuard = settings.tokenGuard
    }

    /// Nothing of the topic is with a gateway, and nothing about what returned is with the broker.
    private func isQuiet(_ sender: TopicSender) -> Bool {
        sender.lanes.allSatisfy { $0.machine.inFlightCount == 0 && $0.machine.phase != .open }
            && activePartitions.allSatisfy { ($0.parking.lags[sender.topicHash]?.unacknowledged ?? 0) == 0 }
    }

    private func hasNothingToSend(_ sender: TopicSender) -> Bool {
        prepared.isEmpty
            && sender.lanes.allSatisfy { $0.machine.inFlightCount == 0 && $0.machine.waitingCount == 0 }
            && activePartitions.allSatisfy { $0.parking.isCaughtUp(sender.topicHash) }
            && !coalescing.hasAny(ofTopic: sender.index)
    }

    private func noteChange(of sender: TopicSender) {
        guard sender.breaker.isClosed != sender.wasClosed else { return }
        sender.wasClosed = sender.breaker.isClosed
        findDetours(of: sender)
        let metadata: Logger.Metadata = [
            "topic": .string(sender.bundleID),
            "environment": .string(sender.environment),
            "reason": .string(sender.breaker.reason?.name ?? ""),
        ]
        if sender.wasClosed {
            logger.notice("the topic works again; what was parked returns", metadata: metadata)
        } else {
            logger.critical("the topic does not work; it is parked and probed", metadata: metadata)
        }
    }

    /// Source partitions that notifications are taken of, in order.
    var activePartitions: [PartitionState] {
        assigned.values.filter { $0.phase == .active }.sorted { $0.partition < $1.partition }
    }
}

extension GatewayLane {
    /// The topic does not work: the connection comes to its end, and none takes its place.
    fileprivate func suspend() {
        machine.admit(.none)
        machine.retire()
        dropSuccessor()
    }
}

extension TopicBreaker.Reason {
    /// For the log.
    fileprivate var name: String {
        switch self {
        case .certificateRefused: "certificate-refused"
        case .topicRefused: "topic-refused"
        case .tokensDoubted: "tokens-doubted"
        case .unreachable: "unreachable"
        }
    }
}
