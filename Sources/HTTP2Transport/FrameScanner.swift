/// Follows the frames of a connection's input by their headers alone (RFC 9113 §4.1), over any chunks.
struct FrameScanner {
    /// A frame's header.
    struct Frame: Equatable {
        var length: Int
        var type: UInt8
        var flags: UInt8
    }

    static let headerBytes = 9
    /// The client's first bytes (RFC 9113 §3.4).
    static let preface: [UInt8] = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

    /// Bytes to pass over: the preface, then the payload of each frame.
    private var skipping: Int
    /// The bytes so far of a header that is not complete, at most eight: the ninth completes it, and says nothing but
    /// the end of the stream's number.
    private var begun: UInt64 = 0
    private var begunCount = 0

    /// - Parameter prefaceBytes: bytes before the first frame.
    init(prefaceBytes: Int) {
        skipping = prefaceBytes
    }

    /// Calls `body` for each header that `bytes` complete; stops when it returns something.
    @inline(__always)
    mutating func scan<Result>(_ bytes: UnsafeRawBufferPointer, _ body: (Frame) -> Result?) -> Result? {
        var position = 0
        while position < bytes.count {
            if skipping > 0 {
                let skipped = min(skipping, bytes.count - position)
                skipping -= skipped
                position += skipped
                continue
            }
            if begunCount == 0, bytes.count - position >= Self.headerBytes {
                begun = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self))
                position += Self.headerBytes
            } else {
                let byte = bytes[position]
                position += 1
                if begunCount < Self.headerBytes - 1 {
                    begun = begun << 8 | UInt64(byte)
                    begunCount += 1
                    continue
                }
                begunCount = 0
            }
            let frame = Frame(
                length: Int(begun >> 40),
                type: UInt8(truncatingIfNeeded: begun >> 32),
                flags: UInt8(truncatingIfNeeded: begun >> 24)
            )
            skipping = frame.length
            if let result = body(frame) { return result }
        }
        return nil
    }
}
