import KafkaClient
import PushSchemas
import PushTopics
import TokenState

/// A batch that a ``RecordApplier`` is applying: what has to be acknowledged before its offsets may be committed.
struct BatchInHand {
    /// A change of one of its records.
    struct Item {
        /// The ``BatchInHand/number`` of its batch.
        var batch: UInt32
        /// Index of the record.
        var index: Int
        var change: TokenChange
    }

    /// The records of one partition.
    private struct Extent {
        /// The first record.
        var start: Int64
        /// One past the last record.
        var end: Int64
    }

    /// Tells the answers to this batch from those to one that was given up.
    let number: UInt32
    let records: KafkaBatch
    private var extents: [Int32: Extent] = [:]
    /// Changes in the order of their records that were not begun yet, without ``removals``.
    private var items: [Item] = []
    /// Changes that take others back, in the order of their records.
    private var removals: [Item] = []
    /// The reasons that records cannot be used, by index.
    private(set) var refusals: [Int: RecordRefusal] = [:]
    /// Changes and dead letters without an acknowledgement.
    private(set) var pending = 0
    /// Smaller forms of dead letters that the broker refused, by index of the record.
    private var forms: [Int: DeadLetter.Form] = [:]
    /// Some change takes another one back.
    private(set) var takesBack = false
    /// Some change failed and is made again.
    private var hasFailed = false

    init(number: UInt32, records: KafkaBatch) {
        self.number = number
        self.records = records
        items.reserveCapacity(records.count)
    }

    /// By partition, one past the last record.
    var ends: [Int32: Int64] { extents.mapValues(\.end) }
    /// By partition, the first record.
    var starts: [Int32: Int64] { extents.mapValues(\.start) }
    /// The partitions of its records, without those that were given back.
    var partitions: some Sequence<Int32> { extents.keys }
    /// Nothing of it is to be applied here.
    var isEmpty: Bool { extents.isEmpty }
    /// A further batch may be taken before this one has ended. Not behind changes that take others back: those of the
    /// next batch come after them. Nor while Redis fails, which would have twice as much to take again and again.
    var letsNextFollow: Bool { !takesBack && !hasFailed }
    /// Everything is acknowledged.
    var isFinished: Bool { pending == 0 }

    /// One past the last record of a partition; nil: there is none.
    func end(of partition: Int32) -> Int64? { extents[partition]?.end }

    /// Takes the next record of the batch in.
    mutating func takeRecord(_ index: Int, _ changes: Result<[TokenChange], RecordRefusal>) {
        let message = records[index]
        let offset = message.offset
        extents[message.partition, default: Extent(start: offset, end: offset)].end = offset + 1
        switch changes {
        case .success(let changes):
            for change in changes {
                let item = Item(batch: number, index: index, change: change)
                if change.kind.takesBack { removals.append(item) } else { items.append(item) }
            }
            pending += changes.count
            takesBack = !removals.isEmpty
        case .failure(let refusal):
            refusals[index] = refusal
            pending += 1
        }
    }

    /// The changes to begin with. Each is returned once.
    mutating func takeItems() -> [Item] {
        defer { items = [] }
        return items
    }

    /// Something of the batch was acknowledged.
    mutating func finishOne() { pending -= 1 }

    /// A change has failed, and will be made again.
    mutating func noteFailure() { hasFailed = true }

    /// The changes that take others back, once nothing else is pending: one of the others may have been refused for the
    /// moment, and made again after its successors. Each is returned once.
    mutating func takeRemovals() -> [Item] {
        guard pending == removals.count else { return [] }
        defer { removals = [] }
        return removals
    }

    /// A change of the record is refused for good: its dead letter takes the place of the change. One is enough for a
    /// record.
    ///
    /// - Returns: true: a dead letter is to be published.
    mutating func refuse(_ index: Int, _ refusal: RecordRefusal) -> Bool {
        guard refusals[index] == nil else {
            pending -= 1
            return false
        }
        refusals[index] = refusal
        return true
    }

    /// The record's partition was given back: its next owner applies it.
    func isForeign(_ index: Int) -> Bool { extents[records[index].partition] == nil }

    /// Leaves the records of partitions to their next owner.
    mutating func leave(_ partitions: [Int32]) {
        for partition in partitions { extents[partition] = nil }
    }

    // MARK: Dead letters

    /// The dead letter of a record, as it is to be published next.
    func deadLetter(of index: Int, source: String) -> DeadLetter? {
        refusals[index].map { refusal in
            DeadLetter(
                source: source,
                offset: records[index].offset,
                reason: refusal.reason,
                detail: refusal.detail,
                form: forms[index] ?? .whole
            )
        }
    }

    /// The broker refused a dead letter for good.
    ///
    /// - Returns: true: it has a smaller form, in which it is to be published.
    mutating func shrinkDeadLetter(of index: Int) -> Bool {
        guard let smaller = (forms[index] ?? .whole).smaller else { return false }
        forms[index] = smaller
        return true
    }

    /// The number of a dead letter for its producer; never one of a ``TombstonePublisher``.
    func opaque(of index: Int) -> UInt64 { UInt64(number) << Self.indexBits | UInt64(index) }

    /// The batch and the record of a dead letter's number.
    static func parse(opaque: UInt64) -> (batch: UInt32, index: Int) {
        (UInt32(truncatingIfNeeded: opaque >> indexBits), Int(opaque & (1 << indexBits - 1)))
    }

    /// Leaves the highest bit to tombstones.
    private static let indexBits: UInt64 = 31
}
