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
    ///   - memo: the connection's.
    ///   - credential: finds the provider's reach, or refuses it; called after the method was checked, with the value
    ///     of `authorization`, nil if it is absent.
    ///   - openToken: looks at the device token, valid during the call, and throws `BadDeviceToken` for one that the
    ///     service did not mint; called for any 1 to ``ProviderPath/tokenLimitBytes`` bytes.
    /// - Throws: the reason of the first refusal.
    public static func check(
        _ head: ProviderRequestHead,
        payloadBytes: Int,
        memo: inout ProviderDestinationMemo,
        credential: (_ authorization: UnsafeRawBufferPointer?) throws(ProviderReason) -> ProviderCredential,
        openToken: (UnsafeRawBufferPointer) throws(ProviderReason) -> Void
    ) throws(ProviderReason) -> ProviderRequest {
        try head.withValues { values throws(ProviderReason) in
            guard let method = values[.method], ("POST" as StaticString).equals(method) else {
                throw .methodNotAllowed
            }
            let reach = try credential(values[.authorization])
            guard let path = values[.path] else { throw .badPath }
            try ProviderPath.withToken(of: path, openToken)
            guard !head.hasDuplicates else { throw .duplicateHeaders }
            return try checkHeaders(values, payloadBytes: payloadBytes, reach, &memo)
        }
    }

    private static func checkHeaders(
        _ values: ProviderRequestHead.Values,
        payloadBytes: Int,
        _ credential: ProviderCredential,
        _ memo: inout ProviderDestinationMemo
    ) throws(ProviderReason) -> ProviderRequest {
        let id = try checkID(values[.id])
        let destination = try memo.find(topic: values[.topic], pushType: values[.pushType], credential)
        let pushType = destination.pushType
        let request = ProviderRequest(
            id: id,
            topic: destination.topic,
            bundle: destination.bundle,
            pushType: pushType,
            priority: try checkPriority(values[.priority], destination.isNamed ? pushType : nil),
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
}
