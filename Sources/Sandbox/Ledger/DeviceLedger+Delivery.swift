import APNsProtocol

/// Routes a notification after it was accepted.
extension DeviceLedger {
    @inline(__always)
    mutating func route(
        _ notification: RoutedNotification,
        to instance: AppInstance,
        _ reachability: DevicePopulation.Reachability,
        isValid: Bool,
        now: UInt32
    ) {
        let expiration = notification.expiration
        // 0 forbids storing, not the one attempt [13].
        guard expiration == 0 || expiration > now else {
            counters.expired += 1
            return
        }
        switch reachability {
        case .online:
            // A notification that may not be stored cannot be held either [ours].
            if notification.priority != .immediate, expiration > 0 {
                keep(notification, for: instance, isHeld: true, isValid: isValid, now: now)
            } else {
                // The device is awake for this one: what is held goes with it, the older first [ours].
                if !store.isEmpty { deliverStored(instance.device, now: now) }
                deliver(notification, to: instance, isValid: isValid)
            }
        case .offline:
            if expiration > 0 {
                keep(notification, for: instance, isHeld: false, isValid: isValid, now: now)
            } else {
                counters.expired += 1
            }
        case .uninstalled:
            reportMissing(instance, now: now)
        case .removed:
            preconditionFailure("the token of a removed device is not valid")
        }
    }

    /// Delivers held notifications, at a time that costs their devices little power [13].
    ///
    /// - Parameter limit: how many devices are looked at, at most, in the order in which they came.
    /// - Returns: how many were.
    @discardableResult
    mutating func releaseHeld(now: UInt32, atMost limit: Int = .max) -> Int {
        var released = 0
        while released < limit, let device = heldDevices.popFirst() {
            released += 1
            if store.item(for: device)?.isHeld == true { deliverStored(device, now: now) }
        }
        return released
    }

    /// Finds the fate of a stored notification whose device has changed its state.
    mutating func settle(_ instance: AppInstance, _ reachability: DevicePopulation.Reachability, now: UInt32) {
        guard let item = store.item(for: instance.device) else { return }
        switch reachability {
        case .online:
            deliverStored(instance.device, now: now)
        case .offline:
            guard item.isHeld else { return }
            store.clearHeld(instance.device)
            counters.held -= 1
        case .uninstalled:
            if item.until > now {
                takeOut(item)
                reportMissing(instance, now: now)
            } else {
                discardStored(instance.device)
            }
        case .removed:
            discardStored(instance.device)
        }
    }

    /// Drops a device's stored notification, which can never be delivered.
    mutating func discardStored(_ device: UInt32) {
        guard let item = store.item(for: device) else { return }
        takeOut(item)
        counters.expired += 1
    }

    private mutating func takeOut(_ item: NotificationStore.Item) {
        store.remove(item.instance.device)
        counters.stored -= 1
        if item.isHeld { counters.held -= 1 }
    }

    @inline(__always)
    private mutating func deliver(_ notification: RoutedNotification, to instance: AppInstance, isValid: Bool) {
        countDelivery(instance, isValid: isValid)
        guard !outbox.isEmpty, outbox.hasDevice(instance.device) else { return }
        let delivery = CourierOutbox.Delivery(
            instance: instance,
            payload: Array(notification.payload),
            expiration: notification.expiration,
            priority: notification.priority,
            pushType: notification.pushType,
            collapseID: Array(notification.collapseID)
        )
        outbox.append(delivery)
    }

    @inline(__always)
    private mutating func countDelivery(_ instance: AppInstance, isValid: Bool) {
        counters.delivered += 1
        if !isValid { counters.invalidJSON += 1 }
        trace.noteEvent(.delivered, device: instance.device)
    }

    /// Delivers what waits for an online device, unless it is out of date.
    private mutating func deliverStored(_ device: UInt32, now: UInt32) {
        guard let item = store.item(for: device) else { return }
        guard item.until > now else {
            discardStored(device)
            return
        }
        if !outbox.isEmpty, outbox.hasDevice(device) {
            let delivery = CourierOutbox.Delivery(
                instance: item.instance,
                payload: store.payload(for: device),
                expiration: item.expiration,
                priority: item.priority,
                pushType: item.pushType,
                collapseID: store.collapseID(for: device)
            )
            outbox.append(delivery)
        }
        takeOut(item)
        countDelivery(item.instance, isValid: item.isValid)
    }

    /// One notification per app and device: a newer one replaces it [13].
    private mutating func keep(
        _ notification: RoutedNotification,
        for instance: AppInstance,
        isHeld: Bool,
        isValid: Bool,
        now: UInt32
    ) {
        if let older = store.item(for: instance.device) {
            takeOut(older)
            if older.until > now {
                counters.coalesced += 1
            } else {
                counters.expired += 1
            }
        }
        let (limit, overflow) = now.addingReportingOverflow(SandboxLimits.storageSeconds)
        let item = NotificationStore.Item(
            instance: instance,
            expiration: notification.expiration,
            until: min(notification.expiration, overflow ? .max : limit),
            priority: notification.priority,
            isHeld: isHeld,
            isValid: isValid,
            pushType: notification.pushType
        )
        let outcome = store.put(
            item,
            payload: notification.payload,
            collapseID: notification.collapseID,
            now: now
        )
        counters.stored += 1 - outcome.evicted - outcome.expired
        counters.held += (isHeld ? 1 : 0) - outcome.held
        counters.evicted += outcome.evicted
        counters.expired += outcome.expired
        if isHeld { heldDevices.append(instance.device) }
        trace.noteEvent(.stored, device: instance.device)
    }
}
