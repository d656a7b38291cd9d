import Foundation

/// Names with their meaning, for the help of a test program: the fields of its lines of JSON, or its scenarios.
public struct HelpTable: Sendable {
    private let title: String
    private let rows: [(names: String, meaning: String)]
    private let prefixes: [String]

    /// - Parameters:
    ///   - prefixes: beginnings of fields' names that mean the same of another process.
    ///   - rows: one a line: names that commas separate, a colon, the meaning.
    public init(_ title: String, prefixes: [String] = [], _ rows: String) {
        self.title = title
        self.prefixes = prefixes
        self.rows = rows.split(separator: "\n").map { row in
            let parts = row.split(separator: ": ", maxSplits: 1)
            return (String(parts[0]), parts.count > 1 ? String(parts[1]) : "")
        }
    }

    /// For 80 columns: each meaning below its names.
    public var text: String {
        "\(title):\n\n" + rows.map { "  \($0.names)\n\(Self.paragraph($0.meaning))" }.joined()
    }

    private static func paragraph(_ text: String) -> String {
        var lines = [""]
        for word in text.split(separator: " ") {
            if lines[lines.count - 1].count + word.count > 72 { lines.append("") }
            lines[lines.count - 1] += " \(word)"
        }
        return lines.map { "     \($0)\n" }.joined()
    }

    /// The fields without a row, in order.
    public func unexplained(_ fields: some Sequence<String>) -> [String] {
        let known = Set(rows.flatMap { $0.names.split(separator: ", ").map(String.init) })
        return fields.filter { field in
            let name = field.hasSuffix("_spread") ? String(field.dropLast("_spread".count)) : field
            let names = ([""] + prefixes).filter(name.hasPrefix).map { String(name.dropFirst($0.count)) }
            return known.isDisjoint(with: names)
        }.sorted()
    }

    /// The fields of a line of JSON without a row, in order; those of objects in a list are called `list[].field`.
    public func unexplained(inLine line: String) throws -> [String] {
        let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any] ?? [:]
        let inner = object.flatMap { name, value in
            ((value as? [[String: Any]])?.first ?? [:]).keys.map { "\(name)[].\($0)" }
        }
        return unexplained(Array(object.keys) + inner)
    }
}
