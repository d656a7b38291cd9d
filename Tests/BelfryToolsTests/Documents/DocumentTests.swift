import APNsProtocol
import Foundation
import PipelineCore
import PushSchemas
import PushTopics
import TestSupport
import Testing

@testable import BelfrySupport
@testable import BelfryTools

/// The documents beside the code: what they name exists, and what has to be looked up there is there.
@Suite struct DocumentTests {
    @Test("Every configuration key that a role reads stands in a table of CONFIGURATION.md, and no other key does")
    func configurationKeys() throws {
        let read = RequestedKeys.all()
        let documented = try Document(path: "Deploy/CONFIGURATION.md").configurationKeys
        #expect(read.count > 60, "\(read.sorted())")
        #expect(documented.subtracting(read).sorted() == [], "documented, but no code reads it")
        #expect(read.subtracting(documented).sorted() == [], "read, but not documented")
    }

    @Test("Keys of every depth are found: single values, sections in sections, and names that the user chooses")
    func depths() {
        let keys = RequestedKeys.all()
        for key in ["outcomes", "worker.shards", "redis.tls.trust", "environments.<>.gateways", "apps.<>.spread"] {
            #expect(keys.contains(key))
        }
        for section in ["worker", "redis.tls", "environments", "apps", "apps.<>"] {
            #expect(!keys.contains(section))
        }
    }

    @Test("The properties of Kafka's client that Deploy/CONFIGURATION.md calls refused are those that are")
    func refusedProperties() throws {
        let refused = Set(KafkaPromise.all.flatMap(\.names))
        let documented = try Document(path: "Deploy/CONFIGURATION.md").names(inTablesOf: "property")
        #expect(refused.count > 20)
        #expect(documented.subtracting(refused).sorted() == [], "documented, but not refused")
        #expect(refused.subtracting(documented).sorted() == [], "refused, but not documented")
    }

    @Test("The tables of keys and of settings in Deploy/CONFIGURATION.md are those that the code makes")
    func generatedTables() throws {
        let document = try Document(path: "Deploy/CONFIGURATION.md")
        let isCurrent = try ConfigurationTables.written(into: document.text) == document.text
        #expect(isCurrent, "belfry config keys --into Deploy/CONFIGURATION.md writes them")
        #expect(document.names(inTablesOf: "setting").count > 20)
        #expect(throws: ToolError.self) { try ConfigurationTables.written(into: "# No marks\n") }
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
        #expect(documented.subtracting(given).sorted() == ["gateway-status-<n>"], "documented, but no code gives it")
        #expect(given.subtracting(documented).sorted() == [], "given, but not documented")
        // The command explains the same.
        #expect(given.subtracting(DeadLetterReasons.all).sorted() == [], "given, but not explained")
        #expect(Set(DeadLetterReasons.all).subtracting(given).sorted() == [], "explained, but no code gives it")
    }

    @Test("The reasons of the provider API that Deploy/RUNBOOK.md explains are those of the table")
    func providerReasons() throws {
        let documented = try Document(path: "Deploy/RUNBOOK.md").names(inTablesOf: "service's reason")
        #expect(documented.sorted() == ProviderReason.table.map(\.reason.rawValue).sorted())
    }

    @Test("The tests that Tests/README.md and Tests/CONFORMANCE.md name are there")
    func namedTests() throws {
        let files = Repository.paths(endingIn: "Tests.swift", below: "Tests")
        let document = try ["Tests/README.md", "Tests/CONFORMANCE.md"].map(Repository.text).joined()
        let named = document.matches(of: /`([A-Z][A-Za-z0-9]*Tests)\.([a-z][A-Za-z0-9]*)`/)
        #expect(named.count > 20)
        for name in named {
            let file = try #require(files.first { $0.hasSuffix("/\(name.1).swift") }, "\(name.1)")
            #expect(try Repository.text(of: file).contains("func \(name.2)("), "\(name.0)")
        }
    }

