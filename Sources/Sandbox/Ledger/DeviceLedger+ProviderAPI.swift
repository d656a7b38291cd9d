import APNsProtocol

/// Requests of the provider API.
extension DeviceLedger {
    /// Takes a notification whose request is in order and whose token is one of the topic.
    ///
    /// - Returns: the refusal; `nil`: accepted.
    @inline(__always)
    mutating func accept(
        _ notification: RoutedNotification,
        for instance: AppInstance,
        now: UInt32
    ) -> RequestRefusal? {
        guard let reachability = population.reachability(of: instance), reachability != .uninstalled else {
            return refusal(of: instance, now: now)
        }
        book(notification, for: instance, reachability, payloads.read(notification.payload), now: now)
        return nil
    }

    /// The refusal of a token that the service minted once.
    ///
    /// The answer names the time of the token's death; the service found out just now [ours]. An app that is missing is
    /// told of here, so it does not go to the feedback list, too [ours]. A device that was removed is as good as one
    /// that never was, as with status 8.
    private mutating func refusal(of instance: AppInstance, now: UInt32) -> RequestRefusal {
        let device = Int(instance.device)
        guard device < population.count, population.state(device) != .removed else {
            return RequestRefusal(.badDeviceToken)
        }
        trace.noteEvent(.refused, device: instance.device)
        let isOutdated = population.instance(device) != instance
        return RequestRefusal(
            isOutdated ? .expiredToken : .unregistered,
            timestampMilliseconds: Int64(now) * 1000
        )
    }

    /// Counts a request that was answered with an error.
    mutating func countRefusal(_ refusal: RequestRefusal) {
        counters.countRefusal(refusal)
    }
}
