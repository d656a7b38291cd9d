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
/// Memory: five bits, the 40 bytes of its record's share and 8 bytes for each outcome per notification: below 20 bytes
/// each at 50 tokens a record, for as long as few outcomes come twice.
struct ChaosBooks {
    let stream: RequestStream

    /// Notifications in the logs, by lane.
    private(set) var publishedByLane: [RequestLane: Int] = [:]
    /// Notifications with an outcome, by lane.
    private var outcomesByLane: [RequestLane: Int] = [:]
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
    /// Records of which the log has at least one copy.
    private(set) var recordsInLog = 0

    /// A record in the log.
    private struct Entry {
        /// 0: not met yet.
        var number: UInt32 = 0
        /// Of its tokens in ``settled``.
        var firstBit = 0
        var isInLog = false
    }

    /// An outcome, the first one of its notification or another.
    private struct Settlement {
        var number: UInt32
        /// Since the first one.
        var seconds: UInt16
        var token: UInt8
    }

    /// In the order in which they were met.
    private var settlements: [Settlement] = []
    /// UNIX seconds.
    private var firstSettlement: UInt32 = 0
    /// Of each lane.
    private let partitions: Int
    /// By partition, see ``RequestPartition/index(among:)``, and offset.
    private var entries: [[Entry]]
    /// By partition: the highest number met in its log.
    private var lastNumber: [UInt32]
    private var nextBit = 0
    private var settled = Bitset()
    /// By number − 1: first bit of its tokens in the sets below, and where its lane's log has it first; offset −1:
    /// nowhere.
    private var records: [(firstBit: Int, partition: Int32, offset: Int64)] = []
    /// Numbers of records that stand in the log more than once.
    private var replayed: Set<UInt32> = []
    private var nextRecordBit = 0
    private var confirmed = Bitset()
    private var presumed = Bitset()
    private var accepted = Bitset()
    /// Had an outcome other than being accepted.
    private var ended = Bitset()

