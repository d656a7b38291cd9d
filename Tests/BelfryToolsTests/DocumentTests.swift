import APNsProtocol
import Foundation
import PipelineCore
import PushSchemas
import Testing

@testable import BelfrySupport

/// The documents beside the code: what they name exists, and what has to be looked up there is there.
@Suite struct DocumentTests {
    @Test("Every configuration key that a role reads stands in a table of Deploy/README.md, and no other key does")
    func configurationKeys() throws {
        let read = ConfigurationKeys.all()
        let documented = try Document(path: "Deploy/README.md").configurationKeys
        #expect(read.count > 60, "\(read.sorted())")
        #expect(documented.subtracting(read).sorted() == [], "documented, but read by nobody")
        #expect(read.subtracting(documented).sorted() == [], "read, but not documented")
    }

    @Test("Keys of every depth are found: single values, sections in sections, and names that the user chooses")
    func depths() {
        let keys = ConfigurationKeys.all()
        for key in ["outcomes", "worker.shards", "redis.tls.trust", "environments.<>.gateways", "topics.<>.spread"] {
            #expect(keys.contains(key))
        }
        for section in ["worker", "redis.tls", "environments", "topics", "topics.<>"] {
            #expect(!keys.contains(section))
        }
    }

    @Test("The properties of Kafka's client that Deploy/README.md calls refused are those that are")
    func refusedProperties() throws {
        let refused = Set(KafkaPromise.all.flatMap(\.names))
        let documented = try Document(path: "Deploy/README.md").names(inTablesOf: "property")
        #expect(refused.count > 20)
        #expect(documented.subtracting(refused).sorted() == [], "documented, but not refused")
        #expect(refused.subtracting(documented).sorted() == [], "refused, but not documented")
    }

    @Test("Every metric that the code declares stands in a table of Deploy/README.md")
    func metricsAreDocumented() throws {
        let declared = try Repository.declaredMetrics()
        let documented = try Document(path: "Deploy/README.md").firstCells.reduce(into: Set<String>()) {
            $0.formUnion(Document.metrics(in: $1))
        }
        #expect(declared.count > 60, "\(declared.sorted())")
        #expect(declared.subtracting(documented).sorted() == [], "declared, but not documented")
    }

    @Test("Every metric that a document names is declared in the code")
    func metricsExist() throws {
        let declared = try Repository.declaredMetrics()
        var named = 0
        for document in try Repository.documents() {
            let metrics = Document.metrics(in: document.text)
            #expect(metrics.subtracting(declared).sorted() == [], "\(document.path)")
            named += metrics.count
        }
        #expect(named >= declared.count)
    }

    @Test("The outcomes that Schemas/README.md explains are those that a worker gives")
    func outcomes() throws {
        let documented = try Document(path: "Schemas/README.md").names(inTablesOf: "outcome")
        #expect(documented.sorted() == OutcomeKind.allCases.map(\.name).sorted())
    }

    @Test("The reasons of dead letters that Schemas/README.md explains are those that roles give")
    func reasons() throws {
        let spelled = try Repository.sources().flatMap { source in
            source.matches(of: /\b(?:reason: |refusalReason = )"([a-z]+(?:-[a-z]+)+)"/).map { String($0.1) }
        }
        let listed = RecordFault.allCases.map(\.rawValue) + FeedbackTupleRule.Refusal.allCases.map(\.rawValue)
        let given = Set(spelled + listed)
        let documented = try Document(path: "Schemas/README.md").names(inTablesOf: "reason")
        #expect(given.count > 25, "\(given.sorted())")
        // Behind this one stands what the gateway answered.
        #expect(documented.subtracting(given).sorted() == ["gateway-status-<n>"], "documented, but given by nobody")
        #expect(given.subtracting(documented).sorted() == [], "given, but not documented")
    }

