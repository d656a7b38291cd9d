import APNsProtocol
import KafkaClient
import PipelineCore
import PushSchemas

/// First stage: records become validated notifications, or dead letters with coordinates. Bad input disturbs nothing else.
extension WorkerShard {
    /// What a consumed batch still holds when as many notifications were prepared as may be at once.
    struct Rest {
        var batch: KafkaBatch
        var next: Int
        /// The partitions as they were assigned when the batch was consumed: what is assigned anew is fetched anew.
        var partitions: [Int32: PartitionState]
    }

    /// A message that is a parked copy.
    struct Returning {
        var copy: ParkedCopy
        /// Its writer had the partition then.
        var counts: Bool

        /// Whether it brings one of the source's notifications back.
        func isToDo(_ token: UInt32) -> Bool { counts && copy.tokens?.contains(token) ?? true }
    }

    /// Takes the next messages, those left over first; nil if there are none.
    func nextMessages() -> Rest? {
        if let rest {
            self.rest = nil
            return rest
        }
        return consumer.consumeBatch(max: settings.batchRecords, timeoutMilliseconds: 0)
            .map { Rest(batch: $0, next: 0, partitions: assigned) }
    }

    /// Decodes and validates messages and queues them for their token state; keeps the rest when it is enough.
    func takeIn(_ messages: Rest) {
        let batch = messages.batch
        let prepared = makeBatch(batch)
        let unixSeconds = settings.unixMilliseconds() / 1000
        let now = now
        var index = messages.next
        // Messages of one partition mostly follow each other.
        var last: PartitionState?
        while index < batch.count, prepared.notifications.count < ShardLimits.notificationsPerBatch {
            defer { index += 1 }
            let message = batch[index]
            if message.isError {
                if let error = message.error { report(error, of: message) }
                continue
            }
            if last?.partition != message.partition { last = messages.partitions[message.partition] }
            guard let partition = last, partition.phase == .active else { continue }
            // After a seek or a pause librdkafka may deliver once more what was taken in already.
            if let next = partition.frontier.nextOffset, message.offset < next { continue }
            take(message, at: index, of: partition, into: prepared, batch: batch, unixSeconds: unixSeconds, now: now)
        }
        if coalescing.isUsed { noteEnds(of: prepared) }
        if index < batch.count { rest = Rest(batch: batch, next: index, partitions: messages.partitions) }
        if !prepared.notifications.isEmpty { self.prepared.append(prepared) }
        updatePauses(isBlocked: false)
    }

    func makeBatch(_ source: KafkaBatch) -> PreparedBatch {
        batchesTakenIn += 1
        return PreparedBatch(source: source, number: batchesTakenIn)
    }

    /// Queues the notifications of one message.
    ///
    /// - Parameter returning: whose copy the message is, if it is one.
    func take(
        _ message: KafkaMessageView,
        at index: Int,
        of partition: PartitionState,
        into prepared: PreparedBatch,
        batch: KafkaBatch,
        unixSeconds: Int64,
        now: MonotonicTime,
        returning: Returning? = nil
    ) {
        if returning == nil { counters.records += 1 }
        let request: SendRequestView
        do throws(RecordRefusal) {
            request = try decode(message)
        } catch {
            counters.undecodable += 1
            let record = enter(message, at: index, tokens: 1, of: partition, batch: batch, now: now)
            return reject(record, of: partition, tokens: 1, reason: error.reason, detail: error.detail)
        }
        let record = enter(message, at: index, tokens: request.tokenCount, of: partition, batch: batch, now: now)
        if let returning { leaveOut(record, tokens: request.tokenCount, of: partition, where: returning.isToDo) }
        let found: SenderDirectory.Found
        let payload: (offset: Int, bytes: Int)
        do throws(RecordRefusal) {
            found = try senders.find(key: message.key, environment: request.environment) { index, name, bundle in
                makeSender(index: index, environment: name, bundleID: bundle)
            }
            payload = try strip(request.payload, for: found.sender, into: prepared.payloads)
        } catch {
            return reject(
                record,
                of: partition,
                tokens: UInt32(request.tokenCount),
                reason: error.reason,
                detail: error.detail
            )
        }
        prepared.keep(request)
        var requestKey: SipHash?
        if settings.dedupeWindow > .zero, !request.requestID.isEmpty {
            let key = RequestFingerprint.key(requestID: request.requestID)
            partition.requestKeys.append(key, for: record)
            requestKey = key
        }
        let coalescing = coalescingKey(of: request, message, returning?.copy)
        let isExpired = request.expiration != 0 && Int64(request.expiration) < unixSeconds
        for token in 0..<request.tokenCount {
            let reference = NotificationReference(
                assignment: partition.assignment,
                record: record,
                token: UInt32(truncatingIfNeeded: token)
            )
            if !partition.alreadyDone.isEmpty || returning != nil,
                partition.frontier.isDone(record, token: reference.token)
            {
                continue
            }
            let view = request.token(at: token)
            let checksum = CRC32.checksum(view.bytes)
            if let fault = fault(of: view, checksum: checksum, under: found) {
                rejectToken(reference, status: 0, reason: fault.reason, detail: fault.detail)
                continue
            }
            if isExpired {
                settle(reference, .expired)
                continue
            }
            let notification = PreparedNotification(
                reference: reference,
                token: view.bytes,
                checksum: checksum,
                sender: found.sender.index,
                payloadOffset: payload.offset,
                payloadBytes: UInt16(truncatingIfNeeded: payload.bytes),
                priority: NotificationPriority(rawValue: request.priority) ?? .immediate,
                expiration: request.expiration
            )
            if settings.dedupeWindow > .zero {
                prepared.append(
                    notification,
                    requestKey.map { RequestFingerprint(token: view.bytes, key: $0) }
                )
            } else {
                prepared.append(notification)
            }
            if var coalescing {
                coalescing.stamp.token = reference.token
                prepared.coalescibles.append(
                    Coalescible(
                        index: prepared.notifications.count - 1,
                        fingerprint: RequestFingerprint(token: view.bytes, key: coalescing.key),
                        stamp: coalescing.stamp
                    )
                )
            }
        }
    }

