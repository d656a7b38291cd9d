import BelfryProducer
import BelfrySupport
import Foundation
import PipelineCore
import PushSchemas
import PushTopics

/// Publishes an order into its lane, piece by piece: checks everything, then sends at a pace, remembers how far it
/// came, and awaits the outcomes, as far as that was asked for.
///
/// Blocks the calling thread.
public struct OrderPublication {
    public var order: PublishOrder
    /// Most tokens a second, at least 1; nil: no limit.
    public var rate: Int?
    /// A file that remembers what is acknowledged, so that the same command goes on; nil: none.
    public var checkpoint: String?
    /// The request's id and its expiration as they were typed; what was not typed is another one in each run, and that
    /// of the first counts.
    public var typed = ""
    /// Called now and then while a file is checked; see ``TokenFile/Progress``.
    public var onCheck: (_ bytes: Int64, _ size: Int64?) -> Void = { _, _ in }
    /// Called now and then while records leave.
    public var onProgress: (PublishProgress) -> Void = { _ in }
    /// Prepares to wait for the outcomes.
    public var awaitsOutcomes = false
    /// Time between two checkpoints.
    var checkpointInterval = Duration.seconds(1)
    /// Called when everything before a place is acknowledged and that is remembered, for tests.
    var onCheckpoint: (PublishCheckpoint) throws -> Void = { _ in }

    /// All records are acknowledged.
    public struct Completion {
        public let report: PublishReport
        /// To be waited for if that was asked for, and to be closed; else nil.
        public let wait: OutcomeWait?
    }

    public init(_ order: PublishOrder) {
        self.order = order
    }

    /// - Throws: `ToolError.invalidInput` for a mistake, before anything is published; `.kafka` if the lane has no
    ///   Kafka topic; `.notDelivered` if Kafka did not take everything.
    public func run(through settings: KafkaSettings) throws -> Completion {
        let checked = try order.checked { lengths throws(ToolError) in
            let tokens = try CheckedTokens(order.tokens, lengths: lengths, onCheck)
            try tokens.requireGood()
            return tokens
        } broadcast: {
            .list($0)
        }
        let tokens = checked.tokens
        var template = checked.template
        var begun: PublishCheckpoint?
        if let checkpoint {
            begun = try begin(checkpoint, template, tokens, settings)
            template.requestID = begun?.requestID ?? template.requestID
            template.expiration = begun?.expiration
        }
        if let rate { template.tokensPerRecord = min(template.tokensPerRecord, rate) }
        let wait = awaitsOutcomes ? try OutcomeWait(of: order.lane, through: settings) : nil
        wait?.begin(requestID: template.requestID)
        let records: Int
        do {
            records = try publish(tokens, template, from: begun, wait, through: settings)
        } catch {
            wait?.close()
            throw error
        }
        var report = PublishReport(
            topic: TopicNames(settings).requests(order.lane),
            records: records,
            tokens: tokens.count,
            requestID: template.requestID,
            isBroadcast: order.channel != nil
        )
        report.earlierTokens = begun?.place.tokens ?? 0
        return Completion(report: report, wait: wait)
    }

    /// Returns the number of records; all are acknowledged.
    private func publish(
        _ tokens: CheckedTokens,
        _ template: RequestBatcher.Template,
        from begun: PublishCheckpoint?,
        _ wait: OutcomeWait?,
        through settings: KafkaSettings
    ) throws -> Int {
        let topic = TopicNames(settings).requests(order.lane)
        let producer = try RecordProducer(settings, topic: topic)
        let records: Int
        do {
            // Keeps the id even if the first record fails.
            if let begun, let checkpoint { try begun.write(checkpoint) }
            records = try send(tokens, template, to: topic, from: begun, wait, through: producer)
        } catch {
            producer.abandon()
            throw error
        }
        try producer.finish()
        if let checkpoint { PublishCheckpoint.remove(checkpoint) }
        return records
    }

