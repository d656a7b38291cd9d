/// Counts the failures of one notification so far, so that its attempts are limited in all lanes together.
public struct NotificationTrouble: Equatable, Sendable {
    /// Error responses that named the notification.
    public var refusals: UInt8
    /// Connections that ended silently while the notification was alone in flight.
    public var loneCloses: UInt8
    /// The time of the first answer that asked for a later attempt; nil: there was none, or over the binary interface.
    public var retriedSince: MonotonicTime?

    public init(refusals: UInt8, loneCloses: UInt8, retriedSince: MonotonicTime? = nil) {
        self.refusals = refusals
        self.loneCloses = loneCloses
        self.retriedSince = retriedSince
    }

    var isThere: Bool { refusals > 0 || loneCloses > 0 }
}

extension LaneStateMachine {
    /// The troubled notifications of a partition that wait or are to be sent again.
    public mutating func troubles(assignment: UInt32) -> [(NotificationReference, NotificationTrouble)] {
        log.troubles(assignment: assignment, from: sentEnd)
    }

    /// Adds earlier trouble to the notification committed last, which was sent before.
    public mutating func inheritTrouble(_ trouble: NotificationTrouble) {
        precondition(sentEnd < log.tail)
        log.inheritTrouble(trouble)
    }
}
