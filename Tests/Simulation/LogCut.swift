/// The lost end of a partition's log: a leader was elected that lacked its last records, and takes new ones at their
/// offsets.
struct LogCut {
    let partition: Int32
    /// One past the last record that is left.
    let end: Int64
    /// New records below this offset may have been passed unread: some position or mark was as far as that.
    let passed: Int64
    let lost: [SimulatedBroker.Stored]
    /// Clients compare leader epochs: they notice the cut even when the log has grown past their position.
    let hasEpochs: Bool
    /// The new leader answers fetches from this time on.
    let fetchesFrom: VirtualTime
    /// The new leader answers questions about its log from this time on.
    let questionsFrom: VirtualTime
    /// An operator has set the partition to where its log was cut, or before.
    var isMended = false
}

/// A client's position in the log of a partition.
struct LogPosition {
    var offset: Int64
    /// The record before it was read when the log was whole: the client knows the epoch of the former leader.
    var isOfFormerLog = false
}
