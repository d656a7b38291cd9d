/// The status byte of an error response [10].
///
/// Any byte is representable, so that an undocumented status is reported unchanged.
public struct APNsStatus: RawRepresentable, Hashable, Sendable {
    /// The byte on the wire.
    public let rawValue: UInt8

    /// Wraps any byte.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// No errors encountered [10].
    public static let noErrors = APNsStatus(rawValue: 0)
    /// Processing error inside the service [10].
    public static let processingError = APNsStatus(rawValue: 1)
    /// No device token, or one of length zero [10].
    public static let missingDeviceToken = APNsStatus(rawValue: 2)
    /// The connection's certificate names no topic [10].
    public static let missingTopic = APNsStatus(rawValue: 3)
    /// No payload, or one of length zero [10].
    public static let missingPayload = APNsStatus(rawValue: 4)
    /// The token has a length that no token has [10].
    public static let invalidTokenSize = APNsStatus(rawValue: 5)
    /// The topic is too long [10].
    public static let invalidTopicSize = APNsStatus(rawValue: 6)
    /// The payload is longer than the transport allows [10].
    public static let invalidPayloadSize = APNsStatus(rawValue: 7)
    /// The token is not one of this environment and topic [10].
    public static let invalidToken = APNsStatus(rawValue: 8)
    /// The gateway closes for its own reasons; the identifier names the last notification that **was** sent [13].
    public static let shutdown = APNsStatus(rawValue: 10)
    /// The frame could not be parsed [later].
    public static let protocolError = APNsStatus(rawValue: 128)
    /// None of the above [10].
    public static let unknown = APNsStatus(rawValue: 255)
}
