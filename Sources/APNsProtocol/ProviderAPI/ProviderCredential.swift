/// The topics that a provider may send to, as its certificate or provider token says.
public struct ProviderCredential: Hashable, Sendable {
    /// The reach of a credential.
    public enum Topics: Hashable, Sendable {
        /// These topics, suffixes included: a certificate.
        case exactly(Set<String>)
        /// These bundle IDs, each with the suffix of any push type: a key of a team, or one for some of its topics.
        case bundles(Set<String>)
    }

    public let topics: Topics
    /// The topic of a request that names none; nil: such a request is refused. A certificate's is its bundle ID.
    public let defaultTopic: String?
    /// A provider token, not a certificate.
    public let isProviderToken: Bool

    /// A certificate's reach: its bundle ID, and the topics that its extensions name.
    public static func certificate(bundle: String, topics: [String]) -> ProviderCredential {
        ProviderCredential(
            topics: .exactly(Set(topics + [bundle])),
            defaultTopic: bundle,
            isProviderToken: false
        )
    }

    /// A provider token's reach.
    public static func providerToken(bundles: Set<String>) -> ProviderCredential {
        ProviderCredential(topics: .bundles(bundles), defaultTopic: nil, isProviderToken: true)
    }

    /// The credential covers a topic.
    public func allows(topic: String) -> Bool {
        switch topics {
        case .exactly(let topics):
            return topics.contains(topic)
        case .bundles(let bundles):
            if bundles.contains(topic) { return true }
            guard let bundle = PushType.named(bySuffixOf: topic)?.bundle(ofTopic: topic) else { return false }
            return bundles.contains(bundle)
        }
    }
}
