/// The frames of these tests: length (2) · identifier (4) · ordinal (4) · filling. The machine never looks inside one.
struct TestFrame: Equatable {
    static let smallestBytes = 10

    /// In place of an ordinal: a sentinel.
    static let sentinel = UInt32.max

    var identifier: UInt32
    /// Position in published order.
    var ordinal: UInt32

    static func write(identifier: UInt32, ordinal: UInt32, into room: UnsafeMutableRawBufferPointer) {
        room.storeBytes(of: UInt16(room.count).bigEndian, as: UInt16.self)
        room.storeBytes(of: identifier.bigEndian, toByteOffset: 2, as: UInt32.self)
        room.storeBytes(of: ordinal.bigEndian, toByteOffset: 6, as: UInt32.self)
    }

    /// Takes whole frames off the front; an incomplete one stays.
    static func take(from bytes: inout [UInt8]) -> [TestFrame] {
        var frames: [TestFrame] = []
        var start = 0
        func number(_ at: Int, _ count: Int) -> UInt32 {
            bytes[at..<at + count].reduce(0) { $0 << 8 | UInt32($1) }
        }
        while bytes.count - start >= smallestBytes {
            let length = Int(number(start, 2))
            guard bytes.count - start >= length else { break }
            frames.append(TestFrame(identifier: number(start + 2, 4), ordinal: number(start + 6, 4)))
            start += length
        }
        bytes.removeFirst(start)
        return frames
    }
}
