/// The checks of the provider API on one request to a device, in the order of the real service.
///
/// | step | refusals |
/// |---|---|
/// | method | `MethodNotAllowed` |
/// | provider token | those of the credential |
/// | path and device token | `BadPath`, `MissingDeviceToken`, `BadDeviceToken` |
/// | headers [ours] | `DuplicateHeaders` |
/// | `apns-id` | `BadMessageId` |
/// | topic | `MissingTopic`, `BadTopic`, `TopicDisallowed` |
/// | push type | `InvalidPushType` |
/// | priority | `BadPriority` |
/// | expiration | `BadExpirationDate` |
/// | collapse id | `BadCollapseId` |
/// | payload | `PayloadEmpty`, `PayloadTooLarge` |
///
/// The order up to the device token was observed [field], the rest is [ours]. The service's memory comes behind all of
/// them, and is not judged here: `DeviceTokenNotForTopic`, `Unregistered`, `TooManyRequests`.
public enum ProviderRequestCheck {
    /// The longest topic, in bytes [ours].
    public static let topicLimitBytes = 255

    /// Checks a whole request.
    ///
    /// - Parameters:
    ///   - payloadBytes: the length of the body.
    ///   - credential: finds the provider's reach, or refuses it; called after the method was checked.
    ///   - openToken: looks at the device token, valid during the call, and throws `BadDeviceToken` for one that the
    ///     service did not mint; called for any 1 to ``ProviderPath/tokenLimitBytes`` bytes.
    /// - Throws: the reason of the first refusal.
    public static func check(
        _ head: ProviderRequestHead,
        payloadBytes: Int,
        credential: () throws(ProviderReason) -> ProviderCredential,
        openToken: (UnsafeRawBufferPointer) throws(ProviderReason) -> Void
    ) throws(ProviderReason) -> ProviderRequest {
        try head.withValues { values throws(ProviderReason) in
            guard let method = values[.method], ("POST" as StaticString).equals(method) else {
                throw .methodNotAllowed
            }
            let reach = try credential()
            guard let path = values[.path] else { throw .badPath }
            try ProviderPath.withToken(of: path, openToken)
            guard !head.hasDuplicates else { throw .duplicateHeaders }
            return try checkHeaders(values, payloadBytes: payloadBytes, reach)
        }
    }

    private static func checkHeaders(
        _ values: ProviderRequestHead.Values,
        payloadBytes: Int,
        _ credential: ProviderCredential
    ) throws(ProviderReason) -> ProviderRequest {
        let id = try checkID(values[.id])
        let topic = try checkTopic(values[.topic], credential)
        let (pushType, isNamed) = try checkPushType(values[.pushType], topic: topic, credential)
        guard let bundle = pushType.bundle(ofTopic: topic) else { throw .invalidPushType }
        let request = ProviderRequest(
            id: id,
            topic: topic,
            bundle: bundle,
            pushType: pushType,
            priority: try checkPriority(values[.priority], isNamed ? pushType : nil),
            expiration: try checkExpiration(values[.expiration]),
            collapseID: try checkCollapseID(values[.collapseID])
        )
        guard payloadBytes > 0 else { throw .payloadEmpty }
        guard payloadBytes <= pushType.payloadLimitBytes else { throw .payloadTooLarge }
        return request
    }

    // MARK: Headers

    private static func checkID(_ value: UnsafeRawBufferPointer?) throws(ProviderReason) -> NotificationID? {
        guard let value else { return nil }
        guard let id = NotificationID(value) else { throw .badMessageID }
        return id
    }

    private static func checkTopic(
        _ value: UnsafeRawBufferPointer?,
        _ credential: ProviderCredential
    ) throws(ProviderReason) -> String {
        guard let value else {
            guard let topic = credential.defaultTopic else { throw .missingTopic }
            return topic
        }
        guard (1...topicLimitBytes).contains(value.count), value.allSatisfy(isTopicByte) else { throw .badTopic }
        let topic = String(decoding: value, as: UTF8.self)
        guard credential.allows(topic: topic) else { throw .topicDisallowed }
        return topic
    }

    /// - Returns: the push type, and: the request names it.
    private static func checkPushType(
        _ value: UnsafeRawBufferPointer?,
        topic: String,
        _ credential: ProviderCredential
    ) throws(ProviderReason) -> (PushType, isNamed: Bool) {
        let bySuffix = PushType.named(bySuffixOf: topic)
        guard let value else { return (bySuffix ?? .alert, false) }
        guard let pushType = PushType(rawValue: String(decoding: value, as: UTF8.self)) else {
            throw .invalidPushType
        }
        // A type without a suffix goes with a topic without one, and the others with their own [ours].
        let goesWithTopic = pushType.topicSuffix.isEmpty ? bySuffix == nil : pushType == bySuffix
        guard goesWithTopic, !pushType.needsProviderToken || credential.isProviderToken else {
            throw .invalidPushType
        }
        return (pushType, true)
    }

    /// - Parameter pushType: nil: not named, so that every priority may stand.
    private static func checkPriority(
        _ value: UnsafeRawBufferPointer?,
        _ pushType: PushType?
    ) throws(ProviderReason) -> ProviderPriority {
        // The default may stand with every push type: only a header can be wrong [ours].
        guard let value else { return pushType?.allowed(.immediate) ?? .immediate }
        guard let priority = ProviderPriority(headerValue: value), pushType?.allows(priority) ?? true else {
            throw .badPriority
        }
        return priority
    }

    private static func checkExpiration(_ value: UnsafeRawBufferPointer?) throws(ProviderReason) -> Int64? {
        guard let value else { return nil }
        guard let seconds = ProviderExpiration.seconds(headerValue: value) else { throw .badExpirationDate }
        return seconds
    }

    private static func checkCollapseID(_ value: UnsafeRawBufferPointer?) throws(ProviderReason) -> [UInt8]? {
        guard let value else { return nil }
        guard CollapseID.isValid(value) else { throw .badCollapseID }
        return [UInt8](value)
    }

    /// Letters, digits, hyphens and full stops: the characters of a bundle ID.
    private static func isTopicByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."):
            true
        default:
            false
        }
    }
}
