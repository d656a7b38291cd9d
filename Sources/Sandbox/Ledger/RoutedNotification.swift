import APNsProtocol

/// An accepted notification of either interface on its way to a device.
///
/// Its pointers are valid during the call that gets it. Trivial, so that handing it on costs nothing.
struct RoutedNotification {
    /// UNIX seconds; 0: not to be stored. `UInt32.max`: for as long as the service stores.
    let expiration: UInt32
    let priority: ProviderPriority
    let payload: UnsafeRawBufferPointer
    /// Of the provider API only.
    let pushType: PushType?
    /// Of the provider API only: 1 to 64 bytes; empty: none.
    let collapseID: UnsafeRawBufferPointer

    init(
        expiration: UInt32,
        priority: ProviderPriority,
        payload: UnsafeRawBufferPointer,
        pushType: PushType? = nil,
        collapseID: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0)
    ) {
        self.expiration = expiration
        self.priority = priority
        self.payload = payload
        self.pushType = pushType
        self.collapseID = collapseID
    }

    /// One of the binary interface.
    @inline(__always)
    init(_ notification: NotificationView) {
        self.init(
            expiration: notification.expiration,
            priority: notification.priority == .powerSaving ? .powerSaving : .immediate,
            payload: notification.payload
        )
    }
}

/// The refusal of a request to the provider API.
struct RequestRefusal: Hashable, Sendable {
    /// The HTTP status: that of the table, unless a fault wants another.
    let status: Int
    let reason: ProviderReason
    /// Only with status 410: the time of the token's death, UNIX milliseconds.
    let timestampMilliseconds: Int64?

    /// A refusal with the usual status of its reason.
    init(_ reason: ProviderReason, timestampMilliseconds: Int64? = nil) {
        self.init(status: reason.entry?.statuses.first ?? 400, reason, timestampMilliseconds: timestampMilliseconds)
    }

    init(status: Int, _ reason: ProviderReason, timestampMilliseconds: Int64? = nil) {
        self.status = status
        self.reason = reason
        self.timestampMilliseconds = timestampMilliseconds
    }
}

/// Refused requests by status and reason.
struct RequestRefusals: Equatable, Sendable {
    private struct Kind: Hashable {
        let status: Int
        let reason: ProviderReason
    }

    private var counts: [Kind: Int] = [:]

    mutating func count(_ refusal: RequestRefusal) {
        counts[Kind(status: refusal.status, reason: refusal.reason), default: 0] += 1
    }

    /// By `<status> <reason>`, for instance `400 BadDeviceToken`.
    var byName: [String: Int] {
        Dictionary(uniqueKeysWithValues: counts.map { ("\($0.key.status) \($0.key.reason)", $0.value) })
    }
}
