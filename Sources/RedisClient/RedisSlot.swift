/// One of the 16,384 hash slots that a Redis Cluster divides its keys into. All keys of one command, and of one script,
/// must lie in one slot; a single server has no slots and takes any.
///
/// Source: Redis Cluster specification, "Key distribution model" and "Hash tags".
public struct RedisSlot: Sendable, Hashable {
    /// The number of slots.
    public static let count = 16_384

    /// 0…16383.
    public let number: UInt16

    /// - Parameter number: 0…16383; anything else traps.
    public init(number: UInt16) {
        precondition(Int(number) < Self.count, "there is no slot \(number)")
        self.number = number
    }

    /// The slot of a key. CRC-16 of the part between its first `{` and the next `}`, or of the whole key if that part
    /// is empty.
    public init(key: UnsafeRawBufferPointer) {
        number = Self.crc16(Self.hashed(key)) & 0x3FFF
    }

    public init(key: [UInt8]) {
        self = key.withUnsafeBytes { RedisSlot(key: $0) }
    }

    public init(key: String) {
        self.init(key: Array(key.utf8))
    }

    private static func hashed(_ key: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        guard let open = key.firstIndex(of: UInt8(ascii: "{")) else { return key }
        let rest = key[(open + 1)...]
        guard let close = rest.firstIndex(of: UInt8(ascii: "}")), close > rest.startIndex else { return key }
        return UnsafeRawBufferPointer(rebasing: rest[..<close])
    }

    /// CRC-16/XMODEM: polynomial 1021, beginning with 0, most significant bit first.
    private static func crc16(_ bytes: UnsafeRawBufferPointer) -> UInt16 {
        remainders.withUnsafeBufferPointer { remainders in
            bytes.reduce(0) { remainder, byte in
                remainder << 8 ^ remainders[Int(UInt8(truncatingIfNeeded: remainder >> 8) ^ byte)]
            }
        }
    }

    /// The remainder of each byte value.
    private static let remainders: [UInt16] = (0..<256 as Range<UInt16>).map { byte in
        (0..<8).reduce(byte << 8) { remainder, _ in
            remainder & 0x8000 == 0 ? remainder << 1 : remainder << 1 ^ 0x1021
        }
    }
}
