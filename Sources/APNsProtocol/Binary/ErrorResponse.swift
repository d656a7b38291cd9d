/// The only packet that a gateway sends: `08` · status (1) · identifier (4). The gateway closes the connection
/// afterwards [10].
public struct ErrorResponse: Hashable, Sendable {
    /// The size of the packet on the wire.
    public static let encodedBytes = 6

    /// The first byte of the packet [10].
    public static let command: UInt8 = 8

    /// The reason for the refusal, or ``APNsStatus/shutdown``.
    public let status: APNsStatus

    /// The provider's own identifier of the notification that the response names, unchanged. 0 can mean "could not
    /// attribute" [field].
    public let identifier: UInt32

    /// Any combination is representable; the reader decides on its meaning.
    public init(status: APNsStatus, identifier: UInt32) {
        self.status = status
        self.identifier = identifier
    }

    /// Writes the packet to the start of `output`.
    ///
    /// - Parameter output: at least ``encodedBytes`` long; a shorter one traps.
    /// - Returns: the number of bytes written, always ``encodedBytes``.
    @discardableResult
    public func encode(into output: UnsafeMutableRawBufferPointer) -> Int {
        guard let base = output.baseAddress, output.count >= Self.encodedBytes else {
            preconditionFailure("an error response takes \(Self.encodedBytes) bytes, the buffer has \(output.count)")
        }
        base.storeByte(Self.command, at: 0)
        base.storeByte(status.rawValue, at: 1)
        base.storeBigEndian(identifier, at: 2)
        return Self.encodedBytes
    }

    /// The packet as an array: for the cold path and for tests.
    public var encoded: [UInt8] {
        [UInt8](unsafeUninitializedCapacity: Self.encodedBytes) { buffer, count in
            count = encode(into: UnsafeMutableRawBufferPointer(buffer))
        }
    }
}
