import Foundation
import KafkaClient
import PipelineCore
import PushSchemas

/// Fifth stage: outcomes and dead letters, each acknowledged by the broker before the notification counts as done.
extension WorkerShard {
    /// A whole record is at fault: one dead letter, then the outcome of each of its tokens.
    func reject(_ record: UInt32, of partition: PartitionState, tokens: UInt32, reason: String, detail: String) {
        // Done before this assignment: it has had its dead letter.
        guard (0..<tokens).contains(where: { !partition.frontier.isDone(record, token: $0) }) else { return }
        // The outcomes come after the dead letter's acknowledgement; the record must not be done before that.
        partition.frontier.hold(record)
        publish(
            Publication(
                reference: .init(assignment: partition.assignment, record: record, token: 0),
                content: .deadRecord(reason: reason, detail: detail, tokens: tokens)
            )
        )
    }

    /// One token is at fault: one dead letter that names it, then its outcome.
    func rejectToken(_ reference: NotificationReference, status: UInt8, reason: String, detail: String) {
        publish(
            Publication(reference: reference, content: .deadToken(status: status, reason: reason, detail: detail))
        )
    }

    func publish(_ publication: Publication) {
        partitions[Int(publication.reference.assignment)]?.unacknowledged += 1
        let number = publications.insert(publication)
        hand(over: number)
    }

    /// Tries again what could not be handed over or was not delivered.
    func retryPublications() {
        for number in publications.takeWaiting() { hand(over: number) }
    }

    /// The broker's word on a publication.
    ///
    /// - Parameter offset: where it was stored; negative if that is not known.
    func delivered(_ number: UInt64, offset: Int64, error: KafkaError?) {
        if TombstonePublisher.isOwn(number) { return tombstones.delivered(number, error: error) }
        if let publication = publications[number], case .parkedCopy = publication.content {
            return copyDelivered(number, publication, offset: offset, error: error)
        }
        if let error {
            failed(number, error)
            return
        }
        guard let publication = publications.remove(number),
            let partition = partitions[Int(publication.reference.assignment)]
        else { return }
        let reference = publication.reference
        partition.unacknowledged -= 1
        switch publication.content {
        case .outcome:
            partition.frontier.markDone(reference.record, token: reference.token)
        case .deadToken(let status, let reason, _):
            counters.deadLetters += 1
            settle(reference, .deadLettered, status: status, reason: reason)
        case .deadRecord(let reason, _, let tokens):
            counters.deadLetters += 1
            for token in 0..<tokens {
                let each = NotificationReference(
                    assignment: reference.assignment,
                    record: reference.record,
                    token: token
                )
                if !partition.frontier.isDone(each.record, token: token) {
                    settle(each, .deadLettered, reason: reason)
                }
            }
            partition.frontier.release(reference.record)
        case .parkedCopy:
            preconditionFailure("a copy has its own way")
        }
    }

    private func hand(over number: UInt64) {
        guard let publication = publications[number] else { return }
        guard let source = source(of: publication.reference) else {
            // Its partition is gone; who has it now comes to its own outcome.
            _ = publications.remove(number)
            return
        }
        do throws(KafkaError) {
            switch publication.content {
            case .outcome(let kind, let status, let reason):
                try publishOutcome(
                    kind,
                    status: status,
                    reason: reason,
                    of: publication.reference,
                    source,
                    number,
                    isCut: publication.isCut
                )
            case .deadRecord(let reason, let detail, _):
                let letter = deadLetter(source, reason, detail, tokenIndex: nil, isCut: publication.isCut)
                try letter.publish(source.message, to: settings.names.deadLetters, through: producer, opaque: number)
            case .deadToken(_, let reason, let detail):
                let token = publication.reference.token
                let letter = deadLetter(source, reason, detail, tokenIndex: token, isCut: publication.isCut)
                try letter.publish(source.message, to: settings.names.deadLetters, through: producer, opaque: number)
            case .parkedCopy:
                preconditionFailure("a copy goes through its partition's queue")
            }
        } catch {
            failed(number, error)
        }
    }

    private func failed(_ number: UInt64, _ error: KafkaError) {
        if error.isMessageTooLarge, publications[number]?.isCut == false {
            publications[number]?.isCut = true
            return hand(over: number)
        }
        if !error.isQueueFull {
            logger.error("publication was not delivered; it is tried again", metadata: ["error": "\(error)"])
        }
        publications.postpone(number)
    }

    private func deadLetter(
        _ origin: SourceRequest,
        _ reason: String,
        _ detail: String,
        tokenIndex: UInt32?,
        isCut: Bool
    ) -> DeadLetter {
        DeadLetter(
            source: settings.names.requests,
            offset: origin.offset,
            reason: reason,
            detail: detail,
            tokenIndex: tokenIndex,
            cutBytes: isCut ? ShardLimits.cutBytes : nil
        )
    }

    private func publishOutcome(
        _ kind: OutcomeKind,
        status: UInt8,
        reason: String,
        of reference: NotificationReference,
        _ source: SourceRequest,
        _ number: UInt64,
        isCut: Bool
    ) throws(KafkaError) {
        var outcome = PushOutcome()
        outcome.sourceTopic = settings.names.requests
        outcome.sourcePartition = source.message.partition
        outcome.sourceOffset = source.offset
        outcome.tokenIndex = reference.token
        outcome.bundleID = source.bundleID
        outcome.environment = source.environment(configured: settings.environmentNames)
        outcome.token = source.token(at: reference.token).map { Data($0) } ?? Data()
        outcome.kind = kind.message
        outcome.status = UInt32(status)
        outcome.reason = reason
        // What the producer of the request may make as long as it likes is left out when it was too long for the broker.
        outcome.requestID = isCut ? "" : source.requestID
        outcome.decidedAtMs = settings.unixMilliseconds()
        outcome.withoutTokenState =
            partitions[Int(reference.assignment)]?.sentWithoutState.contains(reference.record) ?? false
        // Encoding fails for messages beyond 2 GiB only; this one is a few hundred bytes.
        let value: [UInt8] = (try? outcome.serializedBytes()) ?? []
        try producer.produce(
            topic: settings.names.outcomes,
            partition: nil,
            key: Array(source.bundleID.utf8),
            value: value,
            headers: isCut ? [] : source.traceHeaders,
            opaque: number
        )
    }

    /// Outcomes of one record follow each other, so the last one decoded is mostly the one asked for.
    private func source(of reference: NotificationReference) -> SourceRequest? {
        if let last = lastSource, last.assignment == reference.assignment, last.record == reference.record {
            return last
        }
        guard let (batch, index) = partitions[Int(reference.assignment)]?.source(of: reference.record) else {
            return nil
        }
        let source = SourceRequest(
            assignment: reference.assignment,
            record: reference.record,
            batch: batch,
            index: index,
            isParked: partitions[Int(reference.assignment)]?.lag != nil
        )
        lastSource = source
        return source
    }
}
