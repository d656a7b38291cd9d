import NIOCore
import PipelineCore
import RedisClient

/// Second stage: what Redis knows of each token, asked for in few commands while the batch before is encoded.
extension WorkerShard {
    /// Asks for the token state of every batch that needs it.
    func requestTokenState() {
        for batch in prepared {
            guard case .needed = batch.lookup else { continue }
            guard let redis else {
                batch.lookup = .known
                continue
            }
            ask(redis, for: batch)
        }
    }

    private func ask(_ redis: any RedisPipeline, for batch: PreparedBatch) {
        let total = batch.notifications.count
        let commands = (total + settings.batchRecords - 1) / settings.batchRecords
        batch.lookup = .asked(pendingReplies: commands)
        batch.lookupFailed = false
        batch.deaths = [:]
        for start in stride(from: 0, to: total, by: settings.batchRecords) {
            let range = start..<min(total, start + settings.batchRecords)
            redis.send { writer in
                writer.command("MGET", argumentCount: range.count)
                for index in range {
                    let notification = batch.notifications[index]
                    let key = senders.senders[Int(notification.sender)].tokenKey
                    writer.argument(byteCount: key.count(tokenBytes: notification.token.count)) { room in
                        key.write(token: notification.token, checksum: notification.checksum, into: room)
                    }
                }
            } _: { [weak self] result in
                self?.tokenStateArrived(result, of: batch, range: range)
            }
        }
    }

    /// A look-up shows that a token registered and has no tombstone since: if the gateway refused it before that, it is sent
    /// to again.
    private func tokenLives(_ notification: PreparedNotification, _ value: UnsafeRawBufferPointer) {
        let sender = senders.senders[Int(notification.sender)]
        guard !sender.refusedTokens.isEmpty, let registeredAt = TokenRecord.registeredAt(value) else { return }
        sender.refusedTokens.registered(notification.token, checksum: notification.checksum, at: registeredAt)
    }

    private func tokenStateArrived(
        _ result: Result<RedisReply, RedisError>,
        of batch: PreparedBatch,
        range: Range<Int>
    ) {
        guard case .asked(let pending) = batch.lookup else { return }
        switch result {
        case .success(let reply) where reply.count == range.count:
            for position in 0..<range.count {
                let value = reply[position]
                guard !value.isNull else { continue }
                if let reason = TokenRecord.reasonOfDeath(value.bytes) {
                    batch.deaths[range.lowerBound + position] = reason
                } else {
                    tokenLives(batch.notifications[range.lowerBound + position], value.bytes)
                }
            }
        case .success, .failure:
            // Reading changes nothing, so it can simply be asked again; until then the batch waits, and with it its
            // partitions.
            batch.lookupFailed = true
            logger.warning("token state could not be read", metadata: ["result": "\(result)"])
        }
        guard pending == 1 else {
            batch.lookup = .asked(pendingReplies: pending - 1)
            return
        }
        batch.lookup = batch.lookupFailed ? .needed : .known
        // Behind the reply's other completions, so that one turn serves them all.
        eventLoop.assumeIsolated().execute { [weak self] in self?.turn() }
    }
}
