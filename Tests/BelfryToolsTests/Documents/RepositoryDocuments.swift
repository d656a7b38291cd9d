import Foundation
import TestSupport
import Testing

/// Files, by path relative to the top.
extension Repository {
    static func text(of path: String) throws -> String {
        try String(contentsOf: top.appending(path: path), encoding: .utf8)
    }

    static func has(_ path: String) -> Bool {
        FileManager.default.fileExists(atPath: top.appending(path: path).path)
    }

    /// All below a folder that end so, hidden ones aside; sorted by folder.
    static func paths(endingIn suffix: String, below folder: String = "") -> [String] {
        // Nil for what is no folder.
        let names = try? FileManager.default.contentsOfDirectory(atPath: top.appending(path: folder).path)
        return (names ?? []).sorted().filter { !$0.hasPrefix(".") }.flatMap { name in
            let path = folder.isEmpty ? name : "\(folder)/\(name)"
            return name.hasSuffix(suffix) ? [path] : paths(endingIn: suffix, below: path)
        }
    }

    /// The names of the folders in a folder, hidden ones aside.
    static func folders(below folder: String) -> [String] {
        let path = top.appending(path: folder).path
        let names = try? FileManager.default.contentsOfDirectory(atPath: path)
        return (names ?? []).sorted().filter { name in
            var isFolder: ObjCBool = false
            let exists = FileManager.default.fileExists(atPath: "\(path)/\(name)", isDirectory: &isFolder)
            return exists && isFolder.boolValue && !name.hasPrefix(".")
        }
    }

    static func documents() throws -> [Document] {
        let documents = try paths(endingIn: ".md").map { try Document(path: $0) }
        try #require(!documents.isEmpty)
        return documents
    }

    /// The texts of the pipeline's own files; the sandbox is explained elsewhere.
    static func sources() throws -> [String] {
        try paths(endingIn: ".swift", below: "Sources").filter { !$0.hasPrefix("Sources/Sandbox/") }.map(text)
    }

    static func declaredMetrics() throws -> Set<String> {
        try paths(endingIn: ".swift", below: "Sources").reduce(into: []) { names, path in
            let source = try text(of: path)
            guard source.contains("Metric<") else { return }
            for match in source.matches(of: /\.(?:counter|gauge|histogram)\(\s*"((?:belfry|process)_[a-z_]+)"/) {
                names.insert(String(match.1))
            }
        }
    }
}

/// A Markdown file.
struct Document {
    let path: String
    let text: String
    private let prose: [Substring]
    private let code: [Substring]

    init(path: String) throws { self.init(path: path, text: try Repository.text(of: path)) }

    init(path: String, text: String) {
        self.path = path
        self.text = text
        var isFenced = false
        var (prose, code): ([Substring], [Substring]) = ([], [])
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("```") {
                isFenced.toggle()
            } else if isFenced || line.hasPrefix("    ") {
                code.append(line)
            } else {
                prose.append(line)
            }
        }
        (self.prose, self.code) = (prose, code)
    }

    var configurationKeys: Set<String> {
        Set(names(inTablesOf: "key").map { $0.replacing(/<[a-z]+>/, with: "<>") })
    }

    /// The texts between backticks in the first cells of tables whose first column is called `column`.
    func names(inTablesOf column: String) -> Set<String> {
        Set(rows(ofTablesOf: column).flatMap { Self.pieces(of: Self.firstCell(of: $0)[...]) })
    }

    /// The rows of tables whose first column is called `column`, or begins with that if it ends with a colon.
    func rows(ofTablesOf column: String) -> [Substring] {
        let head = column.hasSuffix(":") ? "| \(column)" : "| \(column) |"
        var isInside = false
        return prose.filter { line in
            isInside = line.hasPrefix("|") && (isInside || line.hasPrefix(head))
            return isInside
        }
    }

    /// The rows of tables below a heading, up to the next one.
    func rows(under heading: String) -> [Substring] {
        var isInside = false
        return prose.filter { line in
            if line.hasPrefix("#") { isInside = line.drop { $0 == "#" }.dropFirst() == heading }
            return isInside && line.hasPrefix("|")
        }
    }

    /// The texts between backticks.
    static func pieces(of line: Substring) -> [String] {
        line.matches(of: /`([^`]+)`/).map { String($0.1) }
    }

    /// A document may leave the end of a message out, and says so with three dots.
    static func isMessage(_ message: String, written text: String) -> Bool {
        text.hasSuffix("…") ? message.hasPrefix(text.dropLast()) : message == text
    }

    var firstCells: [String] { prose.filter { $0.hasPrefix("|") }.map(Self.firstCell) }

    static func firstCell(of line: Substring) -> String {
        line.dropFirst().split(separator: "|", maxSplits: 1).first.map(String.init) ?? ""
    }

    /// The targets of `make` at the beginning of a piece of code.
    var makeTargets: Set<String> {
        let lines = code.map { $0.drop { $0 == " " } }
        let pieces = prose.flatMap { $0.matches(of: /`([^`]+)`/).map(\.1) }
        return (lines + pieces).reduce(into: []) { targets, piece in
            if let match = piece.prefixMatch(of: /make ([a-z][a-z0-9-]*)/) { targets.insert(String(match.1)) }
        }
    }

    /// The targets of links that lead to no other site.
    var links: [String] {
        prose.flatMap { line in
            line.replacing(/`[^`]*`/, with: "").matches(of: /\]\(([^)\s]+)\)/).map { String($0.1) }
        }
        .filter { !$0.hasPrefix("http://") && !$0.hasPrefix("https://") && !$0.hasPrefix("mailto:") }
    }

    /// The target of a link, from the repository's top.
    func resolve(_ link: String) -> String {
        var parts = path.split(separator: "/").dropLast().map(String.init)
        for part in link.split(separator: "/").map(String.init) where part != "." {
            if part == "..", !parts.isEmpty { parts.removeLast() } else { parts.append(part) }
        }
        return parts.joined(separator: "/")
    }

    /// The headings as links name them.
    var anchors: Set<String> {
        prose.reduce(into: []) { anchors, line in
            guard let match = line.wholeMatch(of: /#+ (.*)/) else { return }
            let kept = match.1.lowercased().filter { $0.isLetter || $0.isNumber || " -_".contains($0) }
            anchors.insert(kept.replacing(" ", with: "-"))
        }
    }

    static func metrics(in text: String) -> Set<String> {
        let named = text.matches(of: /\b(?:belfry|process)_[a-z_]*[a-z]/).map { String($0.0) }
        // A query names the series of a histogram.
        return Set(named.map { $0.replacing(/_(?:bucket|sum|count)$/, with: "") })
    }

    static func makeTargets(inMakefile text: String) -> Set<String> {
        Set(text.split(separator: "\n").compactMap { $0.prefixMatch(of: /([a-z0-9-]+):(?!=)/).map { String($0.1) } })
    }
}
