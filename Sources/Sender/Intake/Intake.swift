import APNsProtocol
import KafkaClient
import PipelineCore
import PushSchemas
import RequestLanes
import RequestRules

/// Second stage: turns admitted records into batches of validated notifications, or into dead letters with coordinates.
///
/// Bad input disturbs nothing else. Bound to the shard's event loop.
final class Intake {
    let outcomes: Outcomes
    private let lane: RequestLane
    /// Name of the lane's Kafka topic, UTF-8.
    private let requestsTopic: [UInt8]
    let remembersRequests: Bool
    /// The Kafka topic out of which records may be moved into the lane; nil: none is.
    let movesFrom: String?
    private let unixMilliseconds: () -> Int64
    private var batch: PreparedBatch?
    private(set) var source: KafkaBatch?
    private var unixSeconds: Int64 = 0
    private var now = MonotonicTime(nanoseconds: 0)
    /// Bytes of the records of `source` looked at and of those taken in, and the feeds of the latter.
    private var seenBytes = 0
    /// The work of the records looked at, in bytes of records that are used in place.
    private(set) var seenWork = 0
    private var takenBytes = 0
    private var takers: [AppFeed] = []
    /// Notifications that ended without being sent since ``begin(_:now:)``.
    var ended = 0
    private var lastTemplate = LastTemplate()
    var counters = IntakeCounters()
    /// By index of the topic: notifications sent although their texts have a number to be warned of.
    private(set) var sensitive: [Int32: Int] = [:]
    /// Batches made so far, which is the number of the last one.
    private(set) var batchesMade: UInt64 = 0
    /// A request with a coalescing key has come since the shard started.
    private(set) var hasCoalescing = false

    init(
        outcomes: Outcomes,
        lane: RequestLane,
        requestsTopic: String,
        remembersRequests: Bool,
        movesFrom: String? = nil,
        unixMilliseconds: @escaping () -> Int64
    ) {
        self.outcomes = outcomes
        self.lane = lane
        self.requestsTopic = Array(requestsTopic.utf8)
        self.remembersRequests = remembersRequests
        self.movesFrom = movesFrom
        self.unixMilliseconds = unixMilliseconds
    }

    // MARK: Batches

    /// Begins taking in records of one consumed batch.
    func begin(_ source: KafkaBatch, now: MonotonicTime) {
        self.source = source
        self.now = now
        ended = 0
        unixSeconds = unixMilliseconds() / 1000
    }

    /// Counts a record that is being looked at, taken in or not.
    func countSeen(_ message: KafkaMessageView) {
        seenBytes += message.memoryBytes
        seenWork += message.memoryBytes
    }

    /// Counts that a record was not used in place: each byte of JSON, of a structured notification or of what a token
    /// has of its own is some work.
    func countDecoding(_ message: KafkaMessageView) {
        seenWork += message.memoryBytes * (ShardLimits.workOfDecoding - 1)
    }

    /// Notifications of the batch being made, and those that ended meanwhile without being sent.
    var preparedCount: Int { (batch?.count ?? 0) + ended }

    /// The batch being made takes no more records.
    var hasEnough: Bool {
        preparedCount >= ShardLimits.notificationsPerBatch || seenWork >= ShardLimits.bytesPerBatch
    }

    /// Ends the batch; nil: none of its notifications is to be sent.
    func end() -> PreparedBatch? {
        defer {
            batch = nil
            source = nil
            seenBytes = 0
            seenWork = 0
            takenBytes = 0
            takers.removeAll(keepingCapacity: true)
        }
        unpinIfSparse()
        guard let batch, !batch.isEmpty else { return nil }
        return batch
    }

    /// Copies records out of a batch of which little was taken in: only what is taken in counts towards the limits, and
    /// one small record would keep the others' memory until it is done, or late.
    private func unpinIfSparse() {
        guard let source, takenBytes < seenBytes / ShardLimits.pinnedShare else { return }
        for feed in takers { feed.unpinSources(of: source) }
    }

    /// Enters a record into its feed.
    ///
    /// - Parameter isWhole: its tokens are not known.
    func add(
        _ message: KafkaMessageView,
        at index: Int,
        to feed: AppFeed,
        of source: KafkaBatch,
        tokens: Int,
        report: RequestReport?,
        payloadBytes: Int = 0,
        renderedBytes: Int = 0,
        isWhole: Bool = false
    ) -> UInt32 {
        let summaryBytes = report == .summary ? RecordSummaries<OutcomeKind>.bytes(tokens: tokens) : 0
        takenBytes += message.memoryBytes
        if takers.last !== feed { takers.append(feed) }
        return feed.addRecord(
            message,
            at: index,
            of: source,
            tokens: tokens,
            payloadBytes: payloadBytes,
            keptBytes: renderedBytes + summaryBytes,
            // A summary counts all tokens, and an owner that made none may have marked some.
            isWhole: isWhole || report == .summary,
            now: now
        )
    }

    // MARK: Records

