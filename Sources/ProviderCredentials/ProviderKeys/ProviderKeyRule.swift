import APNsProtocol
import BelfrySupport

/// Decides which provider key a bundle uses. Pure.
struct ProviderKeyRule: Sendable, Equatable {
    /// The configuration's word on a bundle.
    enum Choice: Equatable, Sendable {
        case key(ProviderKeyID)
        /// The default key of a team.
        case team(String)
    }

    private let team: String?
    /// By bundle ID.
    private let choices: [String: Choice]
    /// Keys that topics name as their own.
    private let reserved: Set<ProviderKeyID>

    init(_ configuration: BelfryConfiguration) {
        let team = configuration.keys.team
        self.team = team
        choices = configuration.apps.compactMapValues { topic in
            guard topic.team != nil || topic.key != nil, let team = topic.team ?? team else { return nil }
            guard let key = topic.key else { return .team(team) }
            return ProviderKeyID(team: team, key: key).map { .key($0) }
        }
        reserved = Set(choices.values.compactMap { if case .key(let id) = $0 { id } else { nil } })
    }

    /// The configuration gives the bundle a key, even beside a certificate.
    func isNamed(bundleID: String) -> Bool { choices[bundleID] != nil }

    /// The choice for a bundle; nil: its team is not named.
    func choice(bundleID: String) -> Choice? {
        choices[bundleID] ?? team.map { .team($0) }
    }

    /// The default key of each team.
    ///
    /// Of several the first by ID. Keys that a topic has as its own come last: they may be for that topic alone. Keys
    /// whose files are gone come behind all others.
    func defaults(among keys: some Sequence<ProviderKeyID>, gone: Set<ProviderKeyID>) -> [String: ProviderKeyID] {
        func rank(_ id: ProviderKeyID) -> (Int, Int, String) {
            (gone.contains(id) ? 1 : 0, reserved.contains(id) ? 1 : 0, id.key)
        }
        return Dictionary(grouping: keys, by: \.team).compactMapValues { keys in
            keys.min { rank($0) < rank($1) }
        }
    }
}
