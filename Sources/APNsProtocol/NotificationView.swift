/// A notification as it lies in the stream.
///
/// What it points to lies in the bytes being decoded: the view and its buffers are valid **only during the callback**
/// that receives it. What is needed later has to be copied there.
public struct NotificationView {
    /// Where its frame begins: in the chunk that is being decoded, or elsewhere if the frame came in pieces; `nil` for
    /// one that does not lie in a stream.
    public let frame: UnsafeRawPointer?

    /// The command it came with: 0, 1 or 2.
    public let command: UInt8

    /// The provider's identifier; 0 when there is none (always so with command 0) [ours].
    public let identifier: UInt32

    /// UNIX seconds UTC until which the service may store it; 0 = do not store at all [13]. Absent from a command 2
    /// frame it is 0 [ours]. A command 0 frame has none and is delivered regardless of age [13]: it reads as
    /// `UInt32.max`, later than any storage limit.
    public let expiration: UInt32

    /// Absent from the frame it is ``NotificationPriority/immediate`` [ours].
    public let priority: NotificationPriority

    /// The device token, of a length that ``GatewayLimits/tokenBytes`` contains.
    public let token: UnsafeRawBufferPointer

    /// The payload, 1...``GatewayLimits/payloadLimitBytes`` bytes. Its JSON has not been looked at.
    public let payload: UnsafeRawBufferPointer

    /// A notification that lies elsewhere than in a stream. The buffers are valid as long as their owner says.
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
