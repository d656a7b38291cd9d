import APNsProtocol

/// The head of a record in a ``RecordRing``, 16 bytes in the machine's byte order; its content
/// follows, up to a whole number of units: the payload, and before it the collapse id, if there is one, behind a byte
/// with its length.
///
/// | bytes | head |
/// |---|---|
/// | 0–3 | device (24 bits), generation (6 bits); all bits set = padding |
/// | 4–7 | until; of padding: its units |
/// | 8–11 | expiration |
/// | 12–13 | length of the content |
/// | 14 | priority (4 bits), place of the push type among all plus one (4 bits, 0 = none) |
/// | 15 | 1 = held, 2 = valid, 4 = has a collapse id |
struct StoredRecord {
    private static let pushTypes = PushType.allCases

    var item: NotificationStore.Item
    private let contentBytes: Int
    private let hasCollapseID: Bool

    /// Units that the record takes of the ring, head included.
    var units: Int { 1 + (contentBytes + RecordRing.unitBytes - 1) / RecordRing.unitBytes }

    init(item: NotificationStore.Item, payloadBytes: Int, collapseIDBytes: Int) {
        precondition(collapseIDBytes <= Int(UInt8.max), "a collapse id's length has 8 bits")
        hasCollapseID = collapseIDBytes > 0
        contentBytes = payloadBytes + (hasCollapseID ? 1 + collapseIDBytes : 0)
        precondition(contentBytes <= Int(UInt16.max), "a content's length has 16 bits")
        self.item = item
    }

    // MARK: The head

    /// Reads what ``write(to:at:)`` wrote.
    init(from ring: UnsafeRawBufferPointer, at offset: Int) {
        let owner = ring.load(fromByteOffset: offset, as: UInt32.self)
        let kind = ring.load(fromByteOffset: offset + 14, as: UInt8.self)
        let flags = ring.load(fromByteOffset: offset + 15, as: UInt8.self)
        let instance = AppInstance(device: owner & 0xFF_FFFF, generation: UInt8(truncatingIfNeeded: owner >> 24))
        item = NotificationStore.Item(
            instance: instance,
            expiration: ring.load(fromByteOffset: offset + 8, as: UInt32.self),
            until: ring.load(fromByteOffset: offset + 4, as: UInt32.self),
            priority: ProviderPriority(rawValue: kind & 0xF) ?? .immediate,
            isHeld: flags & 1 != 0,
            isValid: flags & 2 != 0,
            pushType: kind >> 4 == 0 ? nil : Self.pushTypes[Int(kind >> 4) - 1]
        )
        contentBytes = Int(ring.load(fromByteOffset: offset + 12, as: UInt16.self))
        hasCollapseID = flags & 4 != 0
    }

    func write(to ring: UnsafeMutableRawBufferPointer, at offset: Int) {
        let owner = item.instance.device | UInt32(item.instance.generation) << 24
        let flags: UInt8 = (item.isHeld ? 1 : 0) | (item.isValid ? 2 : 0) | (hasCollapseID ? 4 : 0)
        let typeNumber = item.pushType.flatMap(Self.pushTypes.firstIndex).map { UInt8($0 + 1) } ?? 0
        ring.storeBytes(of: owner, toByteOffset: offset, as: UInt32.self)
        ring.storeBytes(of: item.until, toByteOffset: offset + 4, as: UInt32.self)
        ring.storeBytes(of: item.expiration, toByteOffset: offset + 8, as: UInt32.self)
        ring.storeBytes(of: UInt16(contentBytes), toByteOffset: offset + 12, as: UInt16.self)
        ring.storeBytes(of: item.priority.rawValue | typeNumber << 4, toByteOffset: offset + 14, as: UInt8.self)
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

// MARK: The content

extension StoredRecord {
    /// Writes the content. What is given has to be as long as it was said to be.
    ///
    /// - Parameter memory: the ring behind the head.
    func write(
        payload: UnsafeRawBufferPointer,
        collapseID: UnsafeRawBufferPointer,
        behind memory: UnsafeMutableRawBufferPointer
    ) {
        var start = 0
        if hasCollapseID {
            memory[0] = UInt8(collapseID.count)
            UnsafeMutableRawBufferPointer(rebasing: memory[1...]).copyMemory(from: collapseID)
            start = 1 + collapseID.count
        }
        UnsafeMutableRawBufferPointer(rebasing: memory[start..<contentBytes]).copyMemory(from: payload)
    }

    /// - Parameter memory: the ring behind the head.
    func payload(behind memory: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        let start = hasCollapseID ? 1 + Int(memory[0]) : 0
        return UnsafeRawBufferPointer(rebasing: memory[start..<contentBytes])
    }

    /// - Parameter memory: the ring behind the head.
    func collapseID(behind memory: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: memory[hasCollapseID ? 1..<1 + Int(memory[0]) : 0..<0])
    }
}

extension Array where Element: FixedWidthInteger {
    /// So many elements of any value, to be written before they are read: the kernel gives the pages of a large array
    /// when they are first touched, so that a bound that is not reached costs nothing.
    static func unwritten(count: Int) -> [Element] {
        [Element](unsafeUninitializedCapacity: count) { _, initialized in initialized = count }
    }
}
