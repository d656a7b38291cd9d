import BelfrySupport
import KafkaClient
import Logging
import NIOCore
import PushSchemas
import PushTopics
import RedisClient
import TokenState

/// Applies the records of a topic to the token state in Redis, one batch after the other.
///
/// A batch's offsets are committed when every change in it was acknowledged by Redis, and what readers of
/// push.tombstones need to know of it, and every dead letter, by the broker. Changes are idempotent and their order
/// does not matter, so that a batch may be applied again after a crash. Runs on `eventLoop`.
final class RecordApplier {
    /// Decodes a record into changes; throws if it cannot be used.
    typealias Decode = (KafkaMessageView) throws(RecordRefusal) -> [TokenChange]

    /// Since its start.
    struct Counters: Equatable, Sendable {
        var applied = 0
        var deadLetters = 0
        /// Records that could not be used, by reason; what is consumed again counts again.
        var refused: [String: Int] = [:]
        /// Records of push.tombstones.
        var tombstones = 0
    }

    private(set) var counters = Counters()

    let eventLoop: any EventLoop
    let consumer: KafkaConsumer
    private let producer: KafkaProducer
    let redis: any RedisPipeline
    /// Nil: nothing is applied again after a fail-over.
    private let replay: RecordReplay?
    private let tokens: TokenTable
    let tombstones: TombstonePublisher
    private let logger: Logger
    private let source: String
    private let deadLetters: String
    private let batchLimit: Int
    private let publishes: Bool
    private let decode: Decode

    private var current: Batch?
    /// Changes that are made once more in a second.
    private var failed: [TokenChange] = []
    private var isRevoking = false
    private var revocations = 0
    private var revoking: [KafkaTopicPartition] = []
    private var stopped: EventLoopPromise<Void>?
    private var isStopped = false
    private var ticking: RepeatingTimer?
    private var awaitingPositions: [KafkaTopicPartition] = []
    /// By partition, the first offset that has not been applied; ``KafkaOffset/beginning``: none has.
    private(set) var nextOffsets: [Int32: Int64] = [:]

    /// Longest wait of a revocation, or a stop, for the batch in hand. Changes are idempotent, so all that giving up
    /// costs is that who takes over applies them again.
    private let patience: TimeAmount

    /// The batch being applied.
    private struct Batch {
        var records: KafkaBatch
        /// Changes and dead letters without an acknowledgement.
        var pending: Int
        var ends: [Int32: Int64]
        /// Why messages cannot be used, by index.
        var refusals: [Int: RecordRefusal]
        /// Messages of dead letters to hand over again, by index.
        var waiting: [Int] = []
        /// Those whose dead letters the broker refused for their size.
        var tooLarge: Set<Int> = []
        /// Its partitions were given back meanwhile: their next owner commits.
        var isForeign = false
    }

    /// - Parameter publishes: whether readers of push.tombstones are to hear of changes; not of those that stand there
    ///   already.
    init(
        eventLoop: any EventLoop,
        clients: RoleClients,
        source: String,
        names: TopicNames,
        batchLimit: Int,
        logger: Logger,
        patience: TimeAmount = .seconds(10),
        replay: RecordReplay? = nil,
        publishes: Bool = true,
        decode: @escaping Decode
    ) {
        self.eventLoop = eventLoop
        consumer = clients.consumer
        producer = clients.producer
        redis = clients.redis
        self.replay = replay
        self.source = source
        deadLetters = names.deadLetters
        tokens = TokenTable(clients.redis)
        tombstones = TombstonePublisher(producer: clients.producer, topic: names.tombstones, logger: logger)
        self.batchLimit = batchLimit
        self.logger = logger
        self.patience = patience
        self.publishes = publishes
        self.decode = decode
    }

    func start() {
        eventLoop.preconditionInEventLoop()
        replay?.start { [unowned self] in
            requestPositions()
            turn()
        }
        ticking = eventLoop.repeating(after: .milliseconds(100), every: .milliseconds(500)) { [unowned self] in
            requestPositions()
            retryDeadLetters()
            tombstones.retry()
            turn()
        }
    }