    /// Takes in a request.
    func addRequest(_ request: SendRequestView, _ admitted: AdmittedRecord) {
        guard let source else { preconditionFailure("a request comes out of a batch") }
        let topic = admitted.topic
        let feed = admitted.feed
        let isNew = admitted.number == nil
        if isNew { counters.took(request.tokenCount) }
        let prepared = openBatch(source)
        let arenaEnd = prepared.payloads.end
        let judged: Result<Content, RecordRefusal>
        do throws(RecordRefusal) {
            let found = try content(of: request, admitted, into: prepared.payloads)
            try topic.checkCredential(for: found.payload.terms)
            judged = .success(found)
        } catch {
            judged = .failure(error)
        }
        let record =
            admitted.number
            ?? add(
                admitted.message,
                at: admitted.index,
                to: feed,
                of: source,
                tokens: request.tokenCount,
                report: request.report,
                payloadBytes: judged.mostPayloadBytes,
                renderedBytes: judged.renderedBytes
            )
        if isNew { begin(request.report, of: record, in: feed, tokens: request.tokenCount) }
        let content: Content
        switch judged {
        case .success(let judged): content = judged
        case .failure(let refusal):
            prepared.payloads.truncate(to: arenaEnd)
            return outcomes.deadLetter(record: record, of: feed, tokens: UInt32(request.tokenCount), refusal)
        }
        let requestKey = requestKey(of: request, admitted.message)
        if isNew {
            let changesBadges = content.changesBadges
            noteNames(of: request, requestKey, admitted.message, record, in: feed, changesBadges: changesBadges)
        }
        if let expiration = request.expiration, expiration != 0, Int64(expiration) < unixSeconds {
            prepared.payloads.truncate(to: arenaEnd)
            return end(record, of: feed, tokens: request.tokenCount, as: .expired)
        }
        if request.ownsStorage { prepared.keep(request) }
        var row = PreparedRecord(
            feed: feed,
            topic: topic,
            number: record,
            expiration: request.expiration,
            payload: content.payload,
            notifications: prepared.count..<prepared.count,
            requestKey: requestKey,
            ids: topic.transport == .http2 ? ids(of: request, admitted) : nil,
            rendered: content.rendered,
            changesBadges: content.changesBadges,
            isDiscarded: admitted.isDiscarded
        )
        if !request.coalescingKey.isEmpty {
            hasCoalescing = true
            row.coalescing = (
                RequestFingerprint.key(coalescingKey: request.coalescingKey, in: lane),
                Coalescer.Stamp(
                    milliseconds: max(0, admitted.message.timestampMilliseconds ?? 0),
                    offset: admitted.message.offset,
                    token: 0
                )
            )
        }
        prepared.append(row, tokens: request.tokenCount)
        if request.isBroadcast {
            takeChannel(of: request, admitted, record, into: prepared)
        } else {
            takeTokens(of: request, admitted, record, into: prepared)
        }
        if topic.sensitiveData == .warn { countWarnings(of: request, topic, content.sensitive, in: prepared) }
        prepared.closeRecord()
    }

    /// The judged content of a request.
    fileprivate struct Content {
        /// If there are several, the one in the default language.
        var payload: PreparedPayload
        /// Nil: there is only one payload.
        var rendered: RenderedPayloads?
        /// A number in the texts of all tokens that outcomes warn of; nil: there is none.
        var sensitive: SensitiveText?
        /// Notifications may change the numbers of their tokens in Redis.
        var changesBadges = false
    }

    private func content(
        of request: SendRequestView,
        _ admitted: AdmittedRecord,
        into arena: PayloadArena
    ) throws(RecordRefusal) -> Content {
        let judged = try JudgedRequest.judge(request, over: admitted.topic.transport, admitted.topic.payload)
        if let structured = try lastTemplate.content(of: request, judged) {
            let payloads = try RenderedPayloads(structured, judged, into: arena)
            let changesBadges = !request.isBroadcast && (payloads.changesBadges || request.hasOverrides)
            return Content(
                payload: payloads.defaultPayload,
                rendered: payloads.asksForLanguages || changesBadges || request.hasOverrides ? payloads : nil,
                sensitive: try admitted.topic.sensitiveData.judge(request, payload: request.payload),
                changesBadges: changesBadges
            )
        }
        let (offset, bytes) = try strip(request.payload, judged, into: arena)
        let payload = arena[offset, bytes]
        let terms = try judged.terms(priority: request.priority, of: payload)
        return Content(
            payload: PreparedPayload(offset: offset, bytes: bytes, terms: terms),
            sensitive: try admitted.topic.sensitiveData.judge(request, payload: payload)
        )
    }

    private func ids(of request: SendRequestView, _ admitted: AdmittedRecord) -> NotificationIDs {
        requestsTopic.withUnsafeBytes { name in
            NotificationIDs(
                kafkaTopic: name,
                partition: admitted.message.partition,
                offset: admitted.message.offset,
                requestID: request.requestID
            )
        }
    }

