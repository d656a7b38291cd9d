/// Measures the heads of HTTP/1 requests in a stream of bytes. A head ends with an empty line (RFC 9112 §2.1).
struct RequestHeadMeter {
    /// The findings in a piece of the stream.
    struct Reading: Equatable {
        /// Heads that ended in it.
        var heads = 0
        /// A head has more bytes than allowed. What follows is not measured any more.
        var isTooLong = false
    }

    private let limitBytes: Int
    /// Bytes since the end of the last head.
    private var bytes = 0
    /// Nothing but a carriage return since the last line feed.
    private var isLineEmpty = true
    /// A line that is not empty was seen; those before it begin no head (RFC 9112 §2.2).
    private var hasBegun = false

    init(limitBytes: Int) {
        self.limitBytes = limitBytes
    }

    mutating func readPiece(_ piece: some Sequence<UInt8>) -> Reading {
        var reading = Reading()
        for byte in piece {
            bytes += 1
            switch byte {
            case UInt8(ascii: "\n") where isLineEmpty && hasBegun:
                guard bytes <= limitBytes else { break }
                reading.heads += 1
                bytes = 0
                hasBegun = false
            case UInt8(ascii: "\n"):
                isLineEmpty = true
            case UInt8(ascii: "\r"):
                break
            default:
                isLineEmpty = false
                hasBegun = true
            }
            guard bytes <= limitBytes else {
                reading.isTooLong = true
                return reading
            }
        }
        return reading
    }
}
