/// The gateway's limits for notifications, and its answer to unparsable frames.
public struct GatewayLimits: Sendable, Hashable {
    /// The longest payload in bytes: ``PayloadLimit/binary2013`` [13], or ``PayloadLimit/binaryIOS8`` [later].
    public let payloadLimitBytes: Int

    /// The lengths a device token may have: 32 bytes [13], up to 100 [later].
    public let tokenBytes: ClosedRange<Int>

    /// The answer to a frame that cannot be parsed: ``APNsStatus/unknown`` (255), or ``APNsStatus/protocolError``
    /// (128) as in [later].
    public let protocolErrorStatus: APNsStatus

    /// The longest frame in bytes, header included, and thereby the memory a connection can be made to hold [ours].
    ///
    /// The limit is far above the size of an acceptable notification, so that a payload that is merely too long gets
    /// its own status and its identifier.
    public let frameLimitBytes: Int

    /// Traps when the limits contradict each other: a largest acceptable notification has to fit into a frame, a
    /// length has to fit into its 16 bits, and only two statuses stand for a protocol error.
    public init(
        payloadLimitBytes: Int = PayloadLimit.binary2013,
        tokenBytes: ClosedRange<Int> = 32...32,
        protocolErrorStatus: APNsStatus = .unknown,
        frameLimitBytes: Int = 64 * 1024
    ) {
        precondition((1...Int(UInt16.max)).contains(payloadLimitBytes), "payload limit outside 1...65535")
        precondition(tokenBytes.lowerBound >= 1, "a token has at least one byte")
        precondition(tokenBytes.upperBound <= Int(UInt16.max), "a token length has 16 bits")
        precondition(
            protocolErrorStatus == .unknown || protocolErrorStatus == .protocolError,
            "a protocol error is answered with 128 or 255"
        )
        let largest = NotificationFrame.command2Bytes(
            tokenBytes: tokenBytes.upperBound,
            payloadBytes: payloadLimitBytes
        )
        precondition(frameLimitBytes >= largest, "a frame has to hold the largest acceptable notification")
        precondition(frameLimitBytes <= 1 << 24, "a frame limit beyond 16 MiB bounds nothing")
        self.payloadLimitBytes = payloadLimitBytes
        self.tokenBytes = tokenBytes
        self.protocolErrorStatus = protocolErrorStatus
        self.frameLimitBytes = frameLimitBytes
    }
}
