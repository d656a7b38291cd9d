import KafkaClient
import LocalPipeline
import PipelineCore
import PushSchemas

/// Place in a lane's Kafka topic of a published notification.
struct NotificationPlace: Equatable, Sendable {
    var partition: RequestPartition
    var position: DoneRanges.Position
}

/// The published notifications, as the broker's log has them, and their fates.
///
/// Published is what stands in the Kafka topics of the lanes: a producer that got no answer may have a record twice
/// there, and then both are due an outcome. Outcomes are deduplicated by (Kafka topic, partition, offset, token index).
/// Accepted notifications are told apart by (token, number of the record).
///
/// A record that a worker moved out of the urgent lane is nothing new that was published: see ``MovedRecords``. The
/// outcomes of the copy settle the published record, and the copy is due one for each of its tokens, too.
///
/// Memory: five bits, the 40 bytes of its record's share and 8 bytes for each outcome per notification: below 20 bytes
/// each at 50 tokens a record, for as long as few outcomes come twice.
struct ChaosBooks {
    let stream: RequestStream
    let quotas: UrgentQuotas

    /// Notifications in the logs, by lane.
    private(set) var publishedByLane: [RequestLane: Int] = [:]
    /// Notifications with an outcome, by lane.
    private(set) var outcomesByLane: [RequestLane: Int] = [:]
    /// Records that stand in the log once more than they were published.
    private(set) var replays = 0
    /// Records whose number does not grow along a partition: the order that the audit relies on.
    private(set) var disordered = 0
    /// Outcome messages about notifications that had one already.
    private(set) var repeated = 0
    /// Outcomes and acceptances that belong to nothing that was published.
    private(set) var strange = 0
    /// By the first outcome of each notification.
    private(set) var kinds: [PushOutcomeKind: Int] = [:]
    /// Records that stand in the log at least once.
    private(set) var recordsInLog = 0
    private(set) var moves = MovedRecords()
    /// Copies of records of apps without a quota.
    private(set) var movedWithoutQuota = 0
    /// Copies that are met from now on need no outcome, see ``close()``.
    private var isClosed = false

    /// A record in the log, or a copy.
    struct Entry {
        /// 0: not met yet.
        var number: UInt32 = 0
        /// Of its tokens in ``settled``.
        var firstBit = 0
        /// It stands there; of a copy: and each of its tokens is to have an outcome.
        var isInLog = false
    }

    /// An outcome, the first one of its notification or another.
    private struct Settlement {
        var number: UInt32
        /// Since the first one.
        var seconds: UInt16
        var token: UInt8
        /// See ``MovedRecords/Copy/index``; 0: of the published record.
        var copy: UInt8
    }

    /// In the order in which they were met.
    private var settlements: [Settlement] = []
    /// By place among them, see ``decided(met:)``.
    private var decidedAt: [Int: UInt32] = [:]
    /// UNIX seconds.
    private var firstSettlement: UInt32 = 0
    /// Of each lane.
    let partitions: Int
    /// By partition, see ``RequestPartition/index(among:)``, and offset.
    private(set) var entries: [[Entry]]
    /// By partition: the highest number met in its log.
    private var lastNumber: [UInt32]
    private var nextBit = 0
    /// Of published records, and of copies.
    private(set) var settled = Bitset()
    /// By number − 1: first bit of its tokens in the sets below, and where its lane's log has it first; offset −1:
    /// nowhere.
    private(set) var records: [(firstBit: Int, partition: Int32, offset: Int64)] = []
    /// Numbers of records that stand in the log more than once.
    private var replayed: Set<UInt32> = []
    private(set) var nextRecordBit = 0
    private(set) var confirmed = Bitset()
    private(set) var presumed = Bitset()
    private(set) var accepted = Bitset()
    /// Had an outcome other than being accepted.
    private var ended = Bitset()

    /// - Parameter partitions: of each lane.
    init(stream: RequestStream, partitions: Int, quotas: UrgentQuotas = UrgentQuotas()) {
        self.stream = stream
        self.quotas = quotas
        self.partitions = partitions
        let all = RequestPartition.all(partitions)
        entries = Array(repeating: [], count: all.count)
        lastNumber = Array(repeating: 0, count: all.count)
    }

    // MARK: Entering

    /// The next record, to be handed to the producer.
    mutating func nextRecord() -> RequestStream.Record {
        let record = stream.record(UInt32(records.count + 1))
        records.append((nextRecordBit, 0, -1))
        nextRecordBit += record.count
        return record
    }

    /// A record stands in the log of a partition.
    mutating func noteRecord(number: UInt32, partition: RequestPartition, offset: Int64) {
        guard enterPublished(number, RequestPlace(partition, offset)) != nil,
            let place = partition.index(among: partitions)
        else {
            strange += 1
            return
        }
        guard !entries[place][Int(offset)].isInLog else { return }
        entries[place][Int(offset)].isInLog = true
        publishedByLane[partition.lane, default: 0] += stream.record(number).count
        if records[Int(number) - 1].offset >= 0 {
            replays += 1
            replayed.insert(number)
        } else {
            records[Int(number) - 1].partition = partition.number
            records[Int(number) - 1].offset = offset
            recordsInLog += 1
            if number < lastNumber[place] { disordered += 1 }
            lastNumber[place] = max(number, lastNumber[place])
        }
    }