    /// Finishes the batch in hand, commits it, leaves the group.
    func stop() -> EventLoopFuture<Void> {
        eventLoop.preconditionInEventLoop()
        if let stopped { return stopped.futureResult }
        let promise = eventLoop.makePromise(of: Void.self)
        stopped = promise
        if current == nil {
            finishStop()
        } else {
            eventLoop.assumeIsolated().scheduleTask(in: patience) { [weak self] in self?.finishStop() }
        }
        return promise.futureResult
    }

    /// Takes the next batch if there is none in hand.
    func turn() {
        producer.poll()
        guard current == nil, stopped == nil, !isRevoking else { return }
        replay?.beginAgain(in: consumer)
        if let records = consumer.consumeBatch(max: batchLimit) { take(records) }
    }

    // MARK: Group

    func assign(_ partitions: [KafkaTopicPartition]) {
        awaitingPositions = partitions
        requestPositions()
    }

    private func requestPositions() {
        guard !awaitingPositions.isEmpty, replay?.isReady ?? true else { return }
        do throws(KafkaError) {
            let positions = try consumer.committed(awaitingPositions, timeoutMilliseconds: 5_000)
            let starts = try replay?.starts(positions, in: consumer) ?? positions.map(\.startPosition)
            awaitingPositions = []
            for start in starts { nextOffsets[start.partition] = start.offset }
            try consumer.completeAssign(starts)
        } catch {
            logger.warning("partitions could not be assigned", metadata: ["error": "\(error)"])
        }
    }

    func revoke(_ partitions: [KafkaTopicPartition], lost: Bool) {
        awaitingPositions.removeAll { partitions.contains($0) }
        revoking += partitions
        isRevoking = true
        revocations += 1
        guard current != nil, !lost else {
            current?.isForeign = true
            return finishRevocation()
        }
        let number = revocations
        eventLoop.assumeIsolated().scheduleTask(in: patience) { [weak self] in self?.giveUp(revocation: number) }
    }

    private func giveUp(revocation number: Int) {
        guard isRevoking, revocations == number, !isStopped else { return }
        logger.warning("partitions are given back with a batch in hand; who takes over applies it again")
        current?.isForeign = true
        finishRevocation()
    }

    private func finishRevocation() {
        isRevoking = false
        replay?.end(revoking)
        revoking = []
        do throws(KafkaError) {
            try consumer.completeRevoke()
        } catch {
            logger.error("partitions could not be given back", metadata: ["error": "\(error)"])
        }
    }

    // MARK: Applying

    private func take(_ records: KafkaBatch) {
        var ends: [Int32: Int64] = [:]
        var changes: [TokenChange] = []
        var refusals: [Int: RecordRefusal] = [:]
        for index in 0..<records.count {
            let message = records[index]
            if let error = message.error {
                if !error.isPartitionEnd { logger.error("consuming failed", metadata: ["error": "\(error)"]) }
                continue
            }
            ends[message.partition] = message.offset + 1
            do throws(RecordRefusal) {
                changes += try decode(message)
            } catch {
                refusals[index] = error
                counters.refused[error.reason, default: 0] += 1
            }
        }
        guard !ends.isEmpty else { return }
        let refused = refusals.keys.sorted()
        if let first = refused.first.flatMap({ refusals[$0] }) {
            logger.warning(
                "records that cannot be used are dead letters",
                metadata: ["count": "\(refusals.count)", "first": "\(first.reason): \(first.detail)"]
            )
        }
        replay?.applying(records)
        current = Batch(records: records, pending: changes.count + refusals.count, ends: ends, refusals: refusals)
        for change in changes { apply(change) }
        for index in refused { publishDeadLetter(at: index) }
        // It may ask for nothing.
        finishIfDone()
    }

