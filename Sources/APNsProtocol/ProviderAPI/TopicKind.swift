/// The kind of a topic: the family of its suffix. Tokens of one device differ by it, so that an answer about one says
/// nothing of the others [field].
///
/// The numbers stand in Redis and in push.tombstones: none is given anew. One that has no name here is of a later
/// version.
public struct TopicKind: RawRepresentable, Hashable, Sendable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// The bundle ID alone: alerts, background, and MDM.
    public static let app = TopicKind(rawValue: 1)

    /// For people: the suffix without its full stop, such as `voip` or `push-type.liveactivity`; `app` for none.
    public var name: String {
        guard let type = PushType.allCases.first(where: { $0.topicKind == self }) else { return "kind-\(rawValue)" }
        return type.topicSuffix.isEmpty ? "app" : String(type.topicSuffix.dropFirst())
    }
}

extension PushType {
    /// The kind of the topics with this push type.
    public var topicKind: TopicKind {
        switch self {
        case .alert, .background, .mdm: .app
        case .voip: TopicKind(rawValue: 2)
        case .complication: TopicKind(rawValue: 3)
        case .fileprovider: TopicKind(rawValue: 4)
        case .location: TopicKind(rawValue: 5)
        case .liveactivity: TopicKind(rawValue: 6)
        case .pushtotalk: TopicKind(rawValue: 7)
        case .widgets: TopicKind(rawValue: 8)
        case .controls: TopicKind(rawValue: 9)
        }
    }
}
