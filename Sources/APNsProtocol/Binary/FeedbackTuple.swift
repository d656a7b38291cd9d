/// One entry of the feedback service: timestamp (4) · token length (2) · token [10].
public struct FeedbackTuple: Hashable, Sendable {
    /// The bytes in front of the token.
    public static let headerBytes = 6

    /// UNIX seconds UTC: when the service found the app missing [10].
    public let timestamp: UInt32

    /// The device token, of any length that was sent.
    public let token: [UInt8]

    /// Traps when the token's length does not fit into 16 bits.
    public init(timestamp: UInt32, token: [UInt8]) {
        precondition(token.count <= Int(UInt16.max), "a token length has 16 bits")
        self.timestamp = timestamp
        self.token = token
    }

    /// The size of the tuple on the wire.
    public var encodedBytes: Int {
        Self.headerBytes + token.count
    }

    /// Writes a tuple to the start of `output`, without making one first.
    ///
    /// - Parameter output: at least ``headerBytes`` and the token long; a shorter one traps.
    /// - Returns: the number of bytes written.
    @discardableResult
    public static func encode(
        timestamp: UInt32,
        token: UnsafeRawBufferPointer,
        into output: UnsafeMutableRawBufferPointer
    ) -> Int {
        precondition(token.count <= Int(UInt16.max), "a token length has 16 bits")
        let encodedBytes = headerBytes + token.count
        guard let base = output.baseAddress, output.count >= encodedBytes else {
            preconditionFailure("the tuple takes \(encodedBytes) bytes, the buffer has \(output.count)")
        }
        base.storeBigEndian(timestamp, at: 0)
        base.storeBigEndian(UInt16(truncatingIfNeeded: token.count), at: 4)
        base.storeBytes(token, at: headerBytes)
        return encodedBytes
    }

    /// The tuple as an array: for tests.
    public var encoded: [UInt8] {
        [UInt8](unsafeUninitializedCapacity: encodedBytes) { buffer, count in
            count = token.withUnsafeBytes {
                Self.encode(timestamp: timestamp, token: $0, into: UnsafeMutableRawBufferPointer(buffer))
            }
        }
    }
}
