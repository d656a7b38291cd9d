/// Limits sending while the topic does not work, or must not send.
extension LaneStateMachine {
    /// Changes the admission. This ends a wait for a refused topic or certificate: the breaker decides on the next
    /// attempt. It may have stopped long before the refusal, for another lane, so the floor after a failure stays.
    public mutating func admit(_ admission: Admission) {
        guard self.admission != admission else { return }
        self.admission = admission
        if admission == .none {
            retire()
        } else if waitCause == .topic, case .waiting(let until) = phase {
            phase = .waiting(until: min(until, floorEndsAt))
        }
    }

    /// Ends the connection, and opens no other: the topic does not work.
    public mutating func suspend() {
        admit(.none)
        retire()
        successor = nil
    }

    /// Lets nothing be written and no connection be opened, or both again.
    public mutating func hold(_ isHeld: Bool) { self.isHeld = isHeld }

    /// Something may be written, as far as the connection and the whole worker go.
    public var mayWrite: Bool { phase == .open && !isEnding && !isHeld }

    /// Removes waiting notifications of a partition that another stage takes over.
    ///
    /// - Parameter isTaken: returns whether the notification goes elsewhere; it gets no outcome from this lane.
    /// - Returns: the removed notifications, in order.
    public mutating func takeWaiting(
        assignment: UInt32,
        where isTaken: (NotificationReference) -> Bool
    ) -> [NotificationReference] {
        let taken = log.drop(assignment: assignment, from: sentEnd, where: isTaken)
        passDropped()
        return taken
    }

    /// Takes notifications away that are not sent, of all assignments, by their frames too.
    ///
    /// - Parameters:
    ///   - start: the sequence number of the first notification to look at.
    ///   - isTaken: returns whether the notification goes elsewhere; it gets no outcome from this lane.
    /// - Returns: the removed notifications, in order.
    public mutating func takeWaiting(
        from start: UInt64,
        where isTaken: (NotificationReference, _ frame: UnsafeRawBufferPointer) -> Bool
    ) -> [NotificationReference] {
        let taken = log.drop(from: max(start, sentEnd), where: isTaken)
        passDropped()
        return taken
    }
}
