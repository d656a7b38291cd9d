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

    /// Removes waiting notifications that another stage takes over.
    ///
    /// - Parameter isTaken: returns whether the notification goes elsewhere.
    /// - Returns: the removed notifications, in the order of partition, record and token.
    public mutating func takeWaiting(where isTaken: (NotificationReference) -> Bool) -> [NotificationReference] {
        guard waitingCount > 0 else { return [] }
        var taken: [NotificationReference] = []
        for slot in 0..<slab.capacity where slab.entries[slot].isWaiting {
            let reference = slab.entries[slot].reference
            guard isTaken(reference) else { continue }
            taken.append(reference)
            drop(slot)
        }
        return taken.sorted { ($0.assignment, $0.record, $0.token) < ($1.assignment, $1.record, $1.token) }
    }

    /// Removes the waiting notifications of a token, including those to be sent again. The caller gives them their
    /// outcome.
    ///
    /// - Parameter checksum: CRC-32 of the token.
    /// - Returns: the removed notifications, oldest first.
    public mutating func discard(checksum: UInt32, token: UnsafeRawBufferPointer) -> [NotificationReference] {
        var discarded: [NotificationReference] = []
        for slot in chain(of: checksum) where slab.entries[slot].isWaiting {
            guard slab.token(slot).elementsEqual(token) else { continue }
            discarded.append(slab.entries[slot].reference)
            drop(slot)
        }
        return discarded
    }

    /// The troubled notifications that wait or are to be sent again.
    public var troubles: [(NotificationReference, NotificationTrouble)] {
        (0..<slab.capacity).compactMap { slot in
            let entry = slab.entries[slot]
            let trouble = NotificationTrouble(
                refusals: entry.refusals,
                loneCloses: entry.loneCloses,
                retriedSince: entry.retriedSince
            )
            return entry.isWaiting && trouble.isThere ? (entry.reference, trouble) : nil
        }
    }

    private mutating func leave(_ assignment: UInt32, _ leave: StreamEntry.Leave) {
        for slot in 0..<slab.capacity where slab.entries[slot].reference.assignment == assignment {
            switch slab.entries[slot].state {
            case .free, .settled: break
            case .inFlight: slab.entries[slot].leave = max(slab.entries[slot].leave, leave)
            case .waiting, .passedOver, .again, .suspect, .asleep: drop(slot)
            }
        }
    }
}
