import LocalPipeline
import PipelineCore
import PushSchemas

/// Place in push.requests of a published notification.
struct NotificationPlace: Equatable, Sendable {
    var partition: Int32
    var position: DoneRanges.Position
}

/// The published notifications, as the broker's log has them, and their fates.
///
/// Published is what stands in push.requests: a producer that got no answer may have a record twice there, and then
/// both are due an outcome. Outcomes are deduplicated by (partition, offset, token index). What the gateway accepted is
/// told apart by (token, number of the record).
///
/// Memory: five bits, the 40 bytes of its record's share and 8 bytes for each outcome per notification: below 20 bytes
/// each at 50 tokens a record, for as long as few outcomes come twice.
struct ChaosBooks {
    let stream: RequestStream

    /// Notifications in the log.
    private(set) var published = 0
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
    /// By partition and offset.
    private var entries: [[Entry]]
    /// By partition: the highest number met in its log.
    private var lastNumber: [UInt32]
    private var nextBit = 0
    private var settled = Bitset()
    /// By number − 1: first bit of its tokens in the sets below, and where the log has it first; offset −1: nowhere.
    private var records: [(firstBit: Int, partition: Int32, offset: Int64)] = []
    /// Numbers of records that stand in the log more than once.
    private var replayed: Set<UInt32> = []
    private var nextRecordBit = 0
    private var confirmed = Bitset()
    private var presumed = Bitset()
    private var accepted = Bitset()
    /// Had an outcome other than being accepted.
    private var ended = Bitset()

    init(stream: RequestStream, partitions: Int) {
        self.stream = stream
        entries = Array(repeating: [], count: partitions)
        lastNumber = Array(repeating: 0, count: partitions)
    }

    // MARK: Entering

    /// The next record, to be handed to the producer.
    mutating func nextRecord() -> RequestStream.Record {
        let record = stream.record(UInt32(records.count + 1))
        records.append((nextRecordBit, 0, -1))
        nextRecordBit += record.count
        return record
    }

    /// A record stands in push.requests.
    mutating func noteRecord(number: UInt32, partition: Int32, offset: Int64) {
        guard enter(number, partition, offset) else {
            strange += 1
            return
        }
        let place = Int(partition)
        guard !entries[place][Int(offset)].isInLog else { return }
        entries[place][Int(offset)].isInLog = true
        published += stream.record(number).count
        if records[Int(number) - 1].offset >= 0 {
            replays += 1
            replayed.insert(number)
        } else {
            records[Int(number) - 1].partition = partition
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
        guard let number = UInt32(outcome.requestID), enter(number, outcome.sourcePartition, outcome.sourceOffset),
            Int(outcome.tokenIndex) < stream.record(number).count
        else {
            strange += 1
            return
        }
        if settlements.isEmpty { firstSettlement = second }
        let seconds = UInt16(clamping: Int(second) - Int(firstSettlement))
        settlements.append(Settlement(number: number, seconds: seconds, token: UInt8(outcome.tokenIndex)))
        let entry = entries[Int(outcome.sourcePartition)][Int(outcome.sourceOffset)]
        if settled.insert(entry.firstBit + Int(outcome.tokenIndex)) {
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
        return NotificationPlace(partition: record.partition, position: position)
    }

    // MARK: Looking back

    /// The records that stand in the log once, by partition and offset.
    var log: [RepeatAudit.Entry] {
        entries.indices.flatMap { partition in
            entries[partition].filter { $0.isInLog && !replayed.contains($0.number) }.map { entry in
                let record = stream.record(entry.number)
                return RepeatAudit.Entry(
                    number: entry.number,
                    topic: record.topic,
                    partition: Int32(partition),
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

    /// Makes room for what was met of a place; false if that cannot be.
    private mutating func enter(_ number: UInt32, _ partition: Int32, _ offset: Int64) -> Bool {
        // Replays are few: a log far longer than what was published is none of ours.
        guard number >= 1, Int(number) <= records.count, entries.indices.contains(Int(partition)),
            offset >= 0, offset < 2 * records.count + 10_000
        else { return false }
        let (partition, offset) = (Int(partition), Int(offset))
        if offset >= entries[partition].count {
            entries[partition] += repeatElement(Entry(), count: offset + 1 - entries[partition].count)
        }
        if entries[partition][offset].number == 0 {
            entries[partition][offset] = Entry(number: number, firstBit: nextBit)
            nextBit += stream.record(number).count
        }
        return entries[partition][offset].number == number
    }

    // MARK: The balance

    var recordsMade: Int { records.count }

    /// Notifications handed to the producer.
    var handedOver: Int { nextRecordBit }

    /// Notifications that have an outcome.
    var outcomes: Int { settled.count }

    /// In the log and without an outcome.
    var missing: Int { published - outcomes }

    /// Proven to be accepted, says the worker, and never were.
    var confirmedWrongly: Int { confirmed.subtracting(accepted) }

    /// Presumed to be accepted, and never were.
    var presumedWrongly: Int { presumed.subtracting(accepted) }

    /// Accepted, and the worker does not say so.
    var acceptedUnclaimed: Int { accepted.subtracting(confirmed.union(presumed)) }

    /// Places of the first few notifications without an outcome.
    func examplesOfMissing(limit: Int) -> [String] {
        var examples: [String] = []
        for (partition, log) in entries.enumerated() {
            for (offset, entry) in log.enumerated() where entry.isInLog {
                let count = stream.record(entry.number).count
                let open = (0..<count).filter { !settled[entry.firstBit + $0] }
                guard let first = open.first else { continue }
                examples.append(
                    "push.requests[\(partition)]@\(offset) number \(entry.number): \(open.count) of \(count), first \(first)"
                )
                if examples.count == limit { return examples }
            }
        }
        return examples
    }
}