    /// - Parameter partitions: of each lane.
    init(stream: RequestStream, partitions: Int) {
        self.stream = stream
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
        guard let place = enter(number, partition, offset) else {
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

    /// An outcome message stands in push.outcomes.
    ///
    /// - Parameter second: when it was met there, UNIX seconds; does not fall from call to call.
    mutating func note(_ outcome: PushOutcome, at second: UInt32) {
        let source = KafkaTopicPartition(topic: outcome.sourceTopic, partition: outcome.sourcePartition)
        guard let number = UInt32(outcome.requestID), let partition = RequestPartition(source),
            let place = enter(number, partition, outcome.sourceOffset),
            Int(outcome.tokenIndex) < stream.record(number).count
        else {
            strange += 1
            return
        }
        if settlements.isEmpty { firstSettlement = second }
        let seconds = UInt16(clamping: Int(second) - Int(firstSettlement))
        settlements.append(Settlement(number: number, seconds: seconds, token: UInt8(outcome.tokenIndex)))
        let entry = entries[place][Int(outcome.sourceOffset)]
        if settled.insert(entry.firstBit + Int(outcome.tokenIndex)) {
            outcomesByLane[partition.lane, default: 0] += 1
            kinds[outcome.kind, default: 0] += 1
        } else {
            repeated += 1
        }
        let bit = records[Int(number) - 1].firstBit + Int(outcome.tokenIndex)
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

    /// The place in the log of a record's notification to a device; nil if it stands nowhere, or more than once.
    func place(number: UInt32, device: UInt32, topic: Int) -> NotificationPlace? {
        guard let index = token(number: number, device: device, topic: topic), !replayed.contains(number) else {
            return nil
        }
        let record = records[Int(number) - 1]
        guard record.offset >= 0 else { return nil }
        let position = DoneRanges.Position(offset: record.offset, token: UInt32(index))
        let partition = RequestPartition(stream.record(number).lane, record.partition)
        return NotificationPlace(partition: partition, position: position)
    }

    // MARK: Looking back

    /// The records that stand in the log once, by partition and offset.
    var log: [RepeatAudit.Entry] {
        zip(RequestPartition.all(partitions), entries).flatMap { partition, entries in
            entries.filter { $0.isInLog && !replayed.contains($0.number) }.map { entry in
                let record = stream.record(entry.number)
                return RepeatAudit.Entry(
                    number: entry.number,
                    topic: record.topic,
                    partition: partition,
                    count: record.count
                )
            }
        }
    }

    /// Outcomes that were met, in order.
    var outcomesMet: Int { settlements.count }

    /// - Parameter index: below ``outcomesMet``.
    func outcome(met index: Int) -> (number: UInt32, token: Int, second: UInt32) {
        let outcome = settlements[index]
        return (outcome.number, Int(outcome.token), firstSettlement + UInt32(outcome.seconds))
    }

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

    /// Makes room for what was met of a place; nil if that cannot be.
    ///
    /// - Returns: the partition's place in ``entries``.
    private mutating func enter(_ number: UInt32, _ partition: RequestPartition, _ offset: Int64) -> Int? {
        // Replays are few: a log far longer than what was published is none of ours.
        guard number >= 1, Int(number) <= records.count, let place = partition.index(among: partitions),
            offset >= 0, offset < 2 * records.count + 10_000
        else { return nil }
        let (record, offset) = (stream.record(number), Int(offset))
        guard record.lane == partition.lane else { return nil }
        if offset >= entries[place].count {
            entries[place] += repeatElement(Entry(), count: offset + 1 - entries[place].count)
        }
        if entries[place][offset].number == 0 {
            entries[place][offset] = Entry(number: number, firstBit: nextBit)
            nextBit += record.count
        }
        return entries[place][offset].number == number ? place : nil
    }

    // MARK: The balance

    var recordsMade: Int { records.count }

    /// Notifications in the logs.
    var published: Int { publishedByLane.values.reduce(0, +) }

    /// Notifications handed to the producer.
    var handedOver: Int { nextRecordBit }

    /// Notifications that have an outcome.
    var outcomes: Int { settled.count }

    /// In the log and without an outcome.
    var missing: Int { published - outcomes }

    /// Proven to be accepted, says the worker, and never were.
    var confirmedWrongly: Int { confirmed.subtracting(accepted) }

    /// Of a lane: in the log and without an outcome, or proven to be accepted and never were.
    func lost(in lane: RequestLane) -> Int {
        let missing = (publishedByLane[lane] ?? 0) - (outcomesByLane[lane] ?? 0)
        let wrong = confirmedWrongly == 0 ? 0 : confirmedWrongly(in: lane)
        return max(0, missing) + wrong
    }

    private func confirmedWrongly(in lane: RequestLane) -> Int {
        records.enumerated().reduce(0) { sum, element in
            let record = stream.record(UInt32(element.offset + 1))
            guard record.lane == lane else { return sum }
            let bits = element.element.firstBit..<element.element.firstBit + record.count
            return sum + bits.count { confirmed[$0] && !accepted[$0] }
        }
    }

    /// Presumed to be accepted, and never were.
    var presumedWrongly: Int { presumed.subtracting(accepted) }

    /// Accepted, and the worker does not say so.
    var acceptedUnclaimed: Int { accepted.subtracting(confirmed.union(presumed)) }

    /// Places of the first few notifications without an outcome.
    func examplesOfMissing(limit: Int) -> [String] {
        var examples: [String] = []
        for (partition, log) in zip(RequestPartition.all(partitions), entries) {
            for (offset, entry) in log.enumerated() where entry.isInLog {
                let count = stream.record(entry.number).count
                let open = (0..<count).filter { !settled[entry.firstBit + $0] }
                guard let first = open.first else { continue }
                examples.append(
                    "\(partition)@\(offset) number \(entry.number): \(open.count) of \(count), first \(first)"
                )
                if examples.count == limit { return examples }
            }
        }
        return examples
    }
}
