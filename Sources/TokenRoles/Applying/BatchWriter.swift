import KafkaClient
import Logging
import NIOCore
import PipelineCore
import PushSchemas
import PushTopics
import RedisClient
import TokenState

/// Writes batches into Redis, and their tombstones and dead letters to the broker, until both have succeeded.
///
/// ``BatchesInFlight`` decides when one may be taken, and when it ends. A change that Redis refuses for good turns its
/// record into a dead letter. Bound to the event loop of its ``RecordApplier``.
final class BatchWriter {
    /// Decodes a record into changes; throws if it cannot be used.
    typealias Decode = (KafkaMessageView) throws(RecordRefusal) -> [TokenChange]

    /// Called when everything of a batch, and of all before it, is acknowledged: with one past its last offsets, by
    /// partition.
    var onDone: ([Int32: Int64]) -> Void = { _ in }

    let tombstones: TombstonePublisher
    private(set) var counters = RecordApplier.Counters()
    private(set) var inFlight = BatchesInFlight()

    private let eventLoop: any EventLoop
    private let producer: any MessageProducer
    private let tokens: TokenTable
    private let source: String
    private let deadLetters: String
    private let publishes: Bool
    private let logger: Logger
    private let clock: () -> MonotonicTime
    private let decode: Decode
    private var letters = PublicationLine()
    private var logBudget: LineBudget
    private var batches: UInt32 = 0
    /// Changes that are made once more after a while.
    private var failed: [BatchInHand.Item] = []
    private var isClosed = false

    /// Time before changes that failed are made again.
    private static let retry = TimeAmount.seconds(1)

    init(
        eventLoop: any EventLoop,
        producer: any MessageProducer,
        tokens: TokenTable,
        source: String,
        names: TopicNames,
        publishes: Bool,
        logger: Logger,
        decode: @escaping Decode
    ) {
        self.eventLoop = eventLoop
        self.producer = producer
        self.source = source
        self.publishes = publishes
        self.logger = logger
        self.decode = decode
        deadLetters = names.deadLetters
        self.tokens = tokens
        let clock = { MonotonicTime(eventLoop.now) }
        self.clock = clock
        logBudget = LineBudget(burst: 10, perSecond: 1, now: clock())
        tombstones = TombstonePublisher(producer: producer, topic: names.tombstones, logger: logger, clock: clock)
    }

    /// Makes nothing any more.
    func close() { isClosed = true }

    // MARK: Batches

    /// Reads the records of a batch.
    ///
    /// - Parameters:
    ///   - wants: the record is to be applied.
    ///   - onError: called for each error in place of a message.
    /// - Returns: nil: nothing is to be applied.
    func read(
        _ records: KafkaBatch,
        wants: (KafkaMessageView) -> Bool,
        onError: (KafkaError, KafkaMessageView) -> Void
    ) -> BatchInHand? {
        batches &+= 1
        var batch = BatchInHand(number: batches, records: records)
        for index in 0..<records.count {
            let message = records[index]
            if let error = message.error {
                onError(error, message)
            } else if wants(message) {
                batch.takeRecord(index, changes(of: message))
            }
        }
        return batch.isEmpty ? nil : batch
    }

    private func changes(of message: KafkaMessageView) -> Result<[TokenChange], RecordRefusal> {
        do throws(RecordRefusal) {
            try message.checkHeaders()
            return .success(try decode(message))
        } catch {
            counters.refused[error.reason, default: 0] += 1
            return .failure(error)
        }
    }

    /// Begins to write a batch; there is room for it in flight.
    func write(_ batch: BatchInHand) {
        var batch = batch
        reportRefusals(of: batch)
        let items = batch.takeItems()
        inFlight.take(batch)
        for item in items { make(item) }
        for index in batch.refusals.keys.sorted() { publishDeadLetter(at: index, of: batch.number) }
        // It may ask for nothing.
        endFinished()
    }

    /// Drops records of `partitions`. Their next owner applies them, perhaps at this moment: an older change that comes
    /// late could undo a newer one of that owner. A call of ``endFinished()`` has to follow.
    func leave(_ partitions: [Int32]) { inFlight.leave(partitions) }

    /// Hands over again what the broker did not take. To be called now and then.
    func retryPublishing() {
        tombstones.retry()
        letters.roomCame()
        handOverLetters()
        endFinished()
    }

    /// Publications that wait for operators: the brokers refuse them, or their Kafka topic.
    var barredCount: Int { letters.barredCount + tombstones.barredCount }

    /// Ends the batches of which everything is acknowledged, the oldest first.
    func endFinished() {
        repeat {
            for item in inFlight.takeRemovals() { makeUnlessForeign(item) }
        } while endOldest()
    }

    /// - Returns: true: another one is the oldest now.
    private func endOldest() -> Bool {
        guard let ends = inFlight.takeFinished() else { return false }
        onDone(ends)
        return true
    }

    private func finishOne(of batch: UInt32) {
        inFlight.update(batch) { $0.finishOne() }
        endFinished()
    }

    // MARK: Changes

    private func make(_ item: BatchInHand.Item) {
        tokens.make(item.change) { [weak self] result in
            guard let self, !isClosed else { return }
            switch result {
            case .success(let facts):
                if item.change.kind != .ask { counters.applied += 1 }
                guard publishes, facts.concernReaders else { return finishOne(of: item.batch) }
                tombstones.publish(item.change, facts) { [weak self] in self?.told(item, facts) }
            case .failure(let error) where error.isLastingRefusal: refuse(item, error)
            case .failure(let error): postpone(item, error)
            }
        }
    }