    private func decode(_ message: KafkaMessageView) throws(RecordRefusal) -> SendRequestView {
        guard message.value.count <= ShardLimits.recordBytes else {
            throw RecordRefusal(
                reason: "value-too-large",
                detail: "the value has \(message.value.count) bytes; \(ShardLimits.recordBytes) are allowed"
            )
        }
        return try RecordRefusal.of { () throws(RecordError) in
            try SendRequestView(decoding: message.value, as: message.contentType)
        }
    }

    /// Puts a record behind the partition's frontier.
    private func enter(
        _ message: KafkaMessageView,
        at index: Int,
        tokens: Int,
        of partition: PartitionState,
        batch: KafkaBatch,
        now: MonotonicTime
    ) -> UInt32 {
        if partition.lag == nil { counters.notifications += tokens }
        let record = partition.frontier.append(
            offset: message.offset,
            tokens: tokens,
            alreadyDone: partition.alreadyDone
        )
        partition.keepSource(record: record, batch: batch, index: index, takenAt: now)
        partition.frontier.advance()
        return record
    }

    /// What a parked copy does not bring back counts as done in it.
    private func leaveOut(
        _ record: UInt32,
        tokens: Int,
        of lag: PartitionState,
        where isToDo: (_ token: UInt32) -> Bool
    ) {
        for token in 0..<UInt32(tokens) {
            if !isToDo(token) {
                lag.frontier.markDone(record, token: token)
            } else if !lag.frontier.isDone(record, token: token) {
                counters.returned += 1
            }
        }
    }

    /// The payload without insignificant white space, in the batch's arena.
    private func strip(
        _ payload: UnsafeRawBufferPointer,
        for sender: TopicSender,
        into arena: PayloadArena
    ) throws(RecordRefusal) -> (offset: Int, bytes: Int) {
        do throws(PayloadError) {
            let bytes = try PayloadScanner.scan(
                payload,
                limitBytes: sender.payloadLimitBytes,
                into: arena.reserve(payload.count)
            )
            return (arena.commit(bytes), bytes)
        } catch {
            throw RecordRefusal(reason: "payload-invalid", detail: "\(error)")
        }
    }

    /// What is wrong with one token of a request whose other tokens are not concerned.
    private func fault(of token: TokenView, checksum: UInt32, under found: SenderDirectory.Found) -> RecordRefusal? {
        let sender = found.sender
        if let fault = token.fault {
            return RecordRefusal(reason: fault.rawValue, detail: "the token is empty or not hexadecimal")
        }
        guard sender.tokenBytes.contains(token.bytes.count) else {
            return RecordRefusal(
                reason: "token-length",
                detail: "a token of \(token.bytes.count) bytes; allowed: \(sender.tokenBytes)"
            )
        }
        guard let spread = sender.spread else { return nil }
        let expected = spread > 1 ? checksum % spread : nil
        guard found.shard == expected else {
            return RecordRefusal(
                reason: "token-outside-shard",
                detail: "the token belongs under the key's shard \(expected.map(String.init) ?? "(none)"), "
                    + "the bundle's spread being \(spread)"
            )
        }
        return nil
    }

    /// Stops partitions that have run too far ahead of their commit, and lets them go on at half of that.
    func updatePauses(isBlocked: Bool) {
        for partition in assigned.values where partition.phase == .active {
            let limit = partition.isPaused ? settings.maxUncommitted / 2 : settings.maxUncommitted
            let mustPause = isBlocked || partition.frontier.uncommitted > limit
            guard mustPause != partition.isPaused else { continue }
            let place = KafkaTopicPartition(topic: partition.topic, partition: partition.partition)
            do throws(KafkaError) {
                if mustPause { try consumer.pause([place]) } else { try consumer.resume([place]) }
                partition.isPaused = mustPause
            } catch {
                logger.error(
                    "partition could not be paused or resumed",
                    metadata: ["partition": "\(partition.partition)", "error": "\(error)"]
                )
            }
        }
    }
}
