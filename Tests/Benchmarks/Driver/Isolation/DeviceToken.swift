import PushSchemas

/// Tokens that say which device they are of and how the gateway is to treat them.
enum DeviceToken {
    static let bytes = SendRequestView.packedTokenBytes
    /// No token has this length.
    static let malformedBytes = 15

    /// Adds a token to the end of `packed`.
    static func append(device: UInt32, kind: TokenKind, to packed: inout [UInt8]) {
        withUnsafeBytes(of: device.littleEndian) { packed += $0 }
        packed.append(kind.rawValue)
        // Spread by the device, since hashes of tokens choose connections.
        var mixed = UInt64(device) &* 0x9E37_79B9_7F4A_7C15
        let length = kind == .malformed ? malformedBytes : bytes
        for _ in 5..<length {
            packed.append(UInt8(truncatingIfNeeded: mixed >> 56))
            mixed = mixed &* 0x9E37_79B9_7F4A_7C15 &+ 1
        }
    }

    /// - Parameter token: ``bytes`` of them; nil if it is none of ours.
    static func read(_ token: UnsafeRawBufferPointer) -> (device: UInt32, kind: TokenKind)? {
        guard token.count == bytes, let kind = TokenKind(rawValue: token[4]) else { return nil }
        return (UInt32(littleEndian: token.loadUnaligned(as: UInt32.self)), kind)
    }
}

/// The payload of record number `n`, always of the same length: `n` stands in it, counted from a billion.
enum NumberedPayload {
    static let origin: UInt32 = 1_000_000_000
    private static let head = Array(#"{"aps":{"alert":"Edition"},"n":"#.utf8)
    private static let digits = 10

    static let count = head.count + digits + 1

    static func append(_ number: UInt32, to bytes: inout [UInt8]) {
        bytes += head
        var divisor: UInt32 = 1_000_000_000
        let value = origin + number
        for _ in 0..<digits {
            bytes.append(UInt8(ascii: "0") + UInt8(value / divisor % 10))
            divisor /= 10
        }
        bytes.append(UInt8(ascii: "}"))
    }

    /// The number in a payload; nil if it is none of ours.
    static func read(_ payload: UnsafeRawBufferPointer) -> UInt32? {
        guard payload.count == count else { return nil }
        var value: UInt32 = 0
        for offset in head.count..<head.count + digits {
            let digit = payload[offset] &- UInt8(ascii: "0")
            let (product, overflow) = value.multipliedReportingOverflow(by: 10)
            guard digit <= 9, !overflow else { return nil }
            value = product &+ UInt32(digit)
        }
        return value >= origin ? value - origin : nil
    }
}
