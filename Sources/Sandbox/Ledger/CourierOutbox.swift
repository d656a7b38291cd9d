import APNsProtocol

/// Notifications on their way to devices that are connected to the courier. Virtual devices without a connection take
/// theirs silently and never come by here.
///
/// A notification waits here until the device's connection takes it: ``takeCalls()`` names the devices that are to be
/// told, once per device until it has come. So the connections fetch, each in its own order, and one that does not read
/// leaves no more behind than ``SandboxLimits/courierPendingBytes`` per topic: after that it is *overrun*, the oldest
/// are dropped, and the connection is to be ended.
struct CourierOutbox: Sendable {
    /// One notification for one app on a connected device.
    struct Delivery: Sendable, Equatable {
        let instance: AppInstance
        let payload: [UInt8]
        /// UNIX seconds; 0 = was not to be stored.
        let expiration: UInt32
        let priority: ProviderPriority
        /// Of the provider API only.
        var pushType: PushType?
        /// Of the provider API only; empty: none.
        var collapseID: [UInt8] = []
        /// The broadcast that this is a copy of, counted by its channel; nil: a notification for one device.
        var broadcast: BroadcastName?

        /// Bytes that count for the limit: more than it takes in memory.
        fileprivate var bytes: Int { payload.count + 64 }
    }

    /// The result of one fetch by a connection.
    struct Parcel: Equatable {
        var deliveries: [Delivery] = []
        /// The connection was too slow: something was dropped.
        var isOverrun = false
    }

    private struct Attachment: Sendable {
        var connection: UInt64
        var pending: ArraySlice<Delivery> = []
        var pendingBytes = 0
        /// Named by ``takeCalls()``, or about to be; the connection has not been here since.
        var isCalled = false
        var isOverrun = false
    }

    private var attached: [UInt32: Attachment] = [:]
    private var calls: [UInt32] = []

    /// Dropped because their device did not read; the ledger has counted them as delivered.
    private(set) var dropped = 0

    /// No device is connected. One comparison for the many notifications that concern no connected device.
    private(set) var isEmpty = true

    /// This device is connected, and so gets its notifications through ``append(_:)``.
    func hasDevice(_ device: UInt32) -> Bool {
        attached[device] != nil
    }

    /// Puts a notification on its way, in the order of the calls. Ignored unless ``hasDevice(_:)``.
    mutating func append(_ delivery: Delivery) {
        let device = delivery.instance.device
        attached[device]?.pending.append(delivery)
        attached[device]?.pendingBytes += delivery.bytes
        trim(device)
        call(device)
    }

    /// From now on the device gets its notifications here. What waits for a connection that this one replaces is kept
    /// for it; numbers of connections rise, and an older one cannot take the place of a newer one.
    ///
    /// - Returns: whether the connection has the place.
    mutating func attach(_ device: UInt32, connection: UInt64) -> Bool {
        var attachment = attached[device] ?? Attachment(connection: connection)
        guard attachment.connection <= connection else { return false }
        if attachment.connection < connection {
            attachment.connection = connection
            attachment.isCalled = false
        }
        attached[device] = attachment
        isEmpty = false
        // The replaced connection left these unread.
        if !attachment.pending.isEmpty { call(device) }
        return true
    }

    /// Ends what ``attach(_:connection:)`` began.
    ///
    /// - Parameter connection: `nil` = whichever it is.
    /// - Returns: what was not taken; `nil` when the connection does not have the place.
    mutating func detach(_ device: UInt32, connection: UInt64? = nil) -> [Delivery]? {
        guard let attachment = attached[device] else { return nil }
        guard connection == nil || connection == attachment.connection else { return nil }
        attached[device] = nil
        isEmpty = attached.isEmpty
        return Array(attachment.pending)
    }

    /// Hands the oldest notifications to their connection. When it gets all there are it will be called again.
    mutating func takeParcel(_ device: UInt32, connection: UInt64, limit: Int) -> Parcel {
        guard var attachment = attached[device], attachment.connection == connection else { return Parcel() }
        // The ledger takes the rest back when the connection ends.
        guard !attachment.isOverrun else { return Parcel(isOverrun: true) }
        let taken = attachment.pending.prefix(limit)
        attachment.pending = attachment.pending.dropFirst(taken.count)
        attachment.pendingBytes -= taken.reduce(0) { $0 + $1.bytes }
        if attachment.pending.isEmpty {
            attachment.pending = []
            attachment.isCalled = false
        }
        attached[device] = attachment
        return Parcel(deliveries: Array(taken))
    }

    /// The devices that have something to fetch and do not know it yet.
    mutating func takeCalls() -> [UInt32] {
        guard !calls.isEmpty else { return [] }
        defer { calls = [] }
        return calls
    }

    private mutating func call(_ device: UInt32) {
        guard attached[device]?.isCalled == false else { return }
        attached[device]?.isCalled = true
        calls.append(device)
    }

    private mutating func trim(_ device: UInt32) {
        // Nothing but the one that goes is held meanwhile: a second reference would copy all that waits.
        while let bytes = attached[device]?.pendingBytes, bytes > SandboxLimits.courierPendingBytes,
            let oldest = attached[device]?.pending.first
        {
            attached[device]?.pending.removeFirst()
            attached[device]?.pendingBytes -= oldest.bytes
            attached[device]?.isOverrun = true
            dropped += 1
        }
    }
}
