/// Notifications that leave without a verdict.
extension StreamQueue {
    /// Stops sending notifications of a partition that is being revoked. Those in flight may still settle, but do not
    /// go again.
    public mutating func stopSending(assignment: UInt32) {
        leave(assignment, .staysHere)
    }

    /// Forgets a partition that is gone: none of its notifications is sent again or gets an outcome, whatever the
    /// answer. Those in flight still keep newer ones of their tokens waiting.
    public mutating func forget(assignment: UInt32) {
        leave(assignment, .isForgotten)
    }

    /// Removes waiting notifications of a partition that another stage takes over.
    ///
    /// - Parameter isTaken: returns whether the notification goes elsewhere.
    /// - Returns: the removed notifications, in the order of record and token.
    public mutating func takeWaiting(
        assignment: UInt32,
        where isTaken: (NotificationReference) -> Bool
    ) -> [NotificationReference] {
        guard waitingCount > 0 else { return [] }
        var taken: [NotificationReference] = []
        eachSlot(of: assignment) { queue, slot in
            let entry = queue.slab.entries[slot]
            guard entry.isWaiting, isTaken(entry.reference) else { return }
            taken.append(entry.reference)
            queue.drop(slot)
        }
        return taken.sorted { ($0.record, $0.token) < ($1.record, $1.token) }
    }

    /// Removes the waiting notifications of a token, including those to be sent again. The caller gives them their
    /// outcome.
    ///
    /// - Parameters:
    ///   - checksum: CRC-32 of the token.
    ///   - isMeant: returns whether notifications with a content go.
    /// - Returns: the removed notifications, oldest first.
    public mutating func discard(
        checksum: UInt32,
        token: UnsafeRawBufferPointer,
        where isMeant: (_ content: UInt32) -> Bool = { _ in true }
    ) -> [NotificationReference] {
        var discarded: [NotificationReference] = []
        for slot in chain(of: checksum) where slab.entries[slot].isWaiting {
            guard slab.token(slot).elementsEqual(token), isMeant(slab.entries[slot].content) else { continue }
            discarded.append(slab.entries[slot].reference)
            drop(slot)
        }
        return discarded
    }

    /// The troubled notifications of a partition that wait or are to be sent again.
    public mutating func troubles(assignment: UInt32) -> [(NotificationReference, NotificationTrouble)] {
        var troubles: [(NotificationReference, NotificationTrouble)] = []
        eachSlot(of: assignment) { queue, slot in
            let entry = queue.slab.entries[slot]
            let trouble = NotificationTrouble(
                refusals: entry.refusals,
                loneCloses: entry.loneCloses,
                retriedSince: entry.retriedSince
            )
            if entry.isWaiting && trouble.isThere { troubles.append((entry.reference, trouble)) }
        }
        return troubles
    }

    private mutating func leave(_ assignment: UInt32, _ leave: StreamEntry.Leave) {
        eachSlot(of: assignment) { queue, slot in
            switch queue.slab.entries[slot].state {
            case .free, .settled: break
            case .inFlight: queue.slab.entries[slot].leave = max(queue.slab.entries[slot].leave, leave)
            case .waiting, .passedOver, .again, .suspect, .asleep: queue.drop(slot)
            }
        }
    }
}
