/// Encodes notifications into a caller's buffer, without allocating.
///
/// Every function traps when the buffer is too short or a part does not fit its 16-bit length: the caller checks sizes
/// with the size functions. Buffers are read and written during the call only.
public enum NotificationFrame {
    /// Offset of the identifier in a frame of ``encodeCommand2(identifier:token:payload:expiration:priority:into:)``
    /// and of ``encodeSentinel(identifier:into:)``.
    public static let command2IdentifierOffset = 8

    /// Offset of the token in a frame of ``encodeCommand2(identifier:token:payload:expiration:priority:into:)``.
    public static let command2TokenOffset = command2IdentifierOffset + 4 + itemHeaderBytes

    /// The size of the frame of ``encodeSentinel(identifier:into:)``.
    public static let sentinelBytes = frameHeaderBytes + identifierItemBytes + itemHeaderBytes

    static let frameHeaderBytes = 5
    static let itemHeaderBytes = 3
    private static let identifierItemBytes = itemHeaderBytes + 4
    private static let expirationItemBytes = itemHeaderBytes + 4
    private static let priorityItemBytes = itemHeaderBytes + 1

    /// The size of a command 2 frame with all five items.
    public static func command2Bytes(tokenBytes: Int, payloadBytes: Int) -> Int {
        frameHeaderBytes + identifierItemBytes + (itemHeaderBytes + tokenBytes) + (itemHeaderBytes + payloadBytes)
            + expirationItemBytes + priorityItemBytes
    }

    /// Command 2 [13]: `02` · frame length (4) · items of id (1), length (2), data.
    ///
    /// The identifier item stands first: a gateway that fails on an earlier item never saw it and answers with
    /// identifier 0 [field]. Then token, payload, expiration, priority, all of them always, so that a frame's layout
    /// depends on nothing but the two lengths.
    ///
    /// - Parameters:
    ///   - identifier: echoed in an error response; 0 is better left unused [field].
    ///   - expiration: UNIX seconds UTC; 0 = do not store at all.
    /// - Returns: the number of bytes written, ``command2Bytes(tokenBytes:payloadBytes:)``.
    @discardableResult
    public static func encodeCommand2(
        identifier: UInt32,
        token: UnsafeRawBufferPointer,
        payload: UnsafeRawBufferPointer,
        expiration: UInt32,
        priority: NotificationPriority,
        into output: UnsafeMutableRawBufferPointer
    ) -> Int {
        let frameBytes = command2Bytes(tokenBytes: token.count, payloadBytes: payload.count)
        let base = checkedBase(of: output, frameBytes: frameBytes, token: token, payload: payload)
        storeCommand2Head(identifier: identifier, frameBytes: frameBytes, at: base)
        var offset = frameHeaderBytes + identifierItemBytes
        storeItemHeader(.token, bytes: token.count, at: base + offset)
        base.storeBytes(token, at: offset + itemHeaderBytes)
        offset += itemHeaderBytes + token.count
        storeItemHeader(.payload, bytes: payload.count, at: base + offset)
        base.storeBytes(payload, at: offset + itemHeaderBytes)
        offset += itemHeaderBytes + payload.count
        storeItemHeader(.expiration, bytes: 4, at: base + offset)
        base.storeBigEndian(expiration, at: offset + itemHeaderBytes)
        offset += expirationItemBytes
        storeItemHeader(.priority, bytes: 1, at: base + offset)
        base.storeByte(priority.rawValue, at: offset + itemHeaderBytes)
        return frameBytes
    }

    /// The known-bad notification ("sentinel") [field]: command 2 with an identifier and a token of length zero.
    ///
    /// Its error response, possibly with identifier 0, proves that everything before it was accepted. It costs the
    /// connection, and a gateway may fail to answer it.
    ///
    /// - Returns: the number of bytes written, ``sentinelBytes``.
    @discardableResult
    public static func encodeSentinel(identifier: UInt32, into output: UnsafeMutableRawBufferPointer) -> Int {
        guard let base = output.baseAddress, output.count >= sentinelBytes else {
            preconditionFailure("a sentinel takes \(sentinelBytes) bytes, the buffer has \(output.count)")
        }
        storeCommand2Head(identifier: identifier, frameBytes: sentinelBytes, at: base)
        storeItemHeader(.token, bytes: 0, at: base + frameHeaderBytes + identifierItemBytes)
        return sentinelBytes
    }

    /// Replaces the identifier of a command 2 frame of this encoder, so that the frame can be sent again.
    ///
    /// - Parameter frame: begins with the frame; traps when it is something else.
    public static func patchIdentifier(_ identifier: UInt32, in frame: UnsafeMutableRawBufferPointer) {
        guard let base = frame.baseAddress, frame.count >= sentinelBytes,
            frame[0] == 2, frame[frameHeaderBytes] == Command2Item.identifier.rawValue
        else {
            preconditionFailure("only a command 2 frame that begins with its identifier can be patched")
        }
        base.storeBigEndian(identifier, at: command2IdentifierOffset)
    }
}

/// The items of a command 2 frame [13].
enum Command2Item: UInt8 {
    case token = 1
    case payload = 2
    case identifier = 3
    case expiration = 4
    case priority = 5
}

extension NotificationFrame {
    @inline(__always)
    private static func checkedBase(
        of output: UnsafeMutableRawBufferPointer,
        frameBytes: Int,
        token: UnsafeRawBufferPointer,
        payload: UnsafeRawBufferPointer
    ) -> UnsafeMutableRawPointer {
        precondition(token.count <= Int(UInt16.max), "a token length has 16 bits")
        precondition(payload.count <= Int(UInt16.max), "a payload length has 16 bits")
        guard let base = output.baseAddress, output.count >= frameBytes else {
            preconditionFailure("the frame takes \(frameBytes) bytes, the buffer has \(output.count)")
        }
        return base
    }

    @inline(__always)
    private static func storeCommand2Head(identifier: UInt32, frameBytes: Int, at base: UnsafeMutableRawPointer) {
        base.storeByte(2, at: 0)
        base.storeBigEndian(UInt32(truncatingIfNeeded: frameBytes - frameHeaderBytes), at: 1)
        storeItemHeader(.identifier, bytes: 4, at: base + frameHeaderBytes)
        base.storeBigEndian(identifier, at: command2IdentifierOffset)
    }

    @inline(__always)
    private static func storeItemHeader(_ item: Command2Item, bytes: Int, at base: UnsafeMutableRawPointer) {
        base.storeByte(item.rawValue, at: 0)
        base.storeBigEndian(UInt16(truncatingIfNeeded: bytes), at: 1)
    }
}
