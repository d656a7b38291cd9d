import APNsProtocol

/// The notifications of one topic that were accepted last, with their payloads, for people who look at a device.
///
/// A new one takes the place of the oldest. Of each second no more than ``perSecond`` are kept, so that a very fast
/// provider pays a comparison for each, and no copy.
struct RecentNotifications: Sendable {
    /// The last notification of a device, as far as it is remembered.
    struct Answer: Equatable, Sendable {
        /// Nil: none is remembered. ``NotificationStore/Item/until`` is the time of its acceptance.
        var item: NotificationStore.Item?
        var payload: [UInt8] = []
        /// Empty: it has none.
        var collapseID: [UInt8] = []
        /// Surely no later one was accepted.
        var isLast = true
    }

    /// Notifications that are kept of each second.
    static let perSecond = 1 << 15

    private var ring: RecordRing
    /// The second of the last notification, UNIX, and how many more are kept of it.
    private var second: UInt32 = 0
    private var left = 0
    /// The last second of which one was not kept; nil: all were.
    private var passedOver: UInt32?
    /// Some have made room.
    private var hasForgotten = false

    /// - Parameter limitBytes: of the ring; rounded down to whole units, at least one.
    init(limitBytes: Int) {
        ring = RecordRing(limitBytes: limitBytes)
    }

    /// Takes note of a notification that was accepted.
    ///
    /// - Parameter now: UNIX seconds.
    @inline(__always)
    mutating func note(_ notification: RoutedNotification, for instance: AppInstance, isValid: Bool, now: UInt32) {
        if now != second { (second, left) = (now, Self.perSecond) }
        guard left > 0 else {
            passedOver = now
            return
        }
        left -= 1
        keep(notification, for: instance, isValid: isValid)
    }

    /// Looks for the last notification of a device, in all that is kept.
    func last(of device: UInt32) -> Answer {
        guard let unit = ring.lastUnit(where: { $0.item.instance.device == device }) else {
            return Answer(isLast: passedOver == nil && !hasForgotten)
        }
        let item = ring.record(at: unit).item
        return Answer(
            item: item,
            payload: ring.content(at: unit) { $0.payload(behind: $1) },
            collapseID: ring.content(at: unit) { $0.collapseID(behind: $1) },
            isLast: passedOver.map { $0 < item.until } ?? true
        )
    }

    @inline(never)
    private mutating func keep(_ notification: RoutedNotification, for instance: AppInstance, isValid: Bool) {
        let item = NotificationStore.Item(
            instance: instance,
            expiration: notification.expiration,
            until: second,
            priority: notification.priority,
            isHeld: false,
            isValid: isValid,
            pushType: notification.pushType
        )
        let (payload, collapseID) = (notification.payload, notification.collapseID)
        let record = StoredRecord(item: item, payloadBytes: payload.count, collapseIDBytes: collapseID.count)
        guard record.units <= ring.capacity else {
            passedOver = second
            return
        }
        if !ring.isPrepared { ring.prepare() }
        ring.write(record, payload: payload, collapseID: collapseID, at: reserve(record.units))
    }

    /// Makes room for so many units in a row, at most the capacity.
    ///
    /// - Returns: the first of them.
    private mutating func reserve(_ units: Int) -> Int {
        while true {
            if let unit = ring.reserve(units) { return unit }
            ring.freeOldest()
            hasForgotten = true
        }
    }
}
