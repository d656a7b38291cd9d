/// Origin of a configuration value.
public enum ConfigurationOrigin: Sendable, Equatable, CustomStringConvertible {
    /// A line (from 1) of a configuration file, named as the user named it.
    case file(String, line: Int)
    /// An environment variable.
    case variable(String)
    /// Nowhere: neither in this file nor in the environment; nil: no file was given.
    case absent(file: String?)

    public var description: String {
        switch self {
        case .file(let name, let line): "\(name):\(line)"
        case .variable(let name): name
        case .absent(let file): file ?? "no configuration file was given (--config FILE)"
        }
    }
}

/// One value that is wrong.
public struct ConfigurationProblem: Sendable, Equatable, CustomStringConvertible {
    /// Found where the key was not asked for; what is allowed are the names of the others.
    package static let unknownKey = "an unknown key"

    /// The key's path, for instance `worker.shards`; empty when the file as a whole is at fault.
    public let key: String
    public let origin: ConfigurationOrigin
    /// The text that was found; never a secret.
    public let found: String
    /// The values that are allowed instead.
    public let allowed: String

    public init(key: String, origin: ConfigurationOrigin, found: String, allowed: String) {
        self.key = key
        self.origin = origin
        self.found = found
        self.allowed = allowed
    }

    public var description: String {
        "\(origin): \(key.isEmpty ? "" : "\(key): ")found \(found); allowed: \(allowed)"
    }
}

/// A configuration that cannot be used: every problem of it, in the order of the keys. Exit code 78.
public struct ConfigurationError: Error, Sendable, Equatable, CustomStringConvertible {
    /// At least one.
    public let problems: [ConfigurationProblem]

    public init(_ problems: [ConfigurationProblem]) {
        precondition(!problems.isEmpty, "a configuration error names a problem")
        self.problems = problems
    }

    /// One line per problem.
    public var description: String {
        problems.map(\.description).joined(separator: "\n")
    }
}
