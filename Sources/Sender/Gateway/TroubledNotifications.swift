import PipelineCore

/// Remembers earlier trouble of a topic's notifications that were given up to be fed anew.
///
/// Otherwise a notification that makes the gateway close silently would never become a dead letter once its topic has
/// stopped: every probe would count as the first.
struct TroubledNotifications {
    private struct Place: Hashable {
        var partition: Int32
        var offset: Int64
        var token: UInt32
    }

    /// Most notifications remembered: more have a gateway's trouble, not their own.
    private static let most = 1024

    private var troubles: [Place: NotificationTrouble] = [:]

    var isEmpty: Bool { troubles.isEmpty }

    mutating func keep(_ trouble: NotificationTrouble, of reference: NotificationReference, _ feed: AppFeed) {
        guard let offset = feed.ledger.frontier.offset(of: reference.record) else { return }
        if troubles.count >= Self.most { troubles = [:] }
        troubles[Place(partition: feed.partition.number, offset: offset, token: reference.token)] = trouble
    }

    /// Takes the earlier trouble of a notification that is sent once more.
    mutating func takeTrouble(of reference: NotificationReference, _ feed: AppFeed) -> NotificationTrouble? {
        guard let offset = feed.ledger.frontier.offset(of: reference.record) else { return nil }
        return troubles.removeValue(
            forKey: Place(partition: feed.partition.number, offset: offset, token: reference.token)
        )
    }
}
