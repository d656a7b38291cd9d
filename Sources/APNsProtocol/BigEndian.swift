/// Network byte order at any alignment. Every number of the binary interface is big-endian [10].
///
/// Bounds are the caller's business: the raw pointers behind these are unchecked in a release build.
extension UnsafeRawPointer {
    @inline(__always)
    func bigEndian<Number: FixedWidthInteger & BitwiseCopyable>(
        at offset: Int,
        as type: Number.Type = Number.self
    ) -> Number {
        Number(bigEndian: loadUnaligned(fromByteOffset: offset, as: Number.self))
    }

    @inline(__always)
    func byte(at offset: Int) -> UInt8 {
        load(fromByteOffset: offset, as: UInt8.self)
    }
}

extension UnsafeMutableRawPointer {
    @inline(__always)
    func storeBigEndian<Number: FixedWidthInteger & BitwiseCopyable>(_ number: Number, at offset: Int) {
        storeBytes(of: number.bigEndian, toByteOffset: offset, as: Number.self)
    }

    @inline(__always)
    func storeByte(_ byte: UInt8, at offset: Int) {
        storeBytes(of: byte, toByteOffset: offset, as: UInt8.self)
    }

    /// Copies `bytes` to `offset`; an empty buffer, which may have no address, is fine.
    @inline(__always)
    func storeBytes(_ bytes: UnsafeRawBufferPointer, at offset: Int) {
        guard let source = bytes.baseAddress else { return }
        (self + offset).copyMemory(from: source, byteCount: bytes.count)
    }
}
