import APNsProtocol
import HTTP2Transport

/// The header fields of one broadcast after the other on a connection: those of ``HTTP2RequestFields``, but the path
/// names the app, and the channel stands in a field of its own [later].
///
/// Bound to its connection's event loop.
struct BroadcastFields: ~Copyable {
    private(set) var fields = HTTP2Fields()
    private let path: Int
    private let id: Int
    private let authorization: Int?
    private let channel: Int
    private let pushType: Int
    private let priority: Int
    private let expiration: Int

    /// - Parameters:
    ///   - authority: the host, with the port if it is not 443.
    ///   - hasAuthorization: requests carry a provider token.
    init(authority: String, hasAuthorization: Bool) {
        fields.append(":method", "POST")
        fields.append(":scheme", "https")
        fields.append(":authority", authority)
        path = fields.append(":path", "", indexing: .never)
        authorization = hasAuthorization ? fields.append("authorization", "") : nil
        pushType = fields.append("apns-push-type", "")
        priority = fields.append("apns-priority", "")
        expiration = fields.append("apns-expiration", "", indexing: .never)
        channel = fields.append("apns-channel-id", "", indexing: .never)
        id = fields.append("apns-request-id", "", indexing: .never)
    }

    /// Writes the fields of a request, which stay until the next call. The channel's id stands in place of the token.
    mutating func write(_ request: StreamRequest, path text: String) {
        let content = request.content
        fields.replaceValue(at: path, text)
        if let authorization, let value = request.authorization {
            fields.replaceValue(at: authorization, byteCount: value.count) { $0.copyBytes(from: value) }
        }
        fields.replaceValue(at: pushType, content.pushType.rawValue)
        fields.replaceValue(at: priority, "\(content.priority.rawValue)")
        // Always said: see ``BroadcastRule``.
        fields.replaceValue(at: expiration, "\(content.expiration ?? 0)")
        fields.replaceValue(at: channel, byteCount: request.token.count) { $0.copyBytes(from: request.token) }
        fields.replaceValue(at: id, byteCount: NotificationID.textBytes) { request.id.write(into: $0) }
    }
}
