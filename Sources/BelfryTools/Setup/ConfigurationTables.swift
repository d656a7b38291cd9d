import BelfrySupport

/// The tables of all keys in Deploy/CONFIGURATION.md. Pure.
public enum ConfigurationTables {
    /// Every key: allowed values, default, meaning.
    public static var keys: String {
        table(
            ["key", "allowed", "default", "meaning"],
            ConfigurationKeys.all.map { ["`\($0.path)`", $0.form.summary, $0.standard, $0.meaning] }
        )
    }

    /// The keys whose values a running role applies.
    public static var running: String {
        table(
            ["setting", "applied by", "counts"],
            ConfigurationKeys.all.compactMap { key in
                key.counts.map { ["`\(key.path)`", key.roles.joined(separator: ", "), $0] }
            }
        )
    }

    /// A document with the tables between its marks, which are lines of their own.
    ///
    /// - Throws: `ToolError.invalidInput` if a mark is missing.
    public static func written(into document: String) throws(ToolError) -> String {
        var text = document
        for (name, table) in [("keys", keys), ("settings", running)] {
            let (begin, end) = ("<!-- begin: \(name) -->\n", "<!-- end: \(name) -->\n")
            guard let head = text.firstRange(of: begin), let foot = text[head.upperBound...].firstRange(of: end) else {
                throw .invalidInput(["the document has no lines \"\(begin.dropLast())\" and \"\(end.dropLast())\""])
            }
            text.replaceSubrange(head.upperBound..<foot.lowerBound, with: table)
        }
        return text
    }

    private static func table(_ head: [String], _ rows: [[String]]) -> String {
        func line(_ cells: [String]) -> String { "|" + cells.map { $0.isEmpty ? " |" : " \($0) |" }.joined() + "\n" }
        return "\(line(head))|\(String(repeating: "---|", count: head.count))\n\(rows.map(line).joined())"
    }
}
