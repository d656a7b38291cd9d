import PipelineCore

/// A shard's holdings of one topic over all partitions, and its feeding limit.
///
/// Bound to the shard's event loop.
final class TopicAccount {
    /// The limit of feeding for the topic.
    enum Feeding: Equatable {
        /// As much as fits.
        case all
        /// This many notifications at a time: the topic is being probed, or waits for that.
        case notifications(Int)
        /// The topic's records become dead letters, this many until the next tick.
        case deadLetters(records: Int)
        /// Nothing but what ends without being sent, because an operator has discarded it.
        case discards
        case nothing
    }

    /// Nil: records that concern no topic.
    let topic: Topic?
    var feeding = Feeding.all
    /// Notifications taken in and not behind their cursors.
    private(set) var notifications = 0
    private(set) var bytes = 0
    /// Most notifications in time, while ``Feeding/all`` holds; nil: as many as fit.
    var pace: Pace?
    /// Records with a shard in their keys were met.
    var hasShards = false

    /// Its bundle has a certificate, as of a generation of them; nil: nobody has looked.
    private var certificate: (isThere: Bool, generation: UInt64)?

    init(_ topic: Topic?) {
        self.topic = topic
    }

    /// The topic is only probed.
    var isProbed: Bool {
        if case .notifications = feeding { true } else { false }
    }

    /// Looks whether the bundle has a certificate, if that may have changed.
    ///
    /// - Parameter generation: see ``GatewayConnectors/generation``.
    func hasCertificate(as generation: UInt64?, look: () -> Bool) -> Bool {
        if let certificate, certificate.generation == generation { return certificate.isThere }
        let isThere = look()
        certificate = generation.map { (isThere, $0) }
        return isThere
    }

    /// Adds a change of the ledger of one of its feeds.
    func addChange(notifications: Int, bytes: Int) {
        self.notifications += notifications
        self.bytes += bytes
    }
}
