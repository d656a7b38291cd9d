import PipelineCore
import PushSchemas

/// The way through a batch that is routed: record by record, portion by portion, in one turn or in several.
struct BatchRoute {
    let batch: PreparedBatch
    /// The records to route, as indices into the batch.
    private let rows: [Int]
    /// Nothing of the batch is left behind in the look-up, and nothing of those before it.
    let isInOrder: Bool
    /// The number of records that were routed.
    private var ended = 0
    /// The order in which the record's payloads are sent, as far as it was found; nil: not begun, or found.
    var plan: PortionPlan?
    /// Of a record with several payloads; nil: not known yet.
    var portions: [PortionPlan.Portion]?
    /// The portions of the record that were routed; notifications, if it has one payload.
    var done = 0
    /// Positions within the record for which there is no payload, with the reason.
    var faults: [(position: Int, fault: RecordRefusal)] = []

    init(_ batch: PreparedBatch, _ rows: [Int], isInOrder: Bool) {
        self.batch = batch
        self.rows = rows
        self.isInOrder = isInOrder
    }

    /// The record being routed; nil: all were.
    var record: PreparedRecord? { ended < rows.count ? batch.records[rows[ended]] : nil }

    /// The next portion of the record; nil: there is none.
    var portion: PortionPlan.Portion? {
        guard let portions, done < portions.count else { return nil }
        return portions[done]
    }

    /// The record was routed, or has left.
    mutating func endRecord() {
        ended += 1
        done = 0
        plan = nil
        portions = nil
        faults = []
    }

    /// The tokens without a payload, one entry for each reason.
    func faultsByReason(of record: PreparedRecord) -> [(fault: RecordRefusal, tokens: TokenRuns)] {
        var found = TokenFaults()
        for (position, fault) in faults.sorted(by: { $0.position < $1.position }) {
            found.add(fault, at: batch.positions[record.notifications.lowerBound + position])
        }
        return found.found
    }
}
