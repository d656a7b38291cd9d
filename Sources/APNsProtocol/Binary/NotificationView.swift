/// A notification as it lies in the stream.
///
/// The view points into the bytes being decoded. The view and its buffers are valid **only during the callback** that
/// receives it. The callback copies the parts that are needed later.
public struct NotificationView {
    /// Beginning of the frame in the chunk being decoded. It lies elsewhere if it came in pieces. `nil` for a
    /// notification that does not lie in a stream.
    public let frame: UnsafeRawPointer?

    /// The command of the frame: 0, 1 or 2.
    public let command: UInt8

    /// The provider's identifier; 0 when there is none (always with command 0) [ours].
    public let identifier: UInt32

    /// UNIX seconds UTC until which the service may store the notification; 0 = do not store at all [13]. A command 0
    /// frame has none and is delivered regardless of age [13]: it reads as `UInt32.max`, later than any storage limit.
    /// So does a command 2 frame without the item: the provider API stores what has no `apns-expiration`, too [ours].
    public let expiration: UInt32

    /// The priority; ``NotificationPriority/immediate`` when absent from the frame [ours].
    public let priority: NotificationPriority

    /// The device token, of a length that ``GatewayLimits/tokenBytes`` contains.
    public let token: UnsafeRawBufferPointer

    /// The payload, 1...``GatewayLimits/payloadLimitBytes`` bytes. Its JSON is unchecked.
    public let payload: UnsafeRawBufferPointer

    /// A notification outside a stream. The buffers are valid as long as their owner says.
    @inlinable
    public init(
        frame: UnsafeRawPointer? = nil,
        command: UInt8,
        identifier: UInt32,
        expiration: UInt32,
        priority: NotificationPriority,
        token: UnsafeRawBufferPointer,
        payload: UnsafeRawBufferPointer
    ) {
        self.frame = frame
        self.command = command
        self.identifier = identifier
        self.expiration = expiration
        self.priority = priority
        self.token = token
        self.payload = payload
    }
}
