/// The length before a field's bytes in Protobuf's binary form: a varint. Pure.
enum ProtobufLength {
    /// Bytes that the length takes.
    static func bytes(of count: Int) -> Int {
        max(1, (Int.bitWidth - count.leadingZeroBitCount + 6) / 7)
    }

    static func append(_ count: Int, to value: inout [UInt8]) {
        var rest = count
        while rest >= 0x80 {
            value.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        value.append(UInt8(rest))
    }
}
