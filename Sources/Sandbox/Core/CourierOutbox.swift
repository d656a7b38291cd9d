import APNsProtocol

/// Notifications on their way to devices that are connected to the courier. Virtual devices without a connection take
/// theirs silently and never come by here.
struct CourierOutbox: Sendable {
    /// One notification for one app on a connected device.
    struct Delivery: Sendable, Equatable {
        let instance: AppInstance
        let payload: [UInt8]
        /// UNIX seconds; 0 = was not to be stored.
        let expiration: UInt32
        let priority: NotificationPriority
    }

    /// Whether any device is connected: one comparison for the many notifications that concern none of them.
    private(set) var isEmpty = true

    /// Whether this device is connected, and so gets its notifications through ``append(_:)``.
    func hasDevice(_ device: UInt32) -> Bool {
        false
    }

    /// Puts a notification on its way, in the order of the calls.
    mutating func append(_ delivery: Delivery) {
    }
}
