import PipelineCore

/// What a shard holds of one topic, over all partitions, and how much more it may take.
///
/// Lives on the shard's event loop.
final class TopicAccount {
    /// How much of the topic is fed.
    enum Feeding: Equatable {
        /// As much as there is room for.
        case all
        /// So many notifications at a time: it is probed, or waits for that.
        case notifications(Int)
        /// Its records become dead letters, so many until the next tick.
        case deadLetters(records: Int)
        case nothing
    }

    /// Nil: records that concern no topic.
    let topic: Topic?
    var feeding = Feeding.all
    /// Records taken in and not behind their cursors.
    private(set) var records = 0
    private(set) var notifications = 0
    private(set) var bytes = 0

    init(_ topic: Topic?) {
        self.topic = topic
    }

    /// The ledger of one of its feeds has changed.
    func note(records: Int, notifications: Int, bytes: Int) {
        self.records += records
        self.notifications += notifications
        self.bytes += bytes
    }
}
