/// The app and the kind of notification that a request is for: topic and push type, found in order.
struct ProviderDestination: Sendable {
    /// The topic, suffix included.
    let topic: String
    /// The bundle ID in the topic.
    let bundle: String
    let pushType: PushType
    /// The request names the push type.
    let isNamed: Bool

    /// Checks `apns-topic` and `apns-push-type`.
    ///
    /// - Throws: `MissingTopic`, `BadTopic`, `TopicDisallowed` or `InvalidPushType`. A certificate gets
    ///   `TopicDisallowed` for a push type that needs a provider token: observed for `liveactivity` [field], for the
    ///   others [ours].
    init(
        topic topicValue: UnsafeRawBufferPointer?,
        pushType value: UnsafeRawBufferPointer?,
        _ credential: ProviderCredential
    ) throws(ProviderReason) {
        topic = try Self.topic(topicValue, credential)
        let bySuffix = PushType.named(bySuffixOf: topic)
        isNamed = value != nil
        if let value {
            pushType = try Self.pushType(value, bySuffix: bySuffix)
        } else {
            pushType = bySuffix ?? .alert
        }
        guard let bundle = pushType.bundle(ofTopic: topic) else { throw .invalidPushType }
        self.bundle = bundle
    }

    private static func topic(
        _ value: UnsafeRawBufferPointer?,
        _ credential: ProviderCredential
    ) throws(ProviderReason) -> String {
        guard let value else {
            guard let topic = credential.defaultTopic else { throw .missingTopic }
            return topic
        }
        let limit = ProviderRequestCheck.topicLimitBytes
        guard (1...limit).contains(value.count), value.allSatisfy(isTopicByte) else { throw .badTopic }
        let topic = String(decoding: value, as: UTF8.self)
        guard credential.allows(topic: topic) else { throw .topicDisallowed }
        return topic
    }

    private static func pushType(
        _ value: UnsafeRawBufferPointer,
        bySuffix: PushType?
    ) throws(ProviderReason) -> PushType {
        guard let pushType = PushType(rawValue: String(decoding: value, as: UTF8.self)) else {
            throw .invalidPushType
        }
        // A type without a suffix goes with a topic without one, and the others with their own [ours].
        let goesWithTopic = pushType.topicSuffix.isEmpty ? bySuffix == nil : pushType == bySuffix
        guard goesWithTopic else { throw .invalidPushType }
        return pushType
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

/// Remembers the last destination of a connection: its next request mostly has the same, and checking it takes texts.
public struct ProviderDestinationMemo: Sendable {
    /// The values of the headers, as they came.
    private var topic: [UInt8]?
    private var pushType: [UInt8]?
    private var credential: ProviderCredential?
    private var destination: ProviderDestination?

    /// Of a connection without requests.
    public init() {}

    /// Finds the destination of a request. The same values and the same credential have the same.
    mutating func find(
        topic: UnsafeRawBufferPointer?,
        pushType: UnsafeRawBufferPointer?,
        _ credential: ProviderCredential
    ) throws(ProviderReason) -> ProviderDestination {
        if let destination, Self.isSame(topic, self.topic), Self.isSame(pushType, self.pushType),
            credential == self.credential
        {
            return destination
        }
        let found = try ProviderDestination(topic: topic, pushType: pushType, credential)
        self.topic = topic.map { [UInt8]($0) }
        self.pushType = pushType.map { [UInt8]($0) }
        self.credential = credential
        destination = found
        return found
    }

    private static func isSame(_ value: UnsafeRawBufferPointer?, _ known: [UInt8]?) -> Bool {
        guard let value, let known else { return value == nil && known == nil }
        return value.count == known.count && value.elementsEqual(known)
    }
}