    private func apply(_ change: TokenChange) {
        tokens.make(change) { [weak self] result in
            guard let self, !isStopped else { return }
            switch result {
            case .success(let facts):
                counters.applied += 1
                guard publishes else { return finishOne() }
                tombstones.publish(change, facts) { [weak self] in self?.finishOne() }
            case .failure(let error):
                if failed.isEmpty {
                    eventLoop.assumeIsolated().scheduleTask(in: .seconds(1)) { [weak self] in self?.retryFailed(error) }
                }
                failed.append(change)
            }
        }
    }

    /// - Parameter first: why the first of them failed.
    private func retryFailed(_ first: RedisError) {
        guard !isStopped else { return }
        let again = failed
        failed = []
        logger.warning(
            "token state could not be changed; trying again",
            metadata: ["count": "\(again.count)", "first": "\(first)"]
        )
        for change in again { apply(change) }
    }

    private func finishOne() {
        current?.pending -= 1
        finishIfDone()
    }

    private func finishIfDone() {
        guard let batch = current, batch.pending == 0 else { return }
        current = nil
        if !batch.isForeign {
            nextOffsets.merge(batch.ends) { $1 }
            commit(batch.ends)
        }
        if stopped != nil { return finishStop() }
        if isRevoking { finishRevocation() }
        eventLoop.assumeIsolated().execute { [weak self] in self?.turn() }
    }

    private func commit(_ ends: [Int32: Int64]) {
        let offsets = ends.map {
            KafkaPartitionOffset(
                topic: source,
                partition: $0.key,
                offset: $0.value,
                metadata: replay?.metadata($0.key, offset: $0.value) ?? ""
            )
        }
        do throws(KafkaError) {
            // Before partitions are given back the commit must have arrived; otherwise it may overtake the next batch.
            if isRevoking || stopped != nil {
                try consumer.commitSynchronously(offsets, timeoutMilliseconds: 5_000)
            } else {
                try consumer.commit(offsets)
            }
        } catch {
            // Applied again by who takes over: the changes are idempotent.
            logger.warning("commit failed", metadata: ["error": "\(error)"])
        }
    }

    // MARK: Dead letters

    private func publishDeadLetter(at index: Int) {
        guard let batch = current, let refusal = batch.refusals[index] else { return }
        let message = batch.records[index]
        do throws(KafkaError) {
            let isCut = batch.tooLarge.contains(index)
            try DeadLetter(
                source: source,
                offset: message.offset,
                reason: refusal.reason,
                detail: refusal.detail,
                tokens: nil,
                cutBytes: isCut ? KafkaLimits.cutBytes : nil
            ).publish(message, to: deadLetters, through: producer, opaque: UInt64(index))
        } catch {
            failed(index, error)
        }
    }

    private func failed(_ index: Int, _ error: KafkaError) {
        if error.isMessageTooLarge, current?.tooLarge.insert(index).inserted == true {
            return publishDeadLetter(at: index)
        }
        current?.waiting.append(index)
    }

    /// The broker's word on a dead letter, or on a tombstone.
    func delivered(_ opaque: UInt64, error: KafkaError?) {
        if TombstonePublisher.isOwn(opaque) {
            if error == nil { counters.tombstones += 1 }
            return tombstones.delivered(opaque, error: error)
        }
        if let error {
            logger.error("dead letter was not delivered; it is tried again", metadata: ["error": "\(error)"])
            return failed(Int(opaque), error)
        }
        counters.deadLetters += 1
        finishOne()
    }

    private func retryDeadLetters() {
        guard let waiting = current?.waiting, !waiting.isEmpty else { return }
        current?.waiting = []
        for index in waiting { publishDeadLetter(at: index) }
    }

    private func finishStop() {
        guard !isStopped else { return }
        isStopped = true
        ticking?.cancel()
        consumer.close()
        producer.close()
        replay?.close()
        redis.close()
        stopped?.succeed()
    }
}
