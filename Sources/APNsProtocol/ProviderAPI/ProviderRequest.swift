/// A request to one device, as a server read it and found it in order.
public struct ProviderRequest: Hashable, Sendable {
    /// The provider's id; nil: the service makes one.
    public let id: NotificationID?
    /// The topic, suffix included.
    public let topic: String
    /// The bundle ID in the topic.
    public let bundle: String
    /// The push type as named, or by the topic's suffix, or an alert [ours].
    public let pushType: PushType
    public let priority: ProviderPriority
    /// UNIX seconds; 0: one attempt; nil: stored for as long as the service stores.
    public let expiration: Int64?
    /// 1 to 64 bytes; nil: none.
    public let collapseID: [UInt8]?
}
