/// Finds the tokens of the next notifications in a stream, without judging any of them. For a gateway that opens many
/// tokens at once while ``GatewayFrameDecoder`` goes on handing out one notification after the other.
///
/// The look-ahead may disagree with the decoder about a frame, in either direction, but never about the place of a
/// token: the reported tokens are bytes of the stream.
public enum TokenLookahead {
    /// Calls `body` with the token of each whole frame, in stream order, until it returns false. Ends early at a frame
    /// that is incomplete, of an unknown command, or without a token.
    ///
    /// - Parameter bytes: begins with a frame. The tokens point into it.
    @inlinable
    public static func forEachToken(
        in bytes: UnsafeRawBufferPointer,
        _ body: (UnsafeRawBufferPointer) -> Bool
    ) {
        guard var frame = bytes.baseAddress else { return }
        let end = frame + bytes.count
        while frame < end, let next = token(at: frame, until: end), body(next.token) {
            frame += next.frameBytes
        }
    }

    /// The token of the frame at `frame`, and the beginning of the next frame.
    @usableFromInline
    static func token(
        at frame: UnsafeRawPointer,
        until end: UnsafeRawPointer
    ) -> (token: UnsafeRawBufferPointer, frameBytes: Int)? {
        switch frame.byte(at: 0) {
        case 2: command2Token(at: frame, until: end)
        case 1: command0Or1Token(at: frame, tokenOffset: 11, until: end)
        case 0: command0Or1Token(at: frame, tokenOffset: 3, until: end)
        default: nil
        }
    }

    @inline(__always)
    private static func command2Token(
        at frame: UnsafeRawPointer,
        until end: UnsafeRawPointer
    ) -> (token: UnsafeRawBufferPointer, frameBytes: Int)? {
        var item = frame + NotificationFrame.frameHeaderBytes
        guard item <= end else { return nil }
        let frameBytes = NotificationFrame.frameHeaderBytes + Int(frame.bigEndian(at: 1, as: UInt32.self))
        guard frameBytes <= end - frame else { return nil }
        let frameEnd = frame + frameBytes
        while frameEnd - item >= NotificationFrame.itemHeaderBytes {
            let dataBytes = Int(item.bigEndian(at: 1, as: UInt16.self))
            let data = item + NotificationFrame.itemHeaderBytes
            guard dataBytes <= frameEnd - data else { return nil }
            if item.byte(at: 0) == Command2Item.token.rawValue {
                return (UnsafeRawBufferPointer(start: data, count: dataBytes), frameBytes)
            }
            item = data + dataBytes
        }
        return nil
    }

    private static func command0Or1Token(
        at frame: UnsafeRawPointer,
        tokenOffset: Int,
        until end: UnsafeRawPointer
    ) -> (token: UnsafeRawBufferPointer, frameBytes: Int)? {
        guard tokenOffset <= end - frame else { return nil }
        let tokenBytes = Int(frame.bigEndian(at: tokenOffset - 2, as: UInt16.self))
        let payloadOffset = tokenOffset + tokenBytes + 2
        guard payloadOffset <= end - frame else { return nil }
        let frameBytes = payloadOffset + Int(frame.bigEndian(at: payloadOffset - 2, as: UInt16.self))
        guard frameBytes <= end - frame else { return nil }
        return (UnsafeRawBufferPointer(start: frame + tokenOffset, count: tokenBytes), frameBytes)
    }
}
