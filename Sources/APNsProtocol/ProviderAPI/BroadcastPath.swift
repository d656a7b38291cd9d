/// The paths of broadcasts and of the management of their channels [later].
public enum BroadcastPath: Equatable, Sendable {
    /// A broadcast: `/4/broadcasts/apps/<bundle>`.
    case broadcast(bundle: String)
    /// One channel, to create, read or delete: `/1/apps/<bundle>/channels`.
    case channels(bundle: String)
    /// The ids of all channels: `/1/apps/<bundle>/all-channels`.
    case allChannels(bundle: String)

    private static let broadcastPrefix = "/4/broadcasts/apps/"
    private static let managementPrefix = "/1/apps/"
    private static let channelsSuffix = "/channels"
    private static let allChannelsSuffix = "/all-channels"

    /// The value of `:path`.
    public var text: String {
        switch self {
        case .broadcast(let bundle): Self.broadcastPrefix + bundle
        case .channels(let bundle): Self.managementPrefix + bundle + Self.channelsSuffix
        case .allChannels(let bundle): Self.managementPrefix + bundle + Self.allChannelsSuffix
        }
    }

    /// The bundle ID that the path names.
    public var bundle: String {
        switch self {
        case .broadcast(let bundle), .channels(let bundle), .allChannels(let bundle): bundle
        }
    }

    /// Reads the value of `:path`; nil for another path, or one without a bundle ID.
    public init?(_ text: String) {
        if let bundle = Self.between(Self.broadcastPrefix, "", of: text) {
            self = .broadcast(bundle: bundle)
        } else if let bundle = Self.between(Self.managementPrefix, Self.channelsSuffix, of: text) {
            self = .channels(bundle: bundle)
        } else if let bundle = Self.between(Self.managementPrefix, Self.allChannelsSuffix, of: text) {
            self = .allChannels(bundle: bundle)
        } else {
            return nil
        }
    }

    private static func between(_ prefix: String, _ suffix: String, of text: String) -> String? {
        guard text.hasPrefix(prefix), text.hasSuffix(suffix), text.utf8.count > prefix.utf8.count + suffix.utf8.count
        else { return nil }
        let bundle = text.dropFirst(prefix.count).dropLast(suffix.count)
        return bundle.contains("/") ? nil : String(bundle)
    }
}
