/// A configuration as it was read: what is in force, and what is wrong with it.
public struct ConfigurationInspection: Sendable {
    /// Values that are wrong have their defaults in it.
    public let configuration: BelfryConfiguration
    /// Every key with its value, in the order of the sections. Keys of single topics that are not set are left out: the
    /// worker's and the environments' values hold.
    public let settings: [ConfigurationSetting]
    /// In the order of the keys.
    public let problems: [ConfigurationProblem]

    init(_ configuration: BelfryConfiguration, _ reader: ConfigurationReader) {
        self.configuration = configuration
        settings = reader.settings.filter { $0.origin != nil || !$0.key.hasPrefix("apps.") }
        problems = reader.problems
    }

    /// A key of these sections is wrong, or a section as a whole.
    package func hasProblem(in sections: [String]) -> Bool {
        problems.contains { problem in
            sections.contains { problem.key == $0 || problem.key.hasPrefix($0 + ".") }
        }
    }

    /// The configuration. Throws `ConfigurationError` if anything is wrong with it.
    public func sound() throws(ConfigurationError) -> BelfryConfiguration {
        guard problems.isEmpty else { throw ConfigurationError(problems) }
        return configuration
    }
}

/// The value of a key that is in force, and its origin.
public struct ConfigurationSetting: Sendable, Equatable {
    /// A value as people may see it.
    public enum Value: Sendable, Equatable {
        /// Nil: nothing is set, and nothing stands in.
        case shown(String?)
        /// There is one, and it may be a secret.
        case hidden

        /// In words for people.
        public var text: String {
            switch self {
            case .shown(let value): value ?? "not set"
            case .hidden: "a value that is not shown"
            }
        }
    }

    /// The key's path, for instance `worker.shards`.
    public let key: String
    public let value: Value
    /// Nil: it is the default.
    public let origin: ConfigurationOrigin?
}
