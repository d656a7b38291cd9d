import APNsProtocol

/// Broadcasts over channels. They stand in books of their own: one of them reaches many devices.
extension TopicLedger {
    /// Takes a broadcast whose request is in order, and delivers it to the subscribers that are online.
    ///
    /// - Returns: the refusal; nil: accepted.
    mutating func broadcast(_ notification: RoutedNotification, to id: String, now: UInt32) -> RequestRefusal? {
        guard let channel = channels[id] else { return RequestRefusal(.channelNotRegistered) }
        // "Providing a nonzero expiration for a channel … with the No Message Stored storage policy results in message
        // rejection" [later]; the reason is [ours].
        guard notification.expiration == 0 || channel.storesMessages else { return RequestRefusal(.badExpirationDate) }
        channels.noteAcceptance(id, mark: PayloadReading.read(notification.payload).mark)
        let isDue = notification.expiration == 0 || notification.expiration > now
        var delivered = 0
        var missed = 0
        for range in channel.subscribers.ranges {
            for device in range {
                guard isDue, population.state(Int(device)) == .online else {
                    missed += 1
                    continue
                }
                delivered += 1
                deliver(notification, to: device)
            }
        }
        channels.noteDelivery(delivered: delivered, missed: missed)
        return nil
    }

    private mutating func deliver(_ notification: RoutedNotification, to device: UInt32) {
        trace.noteEvent(.delivered, device: device)
        guard outbox.hasDevice(device) else { return }
        outbox.append(
            CourierOutbox.Delivery(
                instance: population.instance(Int(device)),
                payload: Array(notification.payload),
                expiration: notification.expiration,
                priority: notification.priority,
                pushType: notification.pushType,
                isBroadcast: true
            )
        )
    }
}
