import APNsProtocol
import NIOCore
import PipelineCore

/// The part of a request of the provider API that is the same for all tokens of a record.
final class StreamContent {
    /// The value of `apns-topic`; a broadcast has none.
    let topic: String
    /// The path of a broadcast; nil: the content is for device tokens.
    let broadcastPath: String?
    let pushType: PushType
    let priority: ProviderPriority
    /// UNIX seconds; 0: one attempt, no storage.
    let expiration: UInt32
    /// Empty: none.
    let collapseID: [UInt8]
    let ids: NotificationIDs
    /// The payload, shared by all streams that carry it.
    let body: ByteBuffer

    init(_ content: NotificationContent, _ fields: ProviderFields, bundleID: String) {
        topic = fields.pushType.topic(bundle: bundleID)
        broadcastPath = fields.isBroadcast ? BroadcastPath.broadcast(bundle: bundleID).text : nil
        pushType = fields.pushType
        priority = fields.priority
        expiration = content.expiration
        collapseID = fields.collapseID
        ids = fields.ids
        body = ByteBuffer(bytes: content.payload)
    }
}

/// One request to one token or channel, as a connection encodes it.
struct StreamRequest {
    let content: StreamContent
    /// Of a broadcast: the channel's id. Valid during the call.
    let token: UnsafeRawBufferPointer
    let id: NotificationID
    /// The value of `authorization`; nil: the connection has a certificate.
    let authorization: [UInt8]?
}
