/// Bytes written one after the other and read by offset; freed as a whole.
final class PayloadArena {
    private var memory: UnsafeMutableRawBufferPointer
    private var used = 0

    /// - Parameter bytes: initial room; at least 1.
    init(bytes: Int = 64 * 1024) {
        memory = .allocate(byteCount: bytes, alignment: 16)
    }

    deinit {
        memory.deallocate()
    }

    /// Room for `bytes` at the end; valid until the next call.
    func reserve(_ bytes: Int) -> UnsafeMutableRawBufferPointer {
        if memory.count - used < bytes {
            let larger = UnsafeMutableRawBufferPointer.allocate(
                byteCount: max(memory.count * 2, used + bytes),
                alignment: 16
            )
            larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: memory[..<used]))
            memory.deallocate()
            memory = larger
        }
        return UnsafeMutableRawBufferPointer(rebasing: memory[used..<used + bytes])
    }

    /// Keeps the first `bytes` of the room reserved last; returns their offset.
    func commit(_ bytes: Int) -> Int {
        defer { used += bytes }
        return used
    }

    /// The end of what is kept.
    var end: Int { used }

    /// Forgets what was kept from an earlier ``end`` on.
    func truncate(to end: Int) {
        precondition(end <= used, "an end of before")
        used = end
    }

    /// Valid until the next ``reserve(_:)``.
    subscript(offset: Int, bytes: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: memory[offset..<offset + bytes])
    }
}