    @Test("The reasons why a topic does not work stand beside the metric and the log message that tell them")
    func topicReasons() throws {
        let lines = try ["Deploy/MONITORING.md", "Deploy/RUNBOOK.md"].flatMap {
            try Repository.text(of: $0).split(separator: "\n")
        }
        let reasons = AppHealth.Reason.allCases.map(\.rawValue)
        for place in ["| `belfry_topic_stopped` | by", "| `topic does not work; it lags and is probed` |"] {
            let row = try #require(lines.first { $0.hasPrefix(place) })
            for reason in reasons { #expect(row.contains("`\(reason)`"), "\(reason) in \(place)") }
        }
    }

    @Test("Every log message that wants an operator's attention is explained in Deploy/RUNBOOK.md")
    func messagesAreDocumented() throws {
        let explained = try Document(path: "Deploy/RUNBOOK.md").rows(ofTablesOf: "message:").flatMap(Document.pieces)
        let said = try Repository.sources().flatMap { source in
            let direct = source.matches(of: /\.(?:notice|warning|error|critical)\(\s*"([^"\\]+)"/).map(\.1)
            return direct + source.matches(of: /\blog\(\s*level: [^"\n]*,\s*"([^"\\]+)"/).map(\.1)
        }
        #expect(said.count > 60)
        for message in Set(said.map(String.init)) {
            #expect(explained.contains { Document.isMessage(message, written: $0) }, "\(message)")
        }
    }

    @Test("Every log message that Deploy/RUNBOOK.md explains is one of the code's")
    func messagesExist() throws {
        let quoted = Set(try Repository.sources().flatMap { $0.split(separator: "\"") })
        let explained = try Document(path: "Deploy/RUNBOOK.md").names(inTablesOf: "message:")
        #expect(explained.count > 60)
        for message in explained {
            let isSaid =
                message.hasSuffix("…")
                ? quoted.contains { $0.hasPrefix(message.dropLast()) } : quoted.contains(message[...])
            #expect(isSaid, "\(message)")
        }
    }

    @Test("The table of Kafka's rights names every topic of the contract, no other one, and each look at dead letters")
    func rights() throws {
        let rows = try Document(path: "Deploy/OPERATE.md").rows(ofTablesOf: "principal")
        let named = Set(rows.flatMap(Document.pieces))
        let names = Set(TopicLayout(partitions: 1).topics.map(\.name))
        #expect(names.count >= 9 && names.contains(TopicNames().deadLetters))
        #expect(names.subtracting(named).sorted() == [], "of the contract, but without a right")
        #expect(named.filter { $0.hasPrefix("push.") }.subtracting(names).sorted() == [], "no topic of the contract")
        for group in GroupNames(BelfryConfiguration()).all { #expect(named.contains(group), "\(group)") }
        for command in ["list", "show", "explain", "replay"] {
            #expect(named.contains("belfry dead-letters \(command)"))
        }
        let replay = try #require(rows.first { $0.contains("`belfry dead-letters replay`") })
        for source in [TopicNames().requests, TopicNames().registrations, TopicNames().feedback] {
            #expect(replay.contains("`\(source)`"))
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
        let documents = try Repository.documents()
        let anchors = Dictionary(uniqueKeysWithValues: documents.map { ($0.path, $0.anchors) })
        for document in documents {
            for link in document.links {
                followed += 1
                let parts = link.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
                let path = parts[0].isEmpty ? document.path : document.resolve(parts[0])
                guard Repository.has(path) else {
                    Issue.record("\(document.path): \(link) leads nowhere")
                    continue
                }
                if parts.count == 2 {
                    #expect(anchors[path]?.contains(parts[1]) == true, "\(document.path): \(link)")
                }
            }
        }
        #expect(followed > 20)
    }

    @Test("The folders of Tests are those that Tests/README.md tells of")
    func folders() throws {
        let told = try Document(path: "Tests/README.md").names(inTablesOf: "folder")
        let expected = Repository.folders(below: "Tests") + ["run.sh"]
        #expect(told.sorted() == expected.sorted())
    }

    @Test("The front page has at most 160 lines, and leads to every other document and to the toolchain")
    func frontPage() throws {
        let front = try Document(path: "README.md")
        #expect(!front.text.isEmpty)
        #expect(front.text.count { $0.isNewline } <= 160)
        let others = Set(try Repository.documents().map(\.path)).subtracting(["README.md"])
        #expect(others.count >= 6, "\(others.sorted())")
        var met: Set<String> = []
        var next = [front]
        while let page = next.popLast() {
            let found = Set(page.links.map(page.resolve)).intersection(others).subtracting(met)
            met.formUnion(found)
            next += try found.map { try Document(path: $0) }
        }
        #expect(others.subtracting(met).sorted() == [])
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
        #expect(Document.metrics(in: "`rate(belfry_c_seconds_bucket[5m])`") == ["belfry_c_seconds"])
        #expect(document.rows(under: "One, `two` & three").count == 7)
        #expect(Document.makeTargets(inMakefile: ".PHONY: x\nA ?= 1\na-b2: c\n\td: e\nf := g\n") == ["a-b2"])
    }
}

/// The keys that the configuration's own reading asks for, as it tells them when it meets one that it does not know.
private enum RequestedKeys {
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
