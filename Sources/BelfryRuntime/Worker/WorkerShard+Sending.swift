import APNsProtocol
import PipelineCore

/// Third stage: notifications of living tokens become frames in the lanes of their tokens.
extension WorkerShard {
    /// Sends every batch whose token state is known, in the order they came.
    func sendPrepared() {
        var sent = 0
        while sent < prepared.count, case .known = prepared[sent].lookup {
            batchesPassed(upTo: prepared[sent].number - 1)
            send(prepared[sent])
            notePassed(prepared[sent])
            sent += 1
        }
        if sent > 0 { prepared.removeFirst(sent) }
        if prepared.isEmpty { batchesPassed(upTo: batchesTakenIn) }
    }

    private func send(_ batch: PreparedBatch) {
        var coalescibles = batch.coalescibles[...]
        for (index, notification) in batch.notifications.enumerated() {
            let coalescible = coalescibles.first?.index == index ? coalescibles.removeFirst() : nil
            // The partition may have gone, or be on its way, since the batch was taken in: who has it next sends it.
            guard let partition = partitions[Int(notification.reference.assignment)], partition.phase == .active else {
                continue
            }
            let fingerprint = batch.fingerprints.isEmpty ? nil : batch.fingerprints[index]
            if !batch.repetitions.isEmpty, batch.repetitions.contains(index) {
                settle(notification.reference, .duplicate)
                continue
            }
            if !batch.deaths.isEmpty, let reason = batch.deaths[index] {
                settle(notification.reference, .tombstoned, reason: reason.name)
                continue
            }
            let sender = senders.senders[Int(notification.sender)]
            if isRefused(notification, by: sender) { continue }
            // What returns was on its way before, under its place in the source, and is not for that a repetition.
            if let fingerprint, partition.lag == nil, !enter(fingerprint, notification.reference, batch: batch.number) {
                settle(notification.reference, .duplicate)
                continue
            }
            if batch.isWithoutState { partition.sentWithoutState.mark(notification.reference.record) }
            if let coalescible, waits(coalescible, in: batch, of: sender, partition) { continue }
            dispatch(notification, at: index, in: batch, of: sender, partition)
        }
        closeCopy()
        passed(batch)
    }

    /// Whether the gateway has called a token invalid a moment ago; its notification ends so.
    func isRefused(_ notification: PreparedNotification, by sender: TopicSender) -> Bool {
        guard !sender.refusedTokens.isEmpty,
            sender.refusedTokens.contains(notification.token, checksum: notification.checksum)
        else { return false }
        settle(notification.reference, .tombstoned, reason: TokenRecord.Reason.invalid.name)
        return true
    }

    /// Sends a notification on its way: into its lane, or where those of its topic go meanwhile.
    func dispatch(
        _ notification: PreparedNotification,
        at index: Int,
        in batch: PreparedBatch,
        of sender: TopicSender,
        _ partition: PartitionState
    ) {
        if sender.detours, detour(notification, at: index, in: batch, of: sender, partition) { return }
        append(notification, of: batch, to: sender)
    }

    /// Encodes a notification into its lane.
    func append(_ notification: PreparedNotification, of batch: PreparedBatch, to sender: TopicSender) {
        if !sender.suspects.isEmpty, sender.suspects(notification.token, checksum: notification.checksum) {
            return sender.suspects.append(
                .init(
                    reference: notification.reference,
                    token: Array(notification.token),
                    checksum: notification.checksum,
                    status: nil
                )
            )
        }
        sender.append(
            notification.reference,
            token: notification.token,
            checksum: notification.checksum,
            payload: batch.payloads[notification.payloadOffset, Int(notification.payloadBytes)],
            expiration: notification.expiration,
            priority: notification.priority
        )
        counters.sent += 1
        if batch.isWithoutState { counters.sentWithoutState += 1 }
    }

    /// What the batch brings back has come to the lanes; what was held for it follows.
    private func passed(_ batch: PreparedBatch) {
        for state in batch.returning where partitions[Int(state.assignment)] === state {
            guard let lag = state.lag else { continue }
            lag.owner.parking.places.batchPassed(lag.topic)
            releaseHeld(of: lag.owner)
        }
    }

    /// Whether a request is on its way to its token for the first time.
    private func enter(
        _ fingerprint: RequestFingerprint,
        _ reference: NotificationReference,
        batch: UInt64
    ) -> Bool {
        requestsUnderWay.enter(fingerprint, reference, batch: batch) { [partitions] other in
            partitions[Int(other.assignment)]?.frontier.isDone(other.record, token: other.token) ?? true
        }
    }

    /// Nothing taken in up to this batch waits for its look-up any more.
    private func batchesPassed(upTo number: UInt64) {
        // What waits to be coalesced was looked up with its batch.
        let number = min(number, coalescing.oldestBatch.map { $0 - 1 } ?? number)
        for sender in senders.senders where !sender.refusedTokens.isEmpty {
            sender.refusedTokens.passed(batch: number)
        }
    }

    /// Lets every lane that has something to send do so.
    func pumpLanes() {
        let now = now
        for sender in senders.senders {
            for lane in sender.lanes where lane.machine.waitingCount > 0 { lane.pump(now: now) }
        }
    }

    /// Makes the sender of a bundle in an environment; nil if there is no certificate for it.
    func makeSender(index: Int32, environment: String, bundleID: String) -> TopicSender? {
        guard let place = settings.environments[environment] else { return nil }
        // Those of probation come after the others, one for each.
        let connectors = (0..<2 * settings.connectionsPerTopic).compactMap {
            gateways.connector(environment: environment, bundleID: bundleID, lane: $0)
        }
        guard !connectors.isEmpty else { return nil }
        var logger = logger
        logger[metadataKey: "topic"] = .string(bundleID)
        logger[metadataKey: "environment"] = .string(environment)
        let topic = settings.topic(bundleID, in: place)
        let lanes = connectors.enumerated().map { number, connector in
            GatewayLane(
                sender: index,
                number: number,
                limits: topic.limits,
                connector: connector,
                random: settings.randomBits,
                logger: logger,
                delegate: self
            )
        }
        let sender = TopicSender(
            index: index,
            environment: environment,
            bundleID: bundleID,
            payloadLimitBytes: topic.settings.payloadLimitBytes,
            tokenBytes: 32...place.settings.tokenLimitBytes,
            spread: topic.settings.spread,
            coalescingWindow: topic.settings.coalescingWindow,
            tokenGuard: settings.tokenGuard,
            breaker: settings.breaker,
            deadTokens: filters?.filter(environment: environment, bundleID: bundleID),
            lanes: Array(lanes.prefix(settings.connectionsPerTopic)),
            probation: Array(lanes.dropFirst(settings.connectionsPerTopic))
        )
        sender.detours = mayLag(sender.topicHash)
        if activePartitions.contains(where: { $0.parking.lags[sender.topicHash] != nil }) { sender.breaker.inherit() }
        return sender
    }
}
