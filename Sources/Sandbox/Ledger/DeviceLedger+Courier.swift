import APNsProtocol

/// Changes to a topic by a device that is connected to the courier.
extension DeviceLedger {
    /// The fate of a token that a device presents as its own.
    enum Presentation: Equatable {
        /// The device is online for the topic; what is stored for it is in the outbox.
        case online
        /// The app was given another token since.
        case outdated
        /// The device has no such app.
        case missing
        /// A newer connection of the device is there.
        case replaced
    }

    /// A device shows the token it has, as at every connect [13].
    mutating func present(_ instance: AppInstance, connection: UInt64, now: UInt32) -> Presentation {
        guard let reachability = population.reachability(of: instance) else { return .outdated }
        guard reachability != .uninstalled else { return .missing }
        guard outbox.attach(instance.device, connection: connection) else { return .replaced }
        set(Int(instance.device), .online, now: now)
        return .online
    }

    /// The app is there, newly or as before, and wants to know its token [13].
    ///
    /// - Returns: what its token has to name; `nil` when a newer connection of the device is there.
    mutating func install(_ device: UInt32, connection: UInt64, now: UInt32) -> AppInstance? {
        guard outbox.attach(device, connection: connection) else { return nil }
        set(Int(device), .online, now: now)
        return population.instance(Int(device))
    }

    /// The device was wiped, or its content moved to another one: the app has another token, the one before it is
    /// invalid from now on [13].
    ///
    /// - Returns: what the new token has to name; `nil` when a newer connection of the device is there.
    mutating func renew(_ device: UInt32, connection: UInt64, now: UInt32) -> AppInstance? {
        guard outbox.attach(device, connection: connection) else { return nil }
        return renew(Int(device), now: now)
    }

    /// The app is gone: what comes for it from now on, and what its device has not taken, is for the feedback list.
    mutating func uninstall(_ device: UInt32, now: UInt32) {
        set(Int(device), .uninstalled, now: now)
        takeBack(outbox.detach(device) ?? [], now: now)
    }

    /// The device's connection is gone: it is offline, and what it has not taken is treated like anything that comes
    /// for an offline device. Nothing happens when a newer connection has taken over.
    mutating func leave(_ device: UInt32, connection: UInt64, now: UInt32) {
        guard let untaken = outbox.detach(device, connection: connection) else { return }
        if population.reachability(of: population.instance(Int(device))) == .online {
            set(Int(device), .offline, now: now)
        }
        takeBack(untaken, now: now)
    }

    /// Finds another fate for notifications that were counted as delivered but never taken by their device.
    mutating func takeBack(_ deliveries: [CourierOutbox.Delivery], now: UInt32) {
        for delivery in deliveries {
            if let broadcast = delivery.broadcast {
                let device = delivery.instance.device
                let isOffline = population.state(Int(device)) == .offline
                channels.takeBack(broadcast, from: device, isOffline: isOffline)
                continue
            }
            let isValid = delivery.payload.withUnsafeBytes { PayloadReading.read($0).isValid }
            counters.delivered -= 1
            if !isValid { counters.invalidJSON -= 1 }
            guard let reachability = population.reachability(of: delivery.instance) else {
                // Like what is stored for a token that is not valid any more.
                counters.expired += 1
                continue
            }
            delivery.withRouted { route($0, to: delivery.instance, reachability, isValid: isValid, now: now) }
        }
    }
}

extension CourierOutbox.Delivery {
    /// The notification as it came, without its token.
    fileprivate func withRouted(_ body: (RoutedNotification) -> Void) {
        payload.withUnsafeBytes { payload in
            collapseID.withUnsafeBytes { collapseID in
                body(
                    RoutedNotification(
                        expiration: expiration,
                        priority: priority,
                        payload: payload,
                        pushType: pushType,
                        collapseID: collapseID
                    )
                )
            }
        }
    }
}
