/// GOAWAY and RST_STREAM frames that a session has sent, those included that nghttp2 sends by itself.
public struct HTTP2Dismissals: Equatable, Sendable {
    /// One GOAWAY frame.
    public struct GoAway: Equatable, Sendable {
        public let code: HTTP2ErrorCode
        public let debugData: [UInt8]
    }

    /// In the order of sending.
    public private(set) var goAways: [GoAway] = []
    /// Streams that were reset, by the code.
    public private(set) var resets: [HTTP2ErrorCode: Int] = [:]

    public var isEmpty: Bool { goAways.isEmpty && resets.isEmpty }

    mutating func note(_ goAway: GoAway) {
        goAways.append(goAway)
    }

    /// - Parameter frame: a whole RST_STREAM frame.
    mutating func noteReset(_ frame: UnsafeRawBufferPointer) {
        resets[HTTP2ErrorCode(in: frame, at: 0), default: 0] += 1
    }
}

extension HTTP2Dismissals.GoAway {
    /// - Parameter frame: a whole GOAWAY frame (RFC 9113 §6.8).
    init(_ frame: UnsafeRawBufferPointer) {
        code = HTTP2ErrorCode(in: frame, at: 4)
        debugData = Array(frame.dropFirst(FrameScanner.headerBytes + 8))
    }
}

extension HTTP2ErrorCode {
    /// - Parameter offset: in the frame's payload.
    fileprivate init(in frame: UnsafeRawBufferPointer, at offset: Int) {
        let offset = FrameScanner.headerBytes + offset
        self.init(rawValue: UInt32(bigEndian: frame.loadUnaligned(fromByteOffset: offset, as: UInt32.self)))
    }
}
