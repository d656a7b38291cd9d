import Yams

/// A configuration file as a tree of texts, each with the line it stands on.
struct ConfigurationNode: Sendable {
    indirect enum Value: Sendable {
        /// A key without a value.
        case empty
        case scalar(String)
        case list([ConfigurationNode])
        case mapping([Entry])
    }

    struct Entry: Sendable {
        let key: String
        let line: Int
        let node: ConfigurationNode
    }

    let value: Value
    let line: Int

    /// The kind of this node, for an error message. A scalar's text is not told: it may be a secret.
    var kind: String {
        switch value {
        case .empty: "nothing"
        case .scalar: "a single value"
        case .list: "a list"
        case .mapping: "a mapping"
        }
    }

    /// Parses YAML. Nil for a file without content. Throws `ConfigurationError`, which names the line.
    static func parse(yaml: String, file: String) throws(ConfigurationError) -> ConfigurationNode? {
        do {
            return try Yams.compose(yaml: yaml).map(Self.init)
        } catch {
            throw ConfigurationError([problem(with: error, file: file)])
        }
    }

    private init(_ node: Yams.Node) {
        line = node.mark?.line ?? 1
        switch node {
        case .scalar(let scalar):
            // Only a plain `null`, `~` or nothing is empty; quoted they are texts.
            let isEmpty = scalar.style == .plain && node.tag == Tag(.null)
            value = isEmpty ? .empty : .scalar(scalar.string)
        case .sequence(let sequence):
            value = .list(sequence.map(Self.init))
        case .mapping(let mapping):
            value = .mapping(
                mapping.map { key, node in
                    Entry(key: key.string ?? "(not a text)", line: key.mark?.line ?? 1, node: Self(node))
                }
            )
        case .alias:
            // The parser resolves aliases; one is only seen in trees built by hand.
            value = .empty
        }
    }

    private static func problem(with error: any Error, file: String) -> ConfigurationProblem {
        let line: Int
        let found: String
        switch error as? YamlError {
        case .scanner(let context, let problem, let mark, _), .parser(let context, let problem, let mark, _),
            .composer(let context, let problem, let mark, _):
            line = mark.line
            found = [context?.text, problem].compactMap { $0 }.joined(separator: ": ")
        case .duplicatedKeysInMapping(let duplicates, let context):
            line = context.mark.line
            found = "the same key twice (\(duplicates.joined(separator: ", ")))"
        case .reader(let problem, _, _, _):
            line = 1
            found = problem
        default:
            line = 1
            found = "\(error)"
        }
        return ConfigurationProblem(key: "", origin: .file(file, line: line), found: found, allowed: "YAML")
    }
}
