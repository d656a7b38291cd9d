/// What of a lane may go out while its topic does not work, or may not.
extension LaneStateMachine {
    public enum Admission: Equatable, Sendable {
        case all
        /// One notification in flight at a time: a probe.
        case one
        /// Nothing, and no connection: an open one comes to its end.
        case none
    }

    /// Changes what may go out. A wait that the topic's refusal asked for is over: the breaker knows when to try again.
    public mutating func admit(_ admission: Admission) {
        guard self.admission != admission else { return }
        self.admission = admission
        if admission == .none {
            retire()
        } else if waitsForTopic, case .waiting = phase {
            phase = .disconnected
        }
    }

    /// Takes what waits out of the line, as long as somebody takes it over.
    ///
    /// - Parameter isTaken: whether the notification goes elsewhere; it gets no outcome from here.
    /// - Returns: what was taken, in order.
    public mutating func takeWaiting(where isTaken: (NotificationReference) -> Bool) -> [NotificationReference] {
        let taken = log.drop(from: sentEnd, where: isTaken)
        passDropped()
        return taken
    }
}
