import BelfrySupport

/// A finding of `belfry config check`. Pure.
public struct ConfigurationFinding: Equatable, Sendable {
    public enum Verdict: String, Sendable {
        /// An operator has to act.
        case fault
        /// Good to know.
        case note
        /// It was tried, and works.
        case good
    }

    public let verdict: Verdict
    /// The key's path; empty when the file as a whole is meant.
    public let key: String
    /// The place of the value; nil: the finding is about what the value leads to.
    public var origin: String?
    public let found: String
    /// The values that are allowed; nil: the finding is about something else than a value.
    public var allowed: String?
    /// The remedy of a fault.
    public var cure: String?

    /// One line without its end.
    public var text: String {
        let place = [key, origin.map { "(\($0))" } ?? ""].filter { !$0.isEmpty }.joined(separator: " ")
        let parts = ["found \(found)", allowed.map { "allowed: \($0)" }, cure.map { "cure: \($0)" }]
        let words = verdict == .good ? found : parts.compactMap(\.self).joined(separator: "; ")
        return [verdict == .fault ? "FAULT" : verdict.rawValue, place, words].filter { !$0.isEmpty }
            .joined(separator: ": ")
    }

    /// One JSON object on one line, without its end.
    public var json: String {
        var line = JSONLine()
        line.append("verdict", verdict.rawValue)
        if !key.isEmpty { line.append("key", key) }
        if let origin { line.append("origin", origin) }
        line.append("found", found)
        if let allowed { line.append("allowed", allowed) }
        if let cure { line.append("cure", cure) }
        return line.text
    }
}

extension ConfigurationFinding {
    /// A value that is wrong.
    init(_ problem: ConfigurationProblem) {
        self.init(
            verdict: .fault,
            key: problem.key,
            origin: problem.origin.description,
            found: problem.found,
            allowed: problem.allowed,
            cure: Self.cure(of: problem)
        )
    }

    /// Something that a value leads to, and that is not as it must be.
    init(fault found: String, of key: String, cure: String) {
        self.init(verdict: .fault, key: key, found: found, cure: cure)
    }

    init(good found: String, of key: String) {
        self.init(verdict: .good, key: key, found: found)
    }

    init(note found: String, of key: String) {
        self.init(verdict: .note, key: key, found: found)
    }

    private static func cure(of problem: ConfigurationProblem) -> String {
        if problem.found == ConfigurationProblem.unknownKey {
            let name = problem.key.split(separator: ".").last.map(String.init) ?? problem.key
            let names = problem.allowed.split(separator: ",").map { String($0).trimmed }
            guard let likely = NearestName.of(name, among: names) else {
                return "remove the key \(name), or put it where it belongs"
            }
            return "write \(likely) for \(name)"
        }
        return switch problem.origin {
        case .file(let name, let line): "change line \(line) of \(name)"
        case .variable(let name): "change the variable \(name), or unset it"
        case .absent(let file):
            problem.key.isEmpty
                ? "name a file that is there: --config FILE" : "set \(problem.key)\(file.map { " in \($0)" } ?? "")"
        }
    }
}
