import APNsProtocol

/// The head of a record in the ring of a ``NotificationStore``, 16 bytes in the machine's byte order; the payload
/// follows, up to a whole number of units.
///
/// | bytes | content |
/// |---|---|
/// | 0–3 | device (24 bits), generation (6 bits); all bits set = padding |
/// | 4–7 | until; of padding: its units |
/// | 8–11 | expiration |
/// | 12–13 | length of the payload |
/// | 14 | priority |
/// | 15 | 1 = held, 2 = valid |
struct StoredRecord {
    let item: NotificationStore.Item
    let payloadBytes: Int

    /// Units that the record takes of the ring, head included.
    var units: Int { 1 + (payloadBytes + NotificationStore.unitBytes - 1) / NotificationStore.unitBytes }

    init(item: NotificationStore.Item, payloadBytes: Int) {
        precondition(payloadBytes <= Int(UInt16.max), "a payload length has 16 bits")
        self.item = item
        self.payloadBytes = payloadBytes
    }

    /// Reads what ``write(to:at:)`` wrote.
    init(from ring: UnsafeRawBufferPointer, at offset: Int) {
        let owner = ring.load(fromByteOffset: offset, as: UInt32.self)
        let flags = ring.load(fromByteOffset: offset + 15, as: UInt8.self)
        let instance = AppInstance(device: owner & 0xFF_FFFF, generation: UInt8(truncatingIfNeeded: owner >> 24))
        item = NotificationStore.Item(
            instance: instance,
            expiration: ring.load(fromByteOffset: offset + 8, as: UInt32.self),
            until: ring.load(fromByteOffset: offset + 4, as: UInt32.self),
            priority: ring.load(fromByteOffset: offset + 14, as: UInt8.self)
                == NotificationPriority.powerSaving.rawValue ? .powerSaving : .immediate,
            isHeld: flags & 1 != 0,
            isValid: flags & 2 != 0
        )
        payloadBytes = Int(ring.load(fromByteOffset: offset + 12, as: UInt16.self))
    }

    func write(to ring: UnsafeMutableRawBufferPointer, at offset: Int) {
        let owner = item.instance.device | UInt32(item.instance.generation) << 24
        let flags: UInt8 = (item.isHeld ? 1 : 0) | (item.isValid ? 2 : 0)
        ring.storeBytes(of: owner, toByteOffset: offset, as: UInt32.self)
        ring.storeBytes(of: item.until, toByteOffset: offset + 4, as: UInt32.self)
        ring.storeBytes(of: item.expiration, toByteOffset: offset + 8, as: UInt32.self)
        ring.storeBytes(of: UInt16(payloadBytes), toByteOffset: offset + 12, as: UInt16.self)
        ring.storeBytes(of: item.priority.rawValue, toByteOffset: offset + 14, as: UInt8.self)
        ring.storeBytes(of: flags, toByteOffset: offset + 15, as: UInt8.self)
    }

    static func writePadding(units: Int, to ring: UnsafeMutableRawBufferPointer, at offset: Int) {
        ring.storeBytes(of: UInt32.max, toByteOffset: offset, as: UInt32.self)
        ring.storeBytes(of: UInt32(units), toByteOffset: offset + 4, as: UInt32.self)
    }

    /// 0 = there is a record.
    static func paddingUnits(in ring: UnsafeRawBufferPointer, at offset: Int) -> Int {
        guard ring.load(fromByteOffset: offset, as: UInt32.self) == .max else { return 0 }
        return Int(ring.load(fromByteOffset: offset + 4, as: UInt32.self))
    }
}

extension Array where Element: FixedWidthInteger {
    /// So many elements of any value, to be written before they are read: the kernel gives the pages of a large array
    /// when they are first touched, so that a bound that is not reached costs nothing.
    static func unwritten(count: Int) -> [Element] {
        [Element](unsafeUninitializedCapacity: count) { _, initialized in initialized = count }
    }
}
