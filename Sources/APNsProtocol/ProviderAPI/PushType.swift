/// The kind of a notification: the value of `apns-push-type` [later].
///
/// It decides on the topic's suffix, the payload's limit, its `aps`, and the priorities.
public enum PushType: String, Sendable, Hashable, CaseIterable {
    /// Shows, sounds or badges.
    case alert
    /// Updates content without disturbing the person.
    case background
    case voip
    case complication
    case fileprovider
    /// Asks for the device's location.
    case location
    case liveactivity
    case pushtotalk
    case widgets
    case controls
    /// Wakes a managed device. Its topic is the UID of the certificate, whatever the bundle.
    case mdm

    /// The text behind the bundle ID in the topic; empty for none.
    public var topicSuffix: String {
        switch self {
        case .alert, .background, .mdm: ""
        case .voip: ".voip"
        case .complication: ".complication"
        case .fileprovider: ".pushkit.fileprovider"
        case .location: ".location-query"
        case .liveactivity: ".push-type.liveactivity"
        case .pushtotalk: ".voip-ptt"
        case .widgets: ".push-type.widgets"
        case .controls: ".push-type.controls"
        }
    }

    /// The place of `aps` in the payload.
    ///
    /// Only the device misses one. So a push type without a documented form of its own may do without. [ours]
    public var aps: ApsRule {
        switch self {
        // These show something, or bring it up to date, and all of that stands in it.
        case .alert, .liveactivity, .widgets, .controls: .required
        // `{}` wakes Wallet passes; the payloads of the others are handed to the app, or its extension, as they are.
        case .background, .voip, .complication, .fileprovider, .location, .pushtotalk: .optional
        // `{"mdm":"…"}`.
        case .mdm: .forbidden
        }
    }

    /// The longest payload, in bytes.
    public var payloadLimitBytes: Int {
        self == .voip ? PayloadLimit.voip : PayloadLimit.http2
    }

    /// The priority may stand in a request of this push type. Types without a rule of their own take every one.
    public func allows(_ priority: ProviderPriority) -> Bool {
        switch self {
        case .alert, .location: priority != .neverWaking
        case .background: priority == .powerSaving
        default: true
        }
    }

    /// The nearest priority that this push type allows, for a request that asks for another one.
    public func allowed(_ priority: ProviderPriority) -> ProviderPriority {
        allows(priority) ? priority : .powerSaving
    }

    /// The push type needs a provider token; a certificate does not do, not even one that names the topic.
    ///
    /// Documented for `location` [later], observed for the others [field].
    public var needsProviderToken: Bool {
        switch self {
        case .fileprovider, .location, .liveactivity, .widgets, .controls: true
        case .alert, .background, .voip, .complication, .pushtotalk, .mdm: false
        }
    }

    // MARK: Topics

    /// The topic of an app: its bundle ID with the suffix.
    public func topic(bundle: String) -> String {
        bundle + topicSuffix
    }

    /// The bundle ID in a topic of this push type; nil if the suffix is absent, or nothing stands before it.
    ///
    /// Types without a suffix have every topic, those of other types included.
    public func bundle(ofTopic topic: String) -> String? {
        guard topic.utf8.count > topicSuffix.utf8.count, topic.hasSuffix(topicSuffix) else { return nil }
        return String(topic.dropLast(topicSuffix.count))
    }

    /// The only push type with this topic's suffix; nil for a topic without one.
    public static func named(bySuffixOf topic: String) -> PushType? {
        allCases.first { !$0.topicSuffix.isEmpty && $0.bundle(ofTopic: topic) != nil }
    }
}