    @Test("The reasons of the provider API that Deploy/README.md explains are those of the table")
    func providerReasons() throws {
        let documented = try Document(path: "Deploy/README.md").names(inTablesOf: "service's reason")
        #expect(documented.sorted() == ProviderReason.table.map(\.reason.rawValue).sorted())
    }

    @Test("The reasons why a topic does not work stand beside the metric and the log message that tell them")
    func topicReasons() throws {
        let lines = try Repository.text(of: "Deploy/README.md").split(separator: "\n")
        let reasons = TopicHealth.Reason.allCases.map(\.rawValue)
        for place in ["| `belfry_topic_stopped` | by", "| `topic does not work; it lags and is probed` |"] {
            let row = try #require(lines.first { $0.hasPrefix(place) })
            for reason in reasons { #expect(row.contains("`\(reason)`"), "\(reason) in \(place)") }
        }
    }

    @Test("Every log message that wants somebody's attention is explained in Deploy/README.md")
    func messagesAreDocumented() throws {
        let explained = try Document(path: "Deploy/README.md").rows(ofTablesOf: "message:").flatMap(Document.pieces)
        let said = try Repository.sources().flatMap { source in
            let direct = source.matches(of: /\.(?:notice|warning|error|critical)\(\s*"([^"\\]+)"/).map(\.1)
            return direct + source.matches(of: /\blog\(\s*level: [^"\n]*,\s*"([^"\\]+)"/).map(\.1)
        }
        #expect(said.count > 60)
        for message in Set(said.map(String.init)) {
            #expect(explained.contains { Document.isMessage(message, written: $0) }, "\(message)")
        }
    }

    @Test("Every log message that Deploy/README.md explains is one of the code's")
    func messagesExist() throws {
        let sources = try Repository.sources()
        let explained = try Document(path: "Deploy/README.md").names(inTablesOf: "message:")
        #expect(explained.count > 60)
        for message in explained {
            let literal = message.hasSuffix("…") ? "\"\(message.dropLast())" : "\"\(message)\""
            #expect(sources.contains { $0.contains(literal) }, "\(message)")
        }
    }

    @Test("Every make target that a document names is one of the Makefile's")
    func makeTargets() throws {
        let targets = try Document.makeTargets(inMakefile: Repository.text(of: "Makefile"))
        #expect(targets.isSuperset(of: ["build", "test", "demo", "lint"]), "\(targets.sorted())")
        #expect(try !Document(path: "README.md").makeTargets.isEmpty)
        for document in try Repository.documents() {
            #expect(document.makeTargets.subtracting(targets).sorted() == [], "\(document.path)")
        }
    }

    @Test("Every relative link of a document leads to a file that is there, and to a heading that it has")
    func links() throws {
        var followed = 0
        for document in try Repository.documents() {
            for link in document.links {
                followed += 1
                let parts = link.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
                let path = parts[0].isEmpty ? document.path : document.resolve(parts[0])
                guard Repository.has(path) else {
                    Issue.record("\(document.path): \(link) leads nowhere")
                    continue
                }
                if parts.count == 2 {
                    #expect(try Document(path: path).anchors.contains(parts[1]), "\(document.path): \(link)")
                }
            }
        }
        #expect(followed > 20)
    }

    @Test("The front page has at most 160 lines, and links to every other document and to the toolchain")
    func frontPage() throws {
        let front = try Document(path: "README.md")
        #expect(!front.text.isEmpty)
        #expect(front.text.count { $0.isNewline } <= 160)
        let others = Set(try Repository.documents().map(\.path)).subtracting(["README.md"])
        #expect(others.count >= 6, "\(others.sorted())")
        #expect(others.subtracting(front.links.map(front.resolve)).sorted() == [])
        #expect(front.text.contains("](https://www.swift.org/install"))
    }

    @Test("What a document names is found in tables, code and links, and nowhere else")
    func reading() {
        let document = Document(
            path: "A/B.md",
            text: """
                # One, `two` & three

                | key | default |
                |---|---|
                | `a.b`, `c-d.<name>.e` | `f.g` |
                | no code | `x` |

                | other | default |
                |---|---|
                | `h.i` | |

                We make do; `make test FILTER=x` and [one](../C.md#d), not `[two](E.md)`, [far](https://example.com).

                    make demo      # make love
                    NAME=1 make lint

                ```sh
                make build
                [three](F.md)
                ```
                """
        )
        #expect(document.configurationKeys == ["a.b", "c-d.<>.e"])
        #expect(document.makeTargets == ["test", "demo", "build"])
        #expect(document.links == ["../C.md#d"])
        #expect(document.links.map(document.resolve) == ["C.md#d"])
        #expect(document.anchors == ["one-two--three"])
        #expect(Document.isMessage("up; again", written: "up; …") && !Document.isMessage("up; again", written: "up"))
        #expect(Document.metrics(in: "`belfry_a_total` and belfry_b") == ["belfry_a_total", "belfry_b"])
        #expect(Document.makeTargets(inMakefile: ".PHONY: x\nA ?= 1\na-b2: c\n\td: e\nf := g\n") == ["a-b2"])
    }
}

/// The keys that the configuration's own reading asks for, as it tells them when it meets one that it does not know.
private enum ConfigurationKeys {
    /// A key that no section has.
    private static let unknown = "no-such-key"
    /// Stands for names that the user chooses.
    private static let chosen = "chosen"

    /// With `<>` for a name that the user chooses.
    static func all() -> Set<String> { leaves(below: []) ?? [] }

    /// The single values below `path`; nil if no section is there.
    private static func leaves(below path: [String]) -> Set<String>? {
        guard let names = names(below: path) else { return nil }
        return names.reduce(into: []) { keys, name in
            let inside = path + [name]
            let found = leaves(below: inside) ?? leaves(below: inside + [chosen])
            keys.formUnion(found ?? [inside.map { $0 == chosen ? "<>" : $0 }.joined(separator: ".")])
        }
    }

    /// The keys that the section at `path` knows; nil if it is none, or takes any name.
    private static func names(below path: [String]) -> [String]? {
        let yaml = path.reversed().reduce("{\(unknown): {}}") { "{\($1): \($0)}" }
        do {
            _ = try BelfryConfiguration.load(yaml: yaml, file: "probe.yaml", directory: nil, variables: [:])
            return nil
        } catch {
            let key = (path + [unknown]).joined(separator: ".")
            return error.problems.first { $0.key == key && $0.found == "an unknown key" }?.allowed
                .split(separator: ",").map(\.trimmed)
        }
    }
}

extension Substring {
    fileprivate var trimmed: String { String(self).trimmed }
}

/// The files of the repository that this test belongs to, by path relative to its top.
private enum Repository {
    private static let top = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().standardizedFileURL

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
            for match in source.matches(of: /\.(?:counter|gauge)\(\s*"(belfry_[a-z_]+)"/) {
                names.insert(String(match.1))
            }
        }
    }
}

/// A Markdown file.
private struct Document {
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

    /// The texts between backticks.
    static func pieces(of line: Substring) -> [String] {
        line.matches(of: /`([^`]+)`/).map { String($0.1) }
    }

    /// A document may leave the end of a message out, and says so with three dots.
    static func isMessage(_ message: String, written text: String) -> Bool {
        text.hasSuffix("…") ? message.hasPrefix(text.dropLast()) : message == text
    }

    var firstCells: [String] { prose.filter { $0.hasPrefix("|") }.map(Self.firstCell) }

    private static func firstCell(of line: Substring) -> String {
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
        Set(text.matches(of: /\bbelfry_[a-z_]*[a-z]/).map { String($0.0) })
    }

    static func makeTargets(inMakefile text: String) -> Set<String> {
        Set(text.split(separator: "\n").compactMap { $0.prefixMatch(of: /([a-z0-9-]+):(?!=)/).map { String($0.1) } })
    }
}
