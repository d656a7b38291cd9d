extension NotificationFrame {
    /// The token inside a frame of
    /// ``NotificationFrame/encodeCommand2(identifier:token:payload:expiration:priority:into:)``. A caller that keeps
    /// the frame for sending it again need not keep the token as well.
    ///
    /// - Parameter frame: begins with the whole frame; traps when it is something else.
    /// - Returns: points into `frame` and is valid as long as that is.
    public static func command2Token(in frame: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        let item = command2IdentifierOffset + 4
        let start = item + itemHeaderBytes
        guard let base = frame.baseAddress, frame.count >= start,
            frame[0] == 2, frame[item] == Command2Item.token.rawValue
        else {
            preconditionFailure("not a frame of this encoder")
        }
        let tokenBytes = Int(base.bigEndian(at: item + 1, as: UInt16.self))
        precondition(start + tokenBytes <= frame.count, "the frame is cut inside its token")
        return UnsafeRawBufferPointer(start: base + start, count: tokenBytes)
    }

    /// Payload and priority inside such a frame: what does not depend on its token.
    ///
    /// - Parameter frame: the whole frame; traps when it is something else.
    /// - Returns: the payload points into `frame` and is valid as long as that is.
    public static func command2Content(
        in frame: UnsafeRawBufferPointer
    ) -> (payload: UnsafeRawBufferPointer, priority: UInt8) {
        let start = command2TokenOffset + command2Token(in: frame).count + itemHeaderBytes
        let behind = command2Bytes(tokenBytes: 0, payloadBytes: 0) - command2TokenOffset - itemHeaderBytes
        precondition(start + behind <= frame.count, "the frame is cut behind its token")
        let payload = UnsafeRawBufferPointer(rebasing: frame[start..<frame.count - behind])
        return (payload, frame[frame.count - 1])
    }
}
