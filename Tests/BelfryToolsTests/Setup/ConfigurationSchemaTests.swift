import Foundation
import TestSupport
import Testing
import Yams

@testable import BelfrySupport
@testable import BelfryTools

/// The schema of the configuration file, applied by a validator that is not ours: PyPI's check-jsonschema.
/// `BELFRY_TEST_PYTHON` names a Python that has it.
@Suite struct ConfigurationSchemaTests {
    private struct Report: Decodable {
        struct Refusal: Decodable {
            let filename: String
            /// For instance `$.worker.shards`, `$.worker['stop-timeout']` or `$.environments.e.gateways[0]`.
            let path: String

            /// For instance `worker.stop-timeout`; empty for the file itself.
            var place: String {
                let plain = path.replacing(/\['([^']+)'\]/) { "." + $0.1 }
                return String(plain.dropFirst(2).prefix { $0 != "[" })
            }
        }
        let errors: [Refusal]
    }

    /// The places that the schema refuses in each file.
    private func refused(_ files: [String]) throws -> [Set<String>] {
        let names = files.indices.map { "\($0).yaml" }
        let report = try validate(Dictionary(uniqueKeysWithValues: zip(names, files)), ["--schemafile", "schema.json"])
        return names.map { name in
            Set(report.errors.filter { $0.filename == name }.map(\.place))
        }
    }

    private func validate(_ files: [String: String], _ options: [String]) throws -> Report {
        let directory = FileManager.default.temporaryDirectory.appending(path: "belfry-schema-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        for (name, text) in files.merging(["schema.json": try ConfigurationSchema.text()], uniquingKeysWith: { $1 }) {
            try text.write(to: directory.appending(path: name), atomically: true, encoding: .utf8)
        }
        let python = try #require(ProcessInfo.processInfo.environment["BELFRY_TEST_PYTHON"])
        let process = try ChildProcess(
            "check-jsonschema",
            executable: "/usr/bin/env",
            arguments: ["-C", directory.path, python, "-m", "check_jsonschema", "--output-format", "json"] + options
                + files.keys.sorted(),
            environment: ["PYTHONDONTWRITEBYTECODE": "1"]
        )
        let output = process.outputToEnd()
        #expect((0...1).contains(process.wait()))
        return try JSONDecoder().decode(Report.self, from: Data(output.utf8))
    }

    private func inspect(_ yaml: String) throws -> ConfigurationInspection {
        try BelfryConfiguration.inspect(yaml: yaml, file: "belfry.yaml", directory: nil, variables: [:])
    }

    @Test("The schema itself is one of draft 2020-12")
    func metaschema() throws {
        #expect(try ConfigurationSchema.text().contains("https://json-schema.org/draft/2020-12/schema"))
        #expect(try validate([:], ["--check-metaschema", "schema.json"]).errors.isEmpty)
    }

    @Test("Every configuration in the repository is one that the schema and the roles take")
    func examples() throws {
        var examples = [try Repository.text(of: "Deploy/belfry.yaml")]
        for path in Repository.paths(endingIn: ".yaml", below: "Deploy/helm").filter({ $0.contains("/values") }) {
            let values = try Yams.load(yaml: Repository.text(of: path)) as? [String: Any]
            if let text = values?["configuration"] as? String { examples.append(text) }
        }
        for path in ["README.md", "Schemas/README.md"] {
            let text = try Repository.text(of: path)
            examples += text.matches(of: /belfry\.yaml <<'END'\n([\s\S]*?)END\n/).map { String($0.1) }
            examples += text.matches(of: /```yaml\n(environments:[\s\S]*?)```/).map { String($0.1) }
        }
        #expect(examples.count >= 5)
        for example in examples { #expect(try inspect(example).problems == [], "\(example)") }
        #expect(try refused(examples).allSatisfy(\.isEmpty))
    }

    @Test("Unknown keys, values out of range and wrong kinds of values are refused at their places")
    func faults() throws {
        let faults = [
            ("workers: {}", ""), ("worker: {shard: 2}", "worker"), ("redis: {tls: {ca: a}}", "redis.tls"),
            ("environments: {e: {gateway: a}}", "environments.e"), ("apps: {t: {spraed: 1}}", "apps.t"),
            ("environments: {Sand box: {}}", "environments"), ("apps: {a b: {}}", "apps"),
            ("worker: {shards: 0}", "worker.shards"), ("apps: {t: {spread: 65537}}", "apps.t.spread"),
            ("worker: {invalid-token-share: 1.5}", "worker.invalid-token-share"),
            ("outcomes: some", "outcomes"), ("worker: {stop-timeout: 5}", "worker.stop-timeout"),
            ("worker: {token-state: yes}", "worker.token-state"), ("operations: {listen: 9464}", "operations.listen"),
            ("worker: 3", "worker"), ("kafka: {properties: {a: [b]}}", "kafka.properties.a"),
            ("environments: {e: {gateways: [a, 'b:c']}}", "environments.e.gateways"),
        ]
        let refused = try refused(faults.map { $0.0 })
        for (fault, places) in zip(faults, refused) { #expect(places == [fault.1], "\(fault.0)") }
    }

    /// Every key with this value.
    private func file(_ value: String) -> String {
        func node(_ paths: [ArraySlice<Substring>]) -> String {
            let members = Dictionary(grouping: paths) { $0.first ?? "" }.map { name, paths in
                let inside = paths.map { $0.dropFirst() }
                let key = name.hasPrefix("<") ? "chosen" : String(name)
                return "\(key): \(inside[0].isEmpty ? value : node(inside))"
            }
            return "{\(members.joined(separator: ", "))}"
        }
        return node(ConfigurationKeys.all.map { $0.path.split(separator: ".")[...] })
    }

    @Test("For every key the schema refuses no value that the roles take, and each number and name that they refuse")
    func everyKey() throws {
        let values = [
            "0", "1", "2", "30", "300", "70000", "99999999", "99999999999999", "-1", "+5", "0.5", "1.2", "1.3", "true",
            "false", "auto", "off", "resend", "http2", "error", "0s", "2s", "100ms", "1h", "400d", "5w", "a", "'a:1'",
            "'[::1]'", "'rediss://a'", "'a,b'", "~", "''", "'2'", "'0'", "'true'", "[a]", "{a: b}",
        ]
        for (value, refused) in zip(values, try refused(values.map(file))) {
            let problems = try inspect(file(value)).problems
            #expect(refused.subtracting(problems.map(\.key)).sorted() == [], "\(value) is taken")
            for key in ConfigurationKeys.all {
                let place = key.path.replacing(/<[a-z]+>/, with: "chosen")
                switch key.form {
                case .integer, .number, .boolean, .choice: break
                default: continue
                }
                let isWrong = problems.contains { $0.key == place && $0.found == "\"\(value)\"" }
                #expect(!isWrong || refused.contains(place), "\(place): \(value)")
            }
        }
    }
}
