import Testing

@testable import KafkaClient

@Suite struct RecordLayoutTests {
    private static let key = Array("com.example.news".utf8)

    /// A record with this between key and value, and behind a value of so many bytes.
    private func hasNoHeaders(between: [UInt8], value count: Int, behind: [UInt8]) -> Bool {
        let bytes = Self.key + between + [UInt8](repeating: 0, count: count) + behind
        return bytes.withUnsafeBytes { bytes in
            let start = Self.key.count + between.count
            return RecordLayout.hasNoHeaders(
                key: UnsafeRawBufferPointer(rebasing: bytes[..<Self.key.count]),
                value: UnsafeRawBufferPointer(rebasing: bytes[start..<start + count])
            )
        }
    }

    /// Version 2's length: zigzag, then seven bits a byte, the lowest first.
    private func varint(_ count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = count << 1
        while rest > 0x7F {
            bytes.append(UInt8(rest & 0x7F) | 0x80)
            rest >>= 7
        }
        return bytes + [UInt8(rest)]
    }

    @Test(
        "The number behind the value tells whether there are headers, at each size of the length",
        arguments: [0, 1, 63, 64, 8191, 8192, 1_048_575, 1_048_576]
    )
    func versionTwo(count: Int) {
        #expect(hasNoHeaders(between: varint(count), value: count, behind: [0]))
        #expect(!hasNoHeaders(between: varint(count), value: count, behind: [2, 2, 97]), "one header")
    }

    @Test("A number of three bytes is that of many headers; one of two is not")
    func many() {
        let key = Self.key
        func hasMany(_ number: [UInt8]) -> Bool {
            (key + varint(3) + [1, 2, 3] + number).withUnsafeBytes { bytes in
                RecordLayout.hasManyHeaders(
                    key: UnsafeRawBufferPointer(rebasing: bytes[..<key.count]),
                    value: UnsafeRawBufferPointer(rebasing: bytes[(key.count + 1)..<(key.count + 4)])
                )
            }
        }
        #expect(hasMany(varint(RecordLayout.manyHeaders)) && hasMany(varint(100_000)))
        #expect(!hasMany(varint(RecordLayout.manyHeaders - 1)) && !hasMany(varint(63)) && !hasMany([0]))
    }

    @Test(
        "In a message set of versions 0 and 1 nothing is proven, whatever follows",
        arguments: [0, 1, 110, 70_000, 1 << 24]
    )
    func versionOne(count: Int) {
        let length = withUnsafeBytes(of: UInt32(count).bigEndian) { Array($0) }
        #expect(!hasNoHeaders(between: length, value: count, behind: [0]))
    }

    @Test("Bytes that are not this value's length prove nothing")
    func otherBytes() {
        #expect(!hasNoHeaders(between: varint(111), value: 110, behind: [0]))
        #expect(!hasNoHeaders(between: [], value: 110, behind: [0]))
        #expect(!hasNoHeaders(between: [0xDC], value: 46, behind: [0]), "a varint that goes on")
        #expect(!hasNoHeaders(between: [0xDC, 0x81, 0x80, 0x80, 0x80, 0], value: 110, behind: [0]), "six bytes")
        #expect(!hasNoHeaders(between: [0x5C, 1], value: 110, behind: [0]), "one that ends before the value")
    }

    @Test("Without key or value nothing is proven, nor if the key lies behind the value")
    func absent() {
        let none = UnsafeRawBufferPointer(start: nil, count: 0)
        ([2, 97, 0] as [UInt8]).withUnsafeBytes { bytes in
            let value = UnsafeRawBufferPointer(rebasing: bytes[1..<2])
            #expect(RecordLayout.hasNoHeaders(key: UnsafeRawBufferPointer(rebasing: bytes[..<0]), value: value))
            #expect(!RecordLayout.hasNoHeaders(key: none, value: value))
            #expect(!RecordLayout.hasNoHeaders(key: value, value: none))
            #expect(!RecordLayout.hasNoHeaders(key: UnsafeRawBufferPointer(rebasing: bytes[2...]), value: value))
        }
    }
}
