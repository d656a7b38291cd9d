/// The fields and the body of one request or answer, one behind the other in memory that is reused.
///
/// A field is two lengths of four bytes, its name, its value. Owned by a ``StreamTable``, which frees it.
struct MessageBuffer {
    /// Memory that stays allocated for the slot's next stream.
    private static let keptBytes = 4 << 10
    private static let lengthBytes = MemoryLayout<UInt32>.size

    private var start: UnsafeMutableRawPointer?
    private var capacity = 0
    private var count = 0
    /// The end of the fields, where the body begins.
    private var fieldsEnd = 0

    /// Forgets the content; memory of a large message is freed.
    mutating func reset() {
        count = 0
        fieldsEnd = 0
        if capacity > Self.keptBytes { deallocate() }
    }

    mutating func deallocate() {
        start?.deallocate()
        start = nil
        capacity = 0
    }

    /// Room for `more` bytes, whose beginning is returned; they count as written.
    private mutating func grow(by more: Int) -> UnsafeMutableRawPointer {
        let end = count + more
        if end > capacity {
            let capacity = max(end, self.capacity * 2, 256)
            let grown = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 16)
            if let start = self.start {
                grown.copyMemory(from: start, byteCount: count)
                start.deallocate()
            }
            self.start = grown
            self.capacity = capacity
        }
        guard let start = self.start else { preconditionFailure("a buffer that grew has memory") }
        defer { count = end }
        return start + count
    }
}

// MARK: Writing

extension MessageBuffer {
    /// Before the first byte of the body only.
    mutating func appendField(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) {
        let target = grow(by: 2 * Self.lengthBytes + name.count + value.count)
        target.storeBytes(of: UInt32(name.count), as: UInt32.self)
        target.storeBytes(of: UInt32(value.count), toByteOffset: Self.lengthBytes, as: UInt32.self)
        Self.copy(name, to: target + 2 * Self.lengthBytes)
        Self.copy(value, to: target + 2 * Self.lengthBytes + name.count)
        fieldsEnd = count
    }

    mutating func appendBody(_ bytes: UnsafeRawBufferPointer) {
        Self.copy(bytes, to: grow(by: bytes.count))
    }

    private static func copy(_ source: UnsafeRawBufferPointer, to target: UnsafeMutableRawPointer) {
        guard let start = source.baseAddress else { return }
        target.copyMemory(from: start, byteCount: source.count)
    }
}

// MARK: Reading

extension MessageBuffer {
    var bodyBytes: Int {
        count - fieldsEnd
    }

    var body: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: start?.advanced(by: fieldsEnd), count: bodyBytes)
    }

    /// Calls `body` with name and value of each field, in the peer's order, until it returns false.
    @inline(__always)
    func forEachField(_ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Bool) {
        guard let start = self.start else { return }
        var position = UnsafeRawPointer(start)
        let end = position + fieldsEnd
        while position < end {
            let nameBytes = Int(position.loadUnaligned(as: UInt32.self))
            let valueBytes = Int(position.loadUnaligned(fromByteOffset: Self.lengthBytes, as: UInt32.self))
            let name = position + 2 * Self.lengthBytes
            let value = name + nameBytes
            position = value + valueBytes
            let goesOn = body(
                UnsafeRawBufferPointer(start: name, count: nameBytes),
                UnsafeRawBufferPointer(start: value, count: valueBytes)
            )
            if !goesOn { return }
        }
    }
}
