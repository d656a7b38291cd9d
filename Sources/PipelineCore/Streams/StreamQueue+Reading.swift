/// Facts about single notifications.
extension StreamQueue {
    /// The notification at the slot of a ticket or verdict.
    public func reference(at slot: Int) -> NotificationReference { slab.entries[slot].reference }

    public func checksum(at slot: Int) -> UInt32 { slab.entries[slot].checksum }

    public func content(at slot: Int) -> UInt32 { slab.entries[slot].content }

    /// The time of the latest sending of a notification that was sent.
    public func sentAt(_ slot: Int) -> MonotonicTime { slab.entries[slot].time }

    /// Valid until the next call of ``append(_:token:checksum:content:)``, and no longer than the notification.
    public func token(at slot: Int) -> UnsafeRawBufferPointer { slab.token(slot) }

    /// The connection and the stream of a request; nil if the ticket is old.
    public func place(of ticket: StreamTicket) -> (connection: UInt32, stream: Int32)? {
        slotInFlight(ticket).map { (slab.entries[$0].connection, slab.entries[$0].stream) }
    }
}
