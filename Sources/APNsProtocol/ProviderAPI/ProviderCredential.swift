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
    /// The topic of a request that names none; nil: such a request is refused. A certificate's is that of its subject.
    public let defaultTopic: String?

    /// A certificate's reach: the topic in its subject, and those that its extensions name. It sends no other [later].
    ///
    /// - Parameter subject: the bundle ID; of a VoIP Services certificate with the suffix `.voip` [field].
    public static func certificate(subject: String, topics: [String]) -> ProviderCredential {
        ProviderCredential(topics: .exactly(Set(topics + [subject])), defaultTopic: subject)
    }

    /// A provider token's reach.
    public static func providerToken(bundles: Set<String>) -> ProviderCredential {
        ProviderCredential(topics: .bundles(bundles), defaultTopic: nil)
    }

    /// The credential covers a topic. No certificate covers that of a push type which needs a provider token.
    public func allows(topic: String) -> Bool {
        switch topics {
        case .exactly(let topics):
            return topics.contains(topic) && PushType.named(bySuffixOf: topic)?.needsProviderToken != true
        case .bundles(let bundles):
            if bundles.contains(topic) { return true }
            guard let bundle = PushType.named(bySuffixOf: topic)?.bundle(ofTopic: topic) else { return false }
            return bundles.contains(bundle)
        }
    }
}
