import APNsProtocol

/// The notifications of one topic that were accepted last, with their payloads, for people who look at a device.
///
/// A ring of bytes with records as in ``NotificationStore``; a new one takes the place of the oldest. Of each second no
/// more than ``perSecond`` are kept, so that a very fast provider pays a comparison for each, and no copy.
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

    /// In units.
    private let capacity: Int
    /// Empty until the first notification is kept.
    private var ring: [UInt8] = []
    /// The unit that is written next.
    private var head = 0
    /// The oldest unit.
    private var tail = 0
    private var used = 0

    /// The second of the last notification, UNIX, and how many more are kept of it.
    private var second: UInt32 = 0
    private var left = 0
    /// The last second of which one was not kept; nil: all were.
    private var passedOver: UInt32?
    /// Some have made room.
    private var hasForgotten = false

    /// - Parameter limitBytes: of the ring; rounded down to whole units, at least one.
    init(limitBytes: Int) {
        capacity = max(1, limitBytes / NotificationStore.unitBytes)
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
        ring.withUnsafeBytes { ring in
            var found: Int?
            var (unit, rest) = (tail, used)
            while rest > 0 {
                let (record, units) = piece(of: ring, at: unit)
                if record?.item.instance.device == device { found = unit }
                rest -= units
                unit = unit + units == capacity ? 0 : unit + units
            }
            guard let place = found, let record = piece(of: ring, at: place).record else {
                return Answer(isLast: passedOver == nil && !hasForgotten)
            }
            let content = UnsafeRawBufferPointer(rebasing: ring[((place + 1) * NotificationStore.unitBytes)...])
            return Answer(
                item: record.item,
                payload: Array(record.payload(behind: content)),
                collapseID: Array(record.collapseID(behind: content)),
                isLast: passedOver.map { $0 < record.item.until } ?? true
            )
        }
    }

    /// The record at a unit, nil for padding, and its length.
    private func piece(of ring: UnsafeRawBufferPointer, at unit: Int) -> (record: StoredRecord?, units: Int) {
        let offset = unit * NotificationStore.unitBytes
        let padding = StoredRecord.paddingUnits(in: ring, at: offset)
        guard padding == 0 else { return (nil, padding) }
        let record = StoredRecord(from: ring, at: offset)
        return (record, record.units)
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
        guard record.units <= capacity else {
            passedOver = second
            return
        }
        if ring.isEmpty { ring = .unwritten(count: capacity * NotificationStore.unitBytes) }
        let offset = reserve(record.units) * NotificationStore.unitBytes
        ring.withUnsafeMutableBytes { ring in
            record.write(to: ring, at: offset)
            let content = UnsafeMutableRawBufferPointer(rebasing: ring[(offset + NotificationStore.unitBytes)...])
            record.write(payload: payload, collapseID: collapseID, behind: content)
        }
    }

    /// Makes room for so many units in a row, at most the capacity.
    ///
    /// - Returns: the first of them.
    private mutating func reserve(_ units: Int) -> Int {
        while true {
            let (untilEnd, free) = (capacity - head, capacity - used)
            if untilEnd >= units, free >= units { return advanceHead(units) }
            if untilEnd < units, free >= untilEnd {
                let offset = head * NotificationStore.unitBytes
                ring.withUnsafeMutableBytes { StoredRecord.writePadding(units: untilEnd, to: $0, at: offset) }
                _ = advanceHead(untilEnd)
            } else {
                forgetOldest()
            }
        }
    }

    private mutating func advanceHead(_ units: Int) -> Int {
        let unit = head
        used += units
        head = head + units == capacity ? 0 : head + units
        return unit
    }

    private mutating func forgetOldest() {
        let units = ring.withUnsafeBytes { piece(of: $0, at: tail).units }
        used -= units
        tail = tail + units == capacity ? 0 : tail + units
        hasForgotten = true
    }
}
