import APNsProtocol
import FoundationEssentials
import HTTP2Transport

/// Reads requests about channels: all checks that need no more than the request and the provider's reach.
///
/// | step [ours] | refusals |
/// |---|---|
/// | method | `MethodNotAllowed` |
/// | provider | those of the credential, `TopicMismatch` |
/// | headers | `DuplicateHeaders`, `BadMessageId` |
/// | channel, but to create or to list | `MissingChannelId`, `BadChannelId` |
/// | push type of a broadcast | `MissingPushType`, `InvalidPushType` |
/// | priority and expiration of a broadcast | `BadRequestParams` if one is absent, `BadPriority`, `BadExpirationDate` |
/// | payload of a broadcast | `PayloadEmpty`, `PayloadTooLarge` |
/// | body of what is to be created | `BadRequestPayload`, `MissingPushType`, `InvalidPushType` |
struct ChannelRequestReader {
    private static let names: Set = [
        "apns-request-id", "apns-channel-id", "apns-push-type", "apns-priority", "apns-expiration",
    ]

    let path: BroadcastPath
    let method: String
    private let bodyBytes: Int
    private let body: [UInt8]
    private var fields: [String: String] = [:]
    private var hasDuplicates = false

    init(_ message: HTTP2Message, path: BroadcastPath, method: String) {
        self.path = path
        self.method = method
        bodyBytes = message.bodyBytes
        body = message.withBody { Array($0) }
        var fields: [String: String] = [:]
        var hasDuplicates = false
        message.forEachField { name, value in
            let name = String(decoding: name, as: UTF8.self)
            guard Self.names.contains(name) else { return }
            guard fields[name] == nil else {
                hasDuplicates = true
                return
            }
            fields[name] = String(decoding: value, as: UTF8.self)
        }
        self.fields = fields
        self.hasDuplicates = hasDuplicates
    }

    /// The provider's id of the request, if it is one.
    var id: String? { fields["apns-request-id"].flatMap { NotificationID($0) == nil ? nil : $0 } }

    /// Checks the request.
    ///
    /// - Parameter credential: finds the provider's reach, or refuses it.
    /// - Throws: the reason of the first refusal.
    func order(
        _ credential: () throws(ProviderReason) -> ProviderCredential
    ) throws(ProviderReason) -> ChannelRequest.Order {
        guard methods.contains(method) else { throw .methodNotAllowed }
        let reach = try credential()
        guard reach.allows(topic: path.bundle) else { throw .topicMismatch }
        guard !hasDuplicates else { throw .duplicateHeaders }
        if let id = fields["apns-request-id"], NotificationID(id) == nil { throw .badMessageID }
        switch (path, method) {
        case (.broadcast, _): return try broadcast(to: try channel())
        case (.allChannels, _): return .list
        case (.channels, "GET"): return .read(channel: try channel())
        case (.channels, "DELETE"): return .delete(channel: try channel())
        case (.channels, _): return .create(storesMessages: try storesMessages())
        }
    }

    private var methods: [String] {
        switch path {
        case .broadcast: ["POST"]
        case .channels: ["POST", "GET", "DELETE"]
        case .allChannels: ["GET"]
        }
    }

    private func channel() throws(ProviderReason) -> String {
        guard let channel = fields["apns-channel-id"] else { throw .missingChannelID }
        guard ChannelID.isValid(channel) else { throw .badChannelID }
        return channel
    }

    private func broadcast(to channel: String) throws(ProviderReason) -> ChannelRequest.Order {
        guard let pushType = fields["apns-push-type"] else { throw .missingPushType }
        // Documents write it in several ways [later].
        guard pushType.lowercased() == PushType.liveactivity.rawValue else { throw .invalidPushType }
        guard let priorityText = fields["apns-priority"], let expirationText = fields["apns-expiration"] else {
            throw .badRequestParams
        }
        guard let priority = Array(priorityText.utf8).withUnsafeBytes({ ProviderPriority(headerValue: $0) }) else {
            throw .badPriority
        }
        let expirationBytes = Array(expirationText.utf8)
        guard let seconds = expirationBytes.withUnsafeBytes({ ProviderExpiration.seconds(headerValue: $0) }) else {
            throw .badExpirationDate
        }
        guard bodyBytes > 0 else { throw .payloadEmpty }
        guard bodyBytes <= PayloadLimit.broadcast else { throw .payloadTooLarge }
        return .broadcast(channel: channel, expiration: UInt32(clamping: seconds), priority: priority)
    }

    private func storesMessages() throws(ProviderReason) -> Bool {
        guard let configuration = try? JSONDecoder().decode(ChannelConfiguration.self, from: Data(body)),
            (0...1).contains(configuration.storagePolicy)
        else { throw .badRequestPayload }
        guard let pushType = configuration.pushType else { throw .missingPushType }
        guard pushType.lowercased() == ChannelConfiguration.liveActivity.lowercased() else { throw .invalidPushType }
        return configuration.storagePolicy == 1
    }
}
