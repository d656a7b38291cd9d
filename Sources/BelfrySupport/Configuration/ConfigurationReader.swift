/// Reads a configuration from its layers and collects every problem on the way, so that all are told at once.
///
/// A value comes from the environment if a variable names its key, else from the file, else it is the default. The
/// variable is `BELFRY_` and the key's path in capitals with everything but letters and digits as underscore
/// (`worker.max-uncommitted`: `BELFRY_WORKER_MAX_UNCOMMITTED`); with `_FILE` behind it, it names a file that holds the
/// value: the way for secrets. An empty variable counts as not set.
final class ConfigurationReader {
    static let variablePrefix = "BELFRY_"
    static let fileSuffix = "_FILE"

    private(set) var problems: [ConfigurationProblem] = []
    /// The values in force, in the order in which they were asked for first.
    private(set) var settings: [ConfigurationSetting] = []

    let file: String?
    /// Makes a path of the file one that starts from the file's directory.
    let resolve: (String) -> String
    private let variables: [String: String]
    private let readFile: (String) -> String?
    private var usedVariables: Set<String> = []
    private var notedKeys: Set<String> = []

    /// - Parameters:
    ///   - file: the name of the configuration file, for messages; nil: there is none.
    ///   - directory: the directory where relative paths start. Nil: they stay.
    ///   - variables: the process's environment.
    ///   - readFile: the text of the file at a path, nil if it cannot be read.
    init(
        file: String?,
        directory: String?,
        variables: [String: String],
        readFile: @escaping (String) -> String?
    ) {
        self.file = file
        resolve = { path in
            guard let directory, !path.hasPrefix("/") else { return path }
            return directory + "/" + path
        }
        self.variables = variables.filter { $0.key.hasPrefix(Self.variablePrefix) && !$0.value.isEmpty }
        self.readFile = readFile
    }

    func report(_ problem: ConfigurationProblem) {
        // A value that is asked for twice is wrong twice; it is told once.
        if !problems.contains(problem) { problems.append(problem) }
    }

    func noteSetting(_ setting: ConfigurationSetting) {
        if notedKeys.insert(setting.key).inserted { settings.append(setting) }
    }

    /// The value that the environment has for the key at `path`.
    func variable(at path: [String]) -> (text: String, origin: ConfigurationOrigin)? {
        variable(named: Self.variableName(of: path), at: path)
            ?? Self.formerPath(of: path).flatMap { variable(named: Self.variableName(of: $0), at: path) }
    }

    private func variable(named name: String, at path: [String]) -> (text: String, origin: ConfigurationOrigin)? {
        let fileVariable = name + Self.fileSuffix
        let direct = variables[name]
        if direct != nil { usedVariables.insert(name) }
        guard let filePath = variables[fileVariable] else { return direct.map { ($0, .variable(name)) } }
        usedVariables.insert(fileVariable)
        let key = path.joined(separator: ".")
        guard direct == nil else {
            report(
                ConfigurationProblem(
                    key: key,
                    origin: .variable(fileVariable),
                    found: "both \(name) and \(fileVariable)",
                    allowed: "one of them"
                )
            )
            return nil
        }
        guard let text = readFile(filePath) else {
            report(
                ConfigurationProblem(
                    key: key,
                    origin: .variable(fileVariable),
                    found: "\"\(filePath)\", which cannot be read",
                    allowed: "a readable file that holds the value"
                )
            )
            return nil
        }
        let value = text.last?.isNewline == true ? String(text.dropLast()) : text
        return (value, .variable(fileVariable))
    }

    /// Endings of the variables that begin with the variable name of `path`. Without `_FILE`; sorted.
    func variableSuffixes(below path: [String]) -> [String] {
        let prefix = Self.variableName(of: path) + "_"
        let suffixes = variables.keys.filter { $0.hasPrefix(prefix) }.map { name in
            let suffix = name.dropFirst(prefix.count)
            return String(suffix.hasSuffix(Self.fileSuffix) ? suffix.dropLast(Self.fileSuffix.count) : suffix)
        }
        return Set(suffixes).filter { !$0.isEmpty }.sorted()
    }

    /// Variables with our prefix that name no key; sorted. They are told, not refused: other software sets some
    /// (Kubernetes does for every service).
    var unusedVariables: [String] {
        variables.keys.filter { !usedVariables.contains($0) }.sorted()
    }

    /// The section of the apps was called `topics` in the version before, which is still taken.
    static func presentName(of section: String) -> String { section == "topics" ? "apps" : section }

    private static func formerPath(of path: [String]) -> [String]? {
        path.first == "apps" ? ["topics"] + path.dropFirst() : nil
    }

    static func variableName(of path: [String]) -> String {
        variablePrefix + path.map(variableSegment).joined(separator: "_")
    }

    static func variableSegment(_ key: String) -> String {
        String(
            decoding: key.uppercased().utf8.map { byte in
                switch byte {
                case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): byte
                default: UInt8(ascii: "_")
                }
            },
            as: UTF8.self
        )
    }
}
