import APNsProtocol

/// Broadcasts over channels. They stand in books of their own: one of them reaches many devices.
extension DeviceLedger {
    /// Takes a broadcast whose request is in order, and delivers it to the subscribers that are online. Where the
    /// channel's policy says so it waits for the others.
    ///
    /// - Returns: the refusal; nil: accepted.
    mutating func broadcast(_ notification: RoutedNotification, to id: String, now: UInt32) -> RequestRefusal? {
        guard let channel = channels[id] else { return RequestRefusal(.channelNotRegistered) }
        // "Providing a nonzero expiration for a channel … with the No Message Stored storage policy results in message
        // rejection" [later]; the reason is [ours].
        guard notification.expiration == 0 || channel.storesMessages else { return RequestRefusal(.badExpirationDate) }
        let message = BroadcastMessage(
            payload: Array(notification.payload),
            expiration: notification.expiration,
            priority: notification.priority
        )
        let mark = PayloadReading.read(notification.payload).mark
        let population = population
        let shared = channels.broadcast(message, mark: mark, to: id, now: now) { device in
            switch population.state(Int(device)) {
            case .online: .takes
            case .offline: .waits
            case .uninstalled, .removed: .misses
            }
        }
        guard let shared else { return nil }
        for device in shared.reached { deliver(message, shared.name, to: device) }
        return nil
    }

    /// Finds the fate of the broadcasts that wait for a device which has changed its state. They are not for a token,
    /// so that a new one takes nothing from it [ours].
    mutating func settleBroadcasts(_ device: UInt32, _ reachability: DevicePopulation.Reachability, now: UInt32) {
        switch reachability {
        case .online:
            for (name, message) in channels.takeStored(for: device, now: now) { deliver(message, name, to: device) }
        case .offline:
            break
        case .uninstalled, .removed:
            channels.dropStored(for: device)
        }
    }

    private mutating func deliver(_ message: BroadcastMessage, _ name: BroadcastName, to device: UInt32) {
        trace.noteEvent(.delivered, device: device)
        guard outbox.hasDevice(device) else { return }
        outbox.append(
            CourierOutbox.Delivery(
                instance: population.instance(Int(device)),
                payload: message.payload,
                expiration: message.expiration,
                priority: message.priority,
                pushType: .liveactivity,
                broadcast: name
            )
        )
    }
}
