import APNsProtocol

/// The notifications that wait for the devices of one topic: one per device at most [13], in bounded memory.
///
/// A ring of records, and for each device four bytes that say where in the ring its notification lies. Nothing is ever
/// moved to make room while there is some; when the head has come round to the tail, what lies there is
/// - forgotten if it is no longer waiting, or out of date,
/// - written again at the head if at most three quarters of the ring are really in use, so that notifications that wait
///   long are not pushed out by those that wait briefly,
/// - evicted otherwise: the oldest first [ours].
///
/// A unit that is copied stands for at least a third of a unit that is freed in the same revolution, so copying costs
/// a constant per notification on average.
struct NotificationStore: Sendable {
    /// A waiting notification without its payload.
    struct Item: Sendable, Equatable {
        let instance: AppInstance
        /// As the provider stated it, UNIX seconds.
        let expiration: UInt32
        /// From when on it is out of date, UNIX seconds: not after the expiration.
        let until: UInt32
        let priority: ProviderPriority
        /// Waits for a power-saving time, not for its device to return.
        var isHeld: Bool
        /// See ``PayloadReading/isValid``.
        let isValid: Bool
        /// Of the provider API only.
        var pushType: PushType?
    }

    /// The notifications that had to make room for a new one.
    struct Outcome: Sendable, Equatable {
        /// Number of notifications dropped that could still have been delivered. When a notification is larger than the
        /// whole ring, it counts itself.
        var evicted = 0
        /// Number of notifications that were out of date when they were dropped.
        var expired = 0
        /// Number of both that were held.
        var held = 0
    }

    /// Number of notifications that wait.
    private(set) var count = 0

    private let devices: Int
    private var ring: RecordRing
    /// Position of each device's notification, in units plus one; 0 = none waits. Empty until the first one does.
    private var places: [UInt32] = []

    /// Units of those that are waiting.
    private var live = 0

    /// Traps when the limit is not positive or above 64 GiB, which is what 32 bits of units reach.
    ///
    /// - Parameter limitBytes: of the ring; rounded down to whole units, at least one.
    init(devices: Int, limitBytes: Int) {
        precondition(limitBytes > 0 && limitBytes / RecordRing.unitBytes < UInt32.max, "a store of \(limitBytes) bytes")
        self.devices = devices
        ring = RecordRing(limitBytes: limitBytes)
    }

    @inline(__always)
    var isEmpty: Bool { count == 0 }

    /// The notification that waits for a device; `nil` = none.
    @inline(__always)
    func item(for device: UInt32) -> Item? {
        guard !isEmpty, places[Int(device)] > 0 else { return nil }
        return ring.record(at: Int(places[Int(device)]) - 1).item
    }

    /// Has the place of a device's notification fetched: see ``DeviceLedger/anticipate(_:)``.
    @inline(__always)
    func prefetchPlace(_ device: UInt32) {
        places.prefetch(Int(device))
    }

    /// Has the head of a device's notification fetched, if one waits.
    @inline(__always)
    func prefetchRecord(_ device: UInt32) {
        guard Int(device) < places.count, places[Int(device)] > 0 else { return }
        ring.prefetch(Int(places[Int(device)]) - 1)
    }

    /// The payload of what waits for a device, as a copy; empty when nothing does.
    func payload(for device: UInt32) -> [UInt8] {
        content(for: device) { $0.payload(behind: $1) }
    }

    /// The collapse id of what waits for a device; empty when it has none, or nothing waits.
    func collapseID(for device: UInt32) -> [UInt8] {
        content(for: device) { $0.collapseID(behind: $1) }
    }

    private func content(
        for device: UInt32,
        _ part: (StoredRecord, UnsafeRawBufferPointer) -> UnsafeRawBufferPointer
    ) -> [UInt8] {
        guard !isEmpty, places[Int(device)] > 0 else { return [] }
        return ring.content(at: Int(places[Int(device)]) - 1, part)
    }

    /// Stores a notification for a device that has none waiting; traps when it has.
    ///
    /// - Parameters:
    ///   - payload: valid during the call, at most 65,535 bytes, and 256 less with a collapse id.
    ///   - collapseID: valid during the call, at most 255 bytes; empty: none.
    ///   - now: UNIX seconds.
    mutating func put(
        _ item: Item,
        payload: UnsafeRawBufferPointer,
        collapseID: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0),
        now: UInt32
    ) -> Outcome {
        let record = StoredRecord(item: item, payloadBytes: payload.count, collapseIDBytes: collapseID.count)
        var outcome = Outcome()
        guard record.units <= ring.capacity else {
            outcome.evicted = 1
            outcome.held = item.isHeld ? 1 : 0
            return outcome
        }
        if !ring.isPrepared {
            ring.prepare()
            places = .inHugePages(repeating: 0, count: devices)
        }
        precondition(places[Int(item.instance.device)] == 0, "one notification is stored per device")
        let unit = reserve(record.units, now: now, &outcome)
        ring.write(record, payload: payload, collapseID: collapseID, at: unit)
        places[Int(item.instance.device)] = UInt32(unit + 1)
        live += record.units
        count += 1
        return outcome
    }

    /// Takes what waits for a device out of the store.
    @discardableResult
    mutating func remove(_ device: UInt32) -> Item? {
        guard !isEmpty, places[Int(device)] > 0 else { return nil }
        let record = ring.record(at: Int(places[Int(device)]) - 1)
        forget(record)
        return record.item
    }

    /// Lets a held notification wait for its device's return, not for a power-saving time.
    mutating func clearHeld(_ device: UInt32) {
        guard !isEmpty, places[Int(device)] > 0 else { return }
        let unit = Int(places[Int(device)]) - 1
        var record = ring.record(at: unit)
        record.item.isHeld = false
        ring.rewrite(record, at: unit)
    }
}

extension NotificationStore {
    private mutating func forget(_ record: StoredRecord) {
        places[Int(record.item.instance.device)] = 0
        live -= record.units
        count -= 1
    }

    /// Makes room for so many units in a row.
    ///
    /// - Returns: the first of them.
    private mutating func reserve(_ units: Int, now: UInt32, _ outcome: inout Outcome) -> Int {
        // This call copies one revolution at most, so that it ends.
        var copyable = ring.capacity
        while true {
            if isEmpty { ring.clear() }
            if let unit = ring.reserve(units) { return unit }
            reclaim(units, now: now, &copyable, &outcome)
        }
    }

    /// Frees the oldest record, see ``NotificationStore``.
    private mutating func reclaim(_ wanted: Int, now: UInt32, _ copyable: inout Int, _ outcome: inout Outcome) {
        guard let (record, unit) = ring.freeOldest() else { return }
        guard Int(places[Int(record.item.instance.device)]) == unit + 1 else { return }
        if record.item.until > now, live + wanted <= ring.capacity - ring.capacity / 4,
            copyable >= record.units
        {
            copyable -= record.units
            copyToHead(record, from: unit)
            return
        }
        forget(record)
        outcome.held += record.item.isHeld ? 1 : 0
        if record.item.until > now {
            outcome.evicted += 1
        } else {
            outcome.expired += 1
        }
    }

    /// Its own place was just freed, so there always is room: before the tail when the head has wrapped, else at the
    /// end or the beginning of the ring.
    private mutating func copyToHead(_ record: StoredRecord, from unit: Int) {
        guard let target = ring.reserve(record.units) else { preconditionFailure("a freed place is no room") }
        places[Int(record.item.instance.device)] = UInt32(target + 1)
        guard target != unit else { return }
        ring.copy(record.units, from: unit, to: target)
    }
}
