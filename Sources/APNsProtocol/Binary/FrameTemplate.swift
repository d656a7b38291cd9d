/// A command 2 frame that is encoded once for a request and patched for each of its tokens.
///
/// Tokens of other lengths than the template's need another one.
public struct FrameTemplate {
    /// Length of the tokens that fit.
    public let tokenBytes: Int
    private var bytes: [UInt8]

    /// - Parameters:
    ///   - tokenBytes: 0 … 65,535.
    ///   - expiration: UNIX seconds UTC; 0 = do not store at all.
    public init(
        tokenBytes: Int,
        payload: UnsafeRawBufferPointer,
        expiration: UInt32,
        priority: NotificationPriority
    ) {
        self.tokenBytes = tokenBytes
        let count = NotificationFrame.command2Bytes(tokenBytes: tokenBytes, payloadBytes: payload.count)
        bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            withUnsafeTemporaryAllocation(byteCount: max(1, tokenBytes), alignment: 1) { token in
                token.initializeMemory(as: UInt8.self, repeating: 0)
                NotificationFrame.encodeCommand2(
                    identifier: 1,
                    token: UnsafeRawBufferPointer(rebasing: token[..<tokenBytes]),
                    payload: payload,
                    expiration: expiration,
                    priority: priority,
                    into: UnsafeMutableRawBufferPointer(buffer)
                )
            }
            initialized = count
        }
    }

    /// The size of the frame.
    public var count: Int { bytes.count }

    /// Writes the frame of one token.
    ///
    /// - Parameters:
    ///   - token: ``tokenBytes`` long.
    ///   - output: ``count`` bytes or more.
    @inlinable
    public func write(identifier: UInt32, token: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) {
        precondition(token.count == tokenBytes && output.count >= count)
        copyFrame(into: output)
        NotificationFrame.patchIdentifier(identifier, in: output)
        UnsafeMutableRawBufferPointer(rebasing: output[NotificationFrame.command2TokenOffset...])
            .copyMemory(from: token)
    }

    @usableFromInline
    func copyFrame(into output: UnsafeMutableRawBufferPointer) {
        bytes.withUnsafeBytes { output.copyMemory(from: $0) }
    }
}
