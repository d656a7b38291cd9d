import APNsProtocol
import NIOCore
import PipelineCore
import RequestRules

/// The part of a request of the provider API that is the same for all tokens of a record.
final class StreamContent {
    /// The value of `apns-topic`; a broadcast has none.
    let topic: String
    /// The path of a broadcast; nil: the content is for device tokens.
    let broadcastPath: String?
    let pushType: PushType
    /// The push type that the credential has to be good for.
    let credentialType: PushType
    let priority: ProviderPriority
    /// UNIX seconds; 0: one attempt, no storage. Nil: the service's default, without a field.
    let expiration: UInt32?
    /// Empty: none.
    let collapseID: [UInt8]
    let ids: NotificationIDs
    /// The payload, shared by all streams that carry it.
    let body: ByteBuffer

    init(_ content: NotificationContent, bundleID: String) {
        guard case .http2(let pushType, let priority, let collapseID, let isBroadcast) = content.terms,
            let credentialType = content.terms.credentialType, let ids = content.ids
        else { preconditionFailure("a request of an environment with HTTP/2 is judged for it, and has ids") }
        topic = pushType.topic(bundle: bundleID)
        broadcastPath = isBroadcast ? BroadcastPath.broadcast(bundle: bundleID).text : nil
        self.pushType = pushType
        self.credentialType = credentialType
        self.priority = priority
        expiration = content.expiration
        self.collapseID = collapseID
        self.ids = ids
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