    private func takeTokens(
        of request: SendRequestView,
        _ admitted: AdmittedRecord,
        _ record: UInt32,
        into prepared: PreparedBatch
    ) {
        let feed = admitted.feed
        let topic = admitted.topic
        let mayBeDone = mayBeDone(feed)
        let rendered = prepared.records.last?.rendered
        let looksAtTexts = topic.sensitiveData == .refuse && request.hasOverrides
        let repeated = request.findRepeatedTokens()
        var faults = TokenFaults()
        for index in 0..<request.tokenCount {
            let position = UInt32(truncatingIfNeeded: index)
            if mayBeDone, feed.isDone(record, token: position) { continue }
            let view = request.token(at: index)
            let checksum = CRC32.checksum(view.bytes)
            if let fault = topic.tokenRule.fault(of: view, checksum: checksum, shard: admitted.shard) {
                faults.add(fault.reason, fault.refusal, at: position)
            } else if looksAtTexts, let fault = topic.sensitiveData.fault(of: view) {
                faults.add(fault, at: position)
            } else if !repeated.isEmpty, repeated[index] {
                ended += 1
                let reference = NotificationReference(assignment: feed.number, record: record, token: position)
                outcomes.settle(reference, .duplicate)
            } else {
                prepared.append(token: view.bytes, checksum: checksum, position: position)
                rendered?.append(view.overrides)
            }
        }
        for (fault, tokens) in faults.found {
            outcomes.deadLetter(record: record, of: feed, tokens: tokens, fault)
        }
    }

    /// Takes the channel of a broadcast, which goes on in place of a token.
    private func takeChannel(
        of request: SendRequestView,
        _ admitted: AdmittedRecord,
        _ record: UInt32,
        into prepared: PreparedBatch
    ) {
        if mayBeDone(admitted.feed), admitted.feed.isDone(record, token: 0) { return }
        let channel = request.token(at: 0).bytes
        let checksum = CRC32.checksum(channel)
        if let fault = admitted.topic.tokenRule.shardFault(of: "channel", checksum: checksum, shard: admitted.shard) {
            return outcomes.deadLetter(record: record, of: admitted.feed, tokens: 1, fault.refusal)
        }
        prepared.append(token: channel, checksum: checksum, position: 0)
        prepared.records.last?.rendered?.append(nil)
    }

    /// Counts the notifications of the last record whose outcomes warn of a number in their texts.
    private func countWarnings(
        of request: SendRequestView,
        _ topic: Topic,
        _ common: SensitiveText?,
        in prepared: PreparedBatch
    ) {
        guard let first = prepared.records.last?.notifications.lowerBound else { return }
        let count = prepared.positions[first...].count { position in
            common != nil || topic.sensitiveData.warning(of: request.token(at: Int(position))) != nil
        }
        if count > 0 { sensitive[topic.index, default: 0] += count }
    }

    func begin(_ report: RequestReport?, of record: UInt32, in feed: AppFeed, tokens: Int) {
        guard let report else { return }
        feed.setReport(report, of: record, tokens: tokens)
        // A record that is fed anew may lack nothing but its summary.
        outcomes.publishSummary(record, of: feed)
    }

    /// Tokens of a feed's next records may have their outcomes.
    private func mayBeDone(_ feed: AppFeed) -> Bool { !feed.ledger.alreadyDone.isEmpty || feed.hasReports }

    private func openBatch(_ source: KafkaBatch) -> PreparedBatch {
        if let batch { return batch }
        batchesMade += 1
        let made = PreparedBatch(source: source, number: batchesMade)
        batch = made
        return made
    }

    /// The payload without insignificant white space, in the batch's arena.
    private func strip(
        _ payload: UnsafeRawBufferPointer,
        _ judged: JudgedRequest,
        into arena: PayloadArena
    ) throws(RecordRefusal) -> (offset: Int, bytes: Int) {
        do throws(PayloadError) {
            let bytes = try PayloadScanner.scan(
                payload,
                limitBytes: judged.limitBytes,
                aps: judged.aps,
                into: arena.reserve(payload.count)
            )
            return (arena.commit(bytes), bytes)
        } catch {
            throw RecordRefusal(error)
        }
    }
}

extension Result<Intake.Content, RecordRefusal> {
    /// The longest payload of the record's notifications; 0: it has none.
    fileprivate var mostPayloadBytes: Int {
        guard case .success(let content) = self else { return 0 }
        return content.rendered?.mostBytes ?? content.payload.bytes
    }

    /// The payloads that stay in memory beside those of the notifications: one of each language.
    fileprivate var renderedBytes: Int {
        guard case .success(let content) = self else { return 0 }
        return content.rendered?.totalBytes ?? 0
    }
}

/// Records and notifications that a shard has taken in.
struct IntakeCounters: Equatable, Sendable {
    var records = 0
    /// Of `records`, those refused as a whole.
    var undecodable = 0
    var notifications = 0

    mutating func took(_ tokens: Int) {
        records += 1
        notifications += tokens
    }
}
