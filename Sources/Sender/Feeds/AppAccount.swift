import PipelineCore

/// A shard's holdings of one topic over all partitions, and its feeding limit.
///
/// Bound to the shard's event loop.
final class AppAccount {
    /// Nil: records that concern no topic.
    let topic: Topic?
    /// Of an account without a topic.
    private let ownFeeding: AppFlow.Feeding
    /// Notifications taken in and not behind their cursors.
    private(set) var notifications = 0
    private(set) var bytes = 0
    /// Most notifications in time, while ``Feeding/all`` holds; nil: as many as fit.
    var pace: Pace?
    /// Most tokens that stay in the lane, if ``Topic/urgentQuota`` says so; nil: no record has come yet.
    var quota: UrgentQuota?
    /// Records with a shard in their keys were met.
    var hasShards = false

    /// - Parameter feeding: of an account without a topic.
    init(_ topic: Topic?, feeding: AppFlow.Feeding = .all) {
        self.topic = topic
        ownFeeding = feeding
    }

    /// The limit of feeding.
    var feeding: AppFlow.Feeding { topic?.flow.feeding ?? ownFeeding }

    /// The topic is only probed.
    var isProbed: Bool { feeding.isForProbe }

    /// Adds a change of the ledger of one of its feeds.
    func addChange(notifications: Int, bytes: Int) {
        self.notifications += notifications
        self.bytes += bytes
    }
}