    /// The checkpoint of an earlier run, or that of a beginning.
    private func begin(
        _ path: String,
        _ template: RequestBatcher.Template,
        _ tokens: CheckedTokens,
        _ settings: KafkaSettings
    ) throws(ToolError) -> PublishCheckpoint {
        guard case .file(_, let format) = order.tokens, case .file(let file) = tokens,
            let identity = file.identity
        else { throw .invalidInput(["checkpoint: only a regular file of tokens can be gone on with"]) }
        let text = PublishCheckpoint.text(
            of: template,
            format,
            in: order.lane,
            fixed: typed,
            brokers: settings.place
        )
        let source = PublishCheckpoint.Source(file: identity, order: text)
        return try PublishCheckpoint.read(path, of: source)
            ?? PublishCheckpoint(source: source, requestID: template.requestID, expiration: template.expiration)
    }

    /// Returns the number of records; all are handed over, and not all acknowledged.
    private func send(
        _ tokens: CheckedTokens,
        _ template: RequestBatcher.Template,
        to topic: String,
        from begun: PublishCheckpoint?,
        _ wait: OutcomeWait?,
        through producer: RecordProducer
    ) throws -> Int {
        let ledger = Ledger()
        let beginning = ContinuousClock.now
        let earlier = begun?.place.tokens ?? 0
        producer.onAcknowledged = { number, partition, offset in
            let tokens = ledger.acknowledged(number)
            wait?.expect(partition: partition, offset: offset, tokens: tokens)
        }
        var batcher = try RequestBatcher(template)
        var pace = rate.map { CommandPace(perSecond: $0) }
        var pulse = Pulse(every: checkpointInterval, from: beginning)
        var records = 0
        let validator = order.validator
        func send(_ record: OutgoingRecord) throws {
            let faults = record.faults(by: validator)
            guard faults.isEmpty else { throw ToolError.invalidInput(faults.map(\.description)) }
            if let delay = pace?.delay(of: record.tokenCount, now: .now) { producer.poll(for: delay) }
            try producer.send(record, to: topic, number: ledger.sent(record.tokenCount))
            records += 1
            if let failure = producer.failure { throw failure }
            onProgress(
                PublishProgress(
                    done: earlier + ledger.tokens,
                    total: tokens.count,
                    earlier: earlier,
                    elapsed: beginning.duration(to: .now)
                )
            )
        }
        defer {
            // After a failure, too, acknowledged tokens need not be sent again.
            if let checkpoint, let reached = ledger.places.takeReached() { try? reached.write(checkpoint) }
        }
        try tokens.forEachToken(
            from: begun?.place ?? TokenFilePlace(),
            pieceBytes: pieceBytes,
            onPiece: { place in
                guard let checkpoint, var reached = begun, pulse.isDue(now: .now) else { return }
                // The tokens that wait in all shards leave: the place is behind them.
                try batcher.flush(send)
                reached.place = place
                ledger.places.close(at: reached)
                producer.poll(for: .zero)
                guard let last = ledger.places.takeReached() else { return }
                try last.write(checkpoint)
                try onCheckpoint(last)
            },
            { try batcher.add($0, send) }
        )
        try batcher.flush(send)
        return records
    }

    /// Small pieces at a slow pace: between two of them the checkpoint is written.
    private var pieceBytes: Int {
        guard let rate else { return TokenFile.pieceBytes }
        return min(TokenFile.pieceBytes, max(64, rate / 4 * SendRequestView.packedTokenBytes))
    }

    /// Changed by the producer's reports, on the thread of its calls.
    private final class Ledger {
        var places = CheckpointLedger<PublishCheckpoint>()
        /// Acknowledged.
        private(set) var tokens = 0

        /// The number of a record that is handed over.
        func sent(_ tokens: Int) -> UInt64 {
            places.sent()
            return places.current << 16 | UInt64(tokens)
        }

        /// Returns the tokens of the record with this number.
        func acknowledged(_ number: UInt64) -> Int {
            places.acknowledged(number >> 16)
            let count = Int(number & 0xFFFF)
            tokens += count
            return count
        }
    }
}
