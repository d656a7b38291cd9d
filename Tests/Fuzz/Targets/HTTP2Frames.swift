/// Checks of HTTP/2 output that hold whatever it says.
enum HTTP2Frames {
    /// The beginning of a client's connection (RFC 9113 §3.4).
    static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
    /// The largest payload of a frame that a peer takes if it did not ask for more (RFC 9113 §4.2).
    private static let largestPayloadBytes = 16_384
    private static let headerBytes = 9

    static func frame(_ type: UInt8, _ flags: UInt8, stream: UInt32, _ payload: [UInt8]) -> [UInt8] {
        let head = [payload.count >> 16, payload.count >> 8, payload.count].map { UInt8(truncatingIfNeeded: $0) }
        let number = withUnsafeBytes(of: stream.bigEndian) { Array($0) }
        return head + [type, flags] + number + payload
    }

    /// The bytes are whole frames, none of them too large.
    static func check(_ bytes: ArraySlice<UInt8>) throws(BrokenInvariant) {
        var rest = bytes
        while !rest.isEmpty {
            try expect(rest.count >= headerBytes, "\(rest.count) bytes of a frame's head")
            let payloadBytes = rest.prefix(3).reduce(0) { $0 << 8 | Int($1) }
            try expect(payloadBytes <= largestPayloadBytes, "a frame of \(payloadBytes) bytes")
            try expect(rest.count >= headerBytes + payloadBytes, "a frame that is cut off")
            rest = rest.dropFirst(headerBytes + payloadBytes)
        }
    }
}