    /// Readers of push.tombstones have been told of a change.
    ///
    /// A later death of the token may have been told before its revival: merged by maximum it counts, but compaction
    /// keeps the last record alone, so that a role that starts later would know of the revival only. Therefore Redis is
    /// asked once more, and if the token is dead by now, its death is told again, behind the revival. So too if the
    /// partition has gone meanwhile: its next owner need not know of this revival.
    private func told(_ item: BatchInHand.Item, _ facts: TokenFacts) {
        guard facts.wasRevived else { return finishOne(of: item.batch) }
        var question = item
        question.change.kind = .ask
        make(question)
    }

    private func postpone(_ item: BatchInHand.Item, _ error: RedisError) {
        inFlight.update(item.batch) { $0.noteFailure() }
        if failed.isEmpty {
            eventLoop.assumeIsolated().scheduleTask(in: Self.retry) { [weak self] in self?.retryFailed(error) }
        }
        failed.append(item)
    }

    /// - Parameter first: why the first of them failed.
    private func retryFailed(_ first: RedisError) {
        guard !isClosed else { return }
        let again = failed.filter { $0.change.kind == .ask || inFlight.contains($0.batch) }
        failed = []
        guard !again.isEmpty else { return }
        logger.warning(
            "token state could not be changed; trying again",
            metadata: ["source": "\(source)", "count": "\(again.count)", "first": "\(first)"]
        )
        for item in again {
            // A question is asked even if its partition has gone, see `told`.
            if item.change.kind == .ask { make(item) } else { makeUnlessForeign(item) }
        }
        endFinished()
    }

    /// Makes a change, or leaves it to the next owner of its partition.
    private func makeUnlessForeign(_ item: BatchInHand.Item) {
        if inFlight.isForeign(item) { inFlight.update(item.batch) { $0.finishOne() } } else { make(item) }
    }

    /// Redis will not take the change, now or later: the record becomes a dead letter, and its partition goes on.
    private func refuse(_ item: BatchInHand.Item, _ error: RedisError) {
        guard let batch = inFlight[item.batch], !batch.isForeign(item.index) else { return finishOne(of: item.batch) }
        let refusal = RecordRefusal(reason: RecordApplier.refusalReason, detail: "\(error)")
        let isFirst = inFlight.update(item.batch) { $0.refuse(item.index, refusal) } ?? false
        guard isFirst else { return endFinished() }
        counters.refused[refusal.reason, default: 0] += 1
        let message = batch.records[item.index]
        logger.error(
            "token state was refused by Redis; its record is a dead letter",
            metadata: [
                "source": "\(source)", "partition": "\(message.partition)", "offset": "\(message.offset)",
                "error": "\(error)",
            ]
        )
        publishDeadLetter(at: item.index, of: item.batch)
    }

    // MARK: Dead letters

    private func reportRefusals(of batch: BatchInHand) {
        guard let (index, first) = batch.refusals.min(by: { $0.key < $1.key }) else { return }
        let message = batch.records[index]
        logger.warning(
            "records that cannot be used are dead letters",
            metadata: [
                "source": "\(source)", "partition": "\(message.partition)", "offset": "\(message.offset)",
                "count": "\(batch.refusals.count)", "first": "\(first.reason): \(first.detail)",
            ]
        )
    }

    private func publishDeadLetter(at index: Int, of number: UInt32) {
        guard let batch = inFlight[number] else { return }
        letters.add(batch.opaque(of: index))
        handOverLetters()
    }

    private func handOverLetters() {
        while let opaque = letters.takeNext(now: clock()) { hand(over: opaque) }
    }

    private func hand(over opaque: UInt64) {
        let (number, index) = BatchInHand.parse(opaque: opaque)
        // The next owner of a dropped batch publishes its dead letters.
        guard let batch = inFlight[number], let letter = batch.deadLetter(of: index, source: source) else { return }
        guard !batch.isForeign(index) else { return inFlight.update(number) { $0.finishOne() } ?? () }
        do throws(KafkaError) {
            try letter.publish(batch.records[index], to: deadLetters, through: producer, opaque: opaque)
        } catch {
            deadLetterFailed(opaque, error)
        }
    }

    private func deadLetterFailed(_ opaque: UInt64, _ error: KafkaError) {
        let (number, index) = BatchInHand.parse(opaque: opaque)
        let now = clock()
        if error.isMessageRefused, inFlight.update(number, { $0.shrinkDeadLetter(of: index) }) ?? false {
            counters.cut += 1
            letters.add(opaque)
        } else {
            letters.refused(opaque, error.refusal, now: now)
        }
        // A storm of failures is one fault.
        guard !error.isQueueFull, let passedOver = logBudget.take(now: now) else { return }
        logger.error(
            "dead letter was not delivered; it is tried again",
            metadata: ["error": "\(error)", "passed-over": "\(passedOver)"]
        )
    }

    /// The broker's word on a dead letter, or on a tombstone.
    func delivered(_ opaque: UInt64, error: KafkaError?) {
        if TombstonePublisher.isOwn(opaque) {
            if error == nil { counters.tombstones += 1 }
            return tombstones.delivered(opaque, error: error)
        }
        let (batch, _) = BatchInHand.parse(opaque: opaque)
        letters.roomCame()
        if error == nil {
            counters.deadLetters += 1
            letters.acknowledged()
        }
        // The next owner of a dropped batch publishes its dead letters again.
        guard inFlight.contains(batch) else { return }
        if let error { deadLetterFailed(opaque, error) } else { finishOne(of: batch) }
        handOverLetters()
    }
}
