/// The provider's reading side of a gateway connection: at most one ``ErrorResponse``, then the end of the stream [10].
///
/// A value without references; it may be moved between threads, and is used by one at a time.
public struct ErrorResponseDecoder: Sendable {
    /// The result of the bytes so far. Each of ``response(_:)`` and ``malformed(commandByte:)`` is reported once.
    public enum Outcome: Hashable, Sendable {
        /// The packet is not complete yet.
        case needMore
        /// The packet.
        case response(ErrorResponse)
        /// The stream does not begin with an error response but with this byte: the peer is not a gateway.
        case malformed(commandByte: UInt8)
        /// The decoder had finished before: these bytes were counted in ``ignoredBytes`` and not looked at.
        case ignored
    }

    /// Bytes that came after the packet, or after the stream was found malformed. A gateway sends none [10].
    public private(set) var ignoredBytes = 0

    /// Bytes of an incomplete packet, 0...5. More than 0 at the end of the stream: the packet was cut off.
    public private(set) var bufferedBytes = 0

    /// The packet's bytes so far, the earliest in the most significant place.
    private var packet: UInt64 = 0
    private var isFinished = false

    /// At the beginning of a stream.
    public init() {}

    /// Takes the next bytes of the stream, however they are cut.
    ///
    /// - Parameter bytes: valid during the call; nothing of it is retained.
    public mutating func decode(_ bytes: UnsafeRawBufferPointer) -> Outcome {
        if isFinished {
            ignoredBytes += bytes.count
            return .ignored
        }
        for index in 0..<bytes.count {
            let byte = bytes[index]
            if bufferedBytes == 0, byte != ErrorResponse.command {
                finish(ignoring: bytes.count - index - 1)
                return .malformed(commandByte: byte)
            }
            packet = packet << 8 | UInt64(byte)
            bufferedBytes += 1
            if bufferedBytes == ErrorResponse.encodedBytes {
                finish(ignoring: bytes.count - index - 1)
                let status = APNsStatus(rawValue: UInt8(truncatingIfNeeded: packet >> 32))
                return .response(ErrorResponse(status: status, identifier: UInt32(truncatingIfNeeded: packet)))
            }
        }
        return .needMore
    }

    private mutating func finish(ignoring count: Int) {
        isFinished = true
        bufferedBytes = 0
        ignoredBytes += count
    }
}
