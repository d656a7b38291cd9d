import Foundation

extension BelfryConfiguration {
    /// Loads the configuration: defaults, overridden by the file, overridden by the environment.
    ///
    /// - Parameters:
    ///   - path: the YAML file; nil: there is none. Relative paths in it start from its directory.
    ///   - variables: the process's environment; see ``ConfigurationReader`` for the names.
    ///   - requiresEnvironments: whether no environment at all is a problem, as it is for the roles that send.
    /// - Throws: `ConfigurationError` with every problem there is.
    public static func load(
        path: String?,
        variables: [String: String] = ProcessInfo.processInfo.environment,
        requiresEnvironments: Bool = true
    ) throws(ConfigurationError) -> BelfryConfiguration {
        try inspect(path: path, variables: variables, requiresEnvironments: requiresEnvironments).sound()
    }

    /// Reads the configuration as ``load(path:variables:requiresEnvironments:)`` does, for those who look at it.
    ///
    /// - Throws: `ConfigurationError` if the file as a whole cannot be read.
    public static func inspect(
        path: String?,
        variables: [String: String] = ProcessInfo.processInfo.environment,
        requiresEnvironments: Bool = true
    ) throws(ConfigurationError) -> ConfigurationInspection {
        var yaml: String?
        var directory: String?
        if let path {
            guard let data = FileManager.default.contents(atPath: path) else {
                throw unusable(path, found: "no file that can be read", allowed: "a readable YAML file")
            }
            guard let text = String(bytes: data, encoding: .utf8) else {
                throw unusable(path, found: "bytes that are not UTF-8", allowed: "a YAML file in UTF-8")
            }
            yaml = text
            directory = URL(fileURLWithPath: path).deletingLastPathComponent().path
        }
        return try inspect(
            yaml: yaml,
            file: path,
            directory: directory,
            variables: variables,
            requiresEnvironments: requiresEnvironments
        )
    }

    /// Loads from a text: `file` is its name in messages, `directory` where relative paths start (nil: they stay).
    static func load(
        yaml: String?,
        file: String?,
        directory: String?,
        variables: [String: String],
        requiresEnvironments: Bool = true,
        readFile: @escaping (String) -> String? = { try? String(contentsOfFile: $0, encoding: .utf8) }
    ) throws(ConfigurationError) -> BelfryConfiguration {
        try inspect(
            yaml: yaml,
            file: file,
            directory: directory,
            variables: variables,
            requiresEnvironments: requiresEnvironments,
            readFile: readFile
        ).sound()
    }

    /// Reads from a text, as `load` does.
    static func inspect(
        yaml: String?,
        file: String?,
        directory: String?,
        variables: [String: String],
        requiresEnvironments: Bool = true,
        readFile: @escaping (String) -> String? = { try? String(contentsOfFile: $0, encoding: .utf8) }
    ) throws(ConfigurationError) -> ConfigurationInspection {
        var root: ConfigurationNode?
        if let yaml, let file { root = try ConfigurationNode.parse(yaml: yaml, file: file) }
        let reader = ConfigurationReader(file: file, directory: directory, variables: variables, readFile: readFile)
        let section = ConfigurationSection(reader: reader, root: root)
        var configuration = BelfryConfiguration(reading: section)
        section.reportUnknownKeys()
        if requiresEnvironments, configuration.environments.isEmpty, !section.has("environments") {
            section.reportMissing("environments", allowed: "at least one environment with its gateways")
        }
        configuration.unusedVariables = reader.unusedVariables
        return ConfigurationInspection(configuration, reader)
    }

    private static func unusable(_ path: String, found: String, allowed: String) -> ConfigurationError {
        ConfigurationError([
            ConfigurationProblem(key: "", origin: .absent(file: path), found: found, allowed: allowed)
        ])
    }
}