    /// A record that a worker moved stands in the log of the lane normal.
    ///
    /// - Parameter origin: the place of the published record, by the copy's word.
    mutating func noteCopy(
        number: UInt32,
        at place: RequestPlace,
        from origin: RequestPlace,
        _ times: MovedRecords.Times
    ) {
        guard enterCopy(number, place, from: origin) != nil, let index = place.partition.index(among: partitions) else {
            strange += 1
            return
        }
        guard moves[place]?.times == nil else { return }
        moves.noteRecord(at: place, times, isDue: !isClosed)
        entries[index][Int(place.offset)].isInLog = !isClosed
        if quotas[stream.record(number).topic] == nil { movedWithoutQuota += 1 }
    }

    /// All that was published has its outcomes, and the workers are about to stop. One that takes a partition over just
    /// then may move records again, and not live to see the outcomes of these copies.
    mutating func close() { isClosed = true }

    /// An outcome message stands in push.outcomes.
    ///
    /// - Parameters:
    ///   - origin: the place of the published record, by the word of an outcome of a copy; nil: it is no copy's.
    ///   - second: when it was met there, UNIX seconds; does not fall from call to call.
    mutating func note(_ outcome: PushOutcome, from origin: RequestPlace? = nil, at second: UInt32) {
        let source = KafkaTopicPartition(topic: outcome.sourceTopic, partition: outcome.sourcePartition)
        guard let number = UInt32(outcome.requestID), let partition = RequestPartition(source),
            let found = enter(number, RequestPlace(partition, outcome.sourceOffset), from: origin),
            Int(outcome.tokenIndex) < stream.record(number).count
        else {
            strange += 1
            return
        }
        let token = Int(outcome.tokenIndex)
        if settlements.isEmpty { firstSettlement = second }
        let seconds = UInt16(clamping: Int(second) - Int(firstSettlement))
        let copy = found.copy?.index ?? 0
        settlements.append(Settlement(number: number, seconds: seconds, token: UInt8(token), copy: copy))
        let record = stream.record(number)
        if let copy = found.copy {
            if settled.insert(copy.firstBit + token) { moves.noteOutcome(at: copy.place) }
        } else if record.lane == .urgent, quotas[record.topic] != nil {
            moves.noteSent(number)
            decidedAt[settlements.count - 1] = min(second, UInt32(clamping: outcome.decidedAtMs / 1000))
        }
        if settled.insert(found.publishedBit + token) {
            outcomesByLane[record.lane, default: 0] += 1
            kinds[outcome.kind, default: 0] += 1
        } else {
            repeated += 1
        }
        let bit = records[Int(number) - 1].firstBit + token
        switch outcome.kind {
        case .confirmed: confirmed.insert(bit)
        case .presumed: presumed.insert(bit)
        default: ended.insert(bit)
        }
    }

    /// The gateway accepted a record's notification to a device.
    ///
    /// - Returns: where the notification stands in the log if it was accepted before; nil for a first acceptance, and
    ///   for a record that stands there more than once.
    @discardableResult
    mutating func noteAccepted(number: UInt32, device: UInt32, topic: Int) -> NotificationPlace? {
        guard let index = token(number: number, device: device, topic: topic) else {
            strange += 1
            return nil
        }
        let isFirst = accepted.insert(records[Int(number) - 1].firstBit + index)
        return isFirst ? nil : place(number: number, device: device, topic: topic)
    }

    /// The place in the log from which a record's notification to a device was sent; nil if it stands nowhere, or may
    /// have been sent from several.
    func place(number: UInt32, device: UInt32, topic: Int) -> NotificationPlace? {
        guard let index = token(number: number, device: device, topic: topic), let place = sendingPlace(of: number)
        else { return nil }
        let position = DoneRanges.Position(offset: place.offset, token: UInt32(index))
        return NotificationPlace(partition: place.partition, position: position)
    }

    // MARK: Looking back

    /// The place in the log from which a record was sent; nil if it stands nowhere, or may have been sent from several.
    ///
    /// - Parameter number: of a record that was made.
    private func sendingPlace(of number: UInt32) -> RequestPlace? {
        guard !replayed.contains(number) else { return nil }
        guard !moves.contains(number) else { return moves.onlyCopy(of: number)?.place }
        return publishedPlace(of: number)
    }

    /// The place in the log of a record as it was published; nil if it stands nowhere, or more than once.
    ///
    /// - Parameter number: of a record that was made.
    func publishedPlace(of number: UInt32) -> RequestPlace? {
        let record = records[Int(number) - 1]
        guard record.offset >= 0, !replayed.contains(number) else { return nil }
        return RequestPlace(RequestPartition(stream.record(number).lane, record.partition), record.offset)
    }

