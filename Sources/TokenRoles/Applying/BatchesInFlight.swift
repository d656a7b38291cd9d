/// The batches of a ``RecordApplier`` without all acknowledgements, oldest first. Pure.
///
/// While Redis works on one batch the next one is read and sent. Changes of two batches may be made in any order, also
/// when the older ones fail and are made again: the scripts decide by timestamps (``TokenChange``). Positions may not
/// skip records, and what takes others back needs their order. So:
///
///     taken ─▶ sent ─▶ all acknowledged ─▶ ended, after all older batches
///                                           ▲
///     its removals: sent when the rest is acknowledged and no older batch is left; nothing is taken behind them
///
/// A batch whose partitions were all given back is dropped at once, wherever it stands.
struct BatchesInFlight {
    /// Most batches. Two keep both sides busy: one is at Redis while the next one is made ready. More would only take
    /// longer to give back.
    static let limit = 2

    private var batches: [BatchInHand] = []

    var isEmpty: Bool { batches.isEmpty }

    /// A further batch may be taken.
    var mayTake: Bool { batches.count < Self.limit && batches.allSatisfy(\.letsNextFollow) }

    /// The partitions with records in flight.
    var partitions: Set<Int32> { batches.reduce(into: []) { $0.formUnion($1.partitions) } }

    /// The numbers of the batches, oldest first.
    var numbers: [UInt32] { batches.map(\.number) }

    /// A record is in flight already. librdkafka may deliver it a second time, as it may after a pause.
    func holds(_ partition: Int32, offset: Int64) -> Bool {
        batches.contains { batch in batch.end(of: partition).map { offset < $0 } ?? false }
    }

    /// A batch by its number; nil: it has ended, or was dropped.
    subscript(number: UInt32) -> BatchInHand? { batches.first { $0.number == number } }

    func contains(_ number: UInt32) -> Bool { batches.contains { $0.number == number } }

    /// The record's partition was given back, or its whole batch is gone.
    func isForeign(_ item: BatchInHand.Item) -> Bool {
        self[item.batch]?.isForeign(item.index) ?? true
    }

    /// Takes the next batch in. There is room for it.
    mutating func take(_ batch: BatchInHand) {
        precondition(batches.count < Self.limit, "a batch more than may be in flight")
        batches.append(batch)
    }

    /// Changes a batch.
    ///
    /// - Returns: nil: it has ended, or was dropped.
    @discardableResult
    mutating func update<Value>(_ number: UInt32, _ body: (inout BatchInHand) -> Value) -> Value? {
        guard let index = batches.firstIndex(where: { $0.number == number }) else { return nil }
        return body(&batches[index])
    }

    /// The changes of the oldest batch that take others back, once nothing else of it is pending. Each is returned
    /// once.
    mutating func takeRemovals() -> [BatchInHand.Item] {
        batches.isEmpty ? [] : batches[0].takeRemovals()
    }

    /// Ends the oldest batch, if everything of it is acknowledged. A finished batch behind it waits, and so does a
    /// revocation of its partitions: at most for as long as for the oldest.
    ///
    /// - Returns: one past its last offsets, by partition; nil: it goes on.
    mutating func takeFinished() -> [Int32: Int64]? {
        guard !batches.isEmpty, batches[0].isFinished else { return nil }
        return batches.removeFirst().ends
    }

    /// Leaves the records of partitions to their next owner. A batch that has no others is dropped; those behind it may
    /// have become finished.
    mutating func leave(_ partitions: [Int32]) {
        for index in batches.indices { batches[index].leave(partitions) }
        batches.removeAll(where: \.isEmpty)
    }
}
