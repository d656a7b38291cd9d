/// Counts what went wrong with one notification so far, so that its last attempt is the last one wherever it is sent from.
public struct NotificationTrouble: Equatable, Sendable {
    /// Error responses that named it.
    public var refusals: UInt8
    /// Connections that ended without a word while it was alone in flight.
    public var loneCloses: UInt8

    public init(refusals: UInt8, loneCloses: UInt8) {
        self.refusals = refusals
        self.loneCloses = loneCloses
    }

    var isThere: Bool { refusals > 0 || loneCloses > 0 }
}

extension LaneStateMachine {
    /// Notifications that wait, or are to be sent again, and that something went wrong with.
    public var troubles: [(NotificationReference, NotificationTrouble)] { log.troubles(from: sentEnd) }

    /// The notification committed last was sent before, and this went wrong.
    public mutating func inheritTrouble(_ trouble: NotificationTrouble) {
        precondition(sentEnd < log.tail)
        log.inheritTrouble(trouble)
    }
}