    /// The lane from which the notifications of a record were sent, as far as their order is looked at.
    func sendingLane(of number: UInt32) -> RequestLane {
        moves.contains(number) ? .normal : stream.record(number).lane
    }

    /// The offset by which a record has its place in the order of its key in ``sendingLane(of:)``.
    func sendingOffset(of number: UInt32) -> Int64 {
        guard number >= 1, Int(number) <= records.count else { return .max }
        return moves.onlyCopy(of: number)?.place.offset ?? records[Int(number) - 1].offset
    }

    /// The records that stand in the log once, and copies of them, by partition and offset.
    var log: [RepeatAudit.Entry] {
        zip(RequestPartition.all(partitions), entries).flatMap { partition, entries in
            entries.enumerated().filter { $0.element.isInLog && !replayed.contains($0.element.number) }.map { entry in
                let number = entry.element.number
                let record = stream.record(number)
                let place = RequestPlace(partition, Int64(entry.offset))
                return RepeatAudit.Entry(
                    number: number,
                    topic: record.topic,
                    partition: partition,
                    count: record.count,
                    copy: record.lane == partition.lane ? 0 : moves[place]?.index ?? 0,
                    origin: moves[place]?.origin.partition,
                    isSender: !moves.contains(number) || moves.onlyCopy(of: number)?.place == place
                )
            }
        }
    }

    /// Outcomes that were met, in order.
    var outcomesMet: Int { settlements.count }

    /// - Parameter index: below ``outcomesMet``.
    /// - Returns: with the copy by its ``MovedRecords/Copy/index``; 0: the published record.
    func outcome(met index: Int) -> (number: UInt32, copy: UInt8, token: Int, second: UInt32) {
        let outcome = settlements[index]
        return (outcome.number, outcome.copy, Int(outcome.token), firstSettlement + UInt32(outcome.seconds))
    }

    /// When an outcome was decided, by its worker's word, UNIX seconds. That is kept of records that might have been
    /// moved and were sent as urgent ones; of others it is when the outcome was met.
    ///
    /// - Parameter index: below ``outcomesMet``.
    func decided(met index: Int) -> UInt32 { decidedAt[index] ?? outcome(met: index).second }

    /// A record's notification to a device had an outcome other than being accepted.
    func hasEnded(number: UInt32, device: UInt32, topic: Int) -> Bool {
        guard let index = token(number: number, device: device, topic: topic) else { return false }
        return ended[records[Int(number) - 1].firstBit + index]
    }

    /// Index of a device's token in a record that was made; nil for any other.
    func token(number: UInt32, device: UInt32, topic: Int) -> Int? {
        guard number >= 1, Int(number) <= records.count else { return nil }
        return stream.index(of: device, topic: topic, in: stream.record(number))
    }

    // MARK: Places in the log

    /// Makes room for what was met of a place; nil if that cannot be.
    ///
    /// - Parameter origin: the place of the published record; nil: this one.
    /// - Returns: the first bit of the published record in ``settled``, and the copy.
    private mutating func enter(
        _ number: UInt32,
        _ place: RequestPlace,
        from origin: RequestPlace?
    ) -> (publishedBit: Int, copy: MovedRecords.Copy?)? {
        guard let origin else {
            guard let bit = enterPublished(number, place) else { return nil }
            return (bit, nil)
        }
        guard let copy = enterCopy(number, place, from: origin) else { return nil }
        return (copy.originBit, copy)
    }

    /// - Returns: the first bit in ``settled``.
    private mutating func enterPublished(_ number: UInt32, _ place: RequestPlace) -> Int? {
        guard isMade(number), stream.record(number).lane == place.partition.lane else { return nil }
        return makeRoom(for: number, at: place)
    }

    private mutating func enterCopy(
        _ number: UInt32,
        _ place: RequestPlace,
        from origin: RequestPlace
    ) -> MovedRecords.Copy? {
        guard place.partition.lane == .normal, origin.partition.lane == .urgent,
            let originBit = enterPublished(number, origin), let firstBit = makeRoom(for: number, at: place)
        else { return nil }
        let bits = (own: firstBit, origin: originBit)
        let count = stream.record(number).count
        guard moves.enter(number, at: place, from: origin, count: count, bits: bits) else { return nil }
        return moves[place]
    }

    private func isMade(_ number: UInt32) -> Bool { number >= 1 && Int(number) <= records.count }

    /// Nil: another record stands there, or none of ours can.
    private mutating func makeRoom(for number: UInt32, at place: RequestPlace) -> Int? {
        // Replays are few: a log far longer than what was published is none of ours.
        guard let index = place.partition.index(among: partitions), place.offset >= 0,
            place.offset < 2 * records.count + 10_000
        else { return nil }
        let offset = Int(place.offset)
        if offset >= entries[index].count {
            entries[index] += repeatElement(Entry(), count: offset + 1 - entries[index].count)
        }
        if entries[index][offset].number == 0 {
            entries[index][offset] = Entry(number: number, firstBit: nextBit)
            nextBit += stream.record(number).count
        }
        return entries[index][offset].number == number ? entries[index][offset].firstBit : nil
    }
}
