import Foundation
import LocalPipeline
import TestSupport
import Testing
import TokenState
import Workbench

@testable import BelfryTools

extension IntegrationTests {
    struct TokenCommandTests {
        private static func token(_ random: inout SeededGenerator) -> String {
            random.bytes(32).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        }

        private func start(_ name: String, _ pipeline: LocalPipeline, _ arguments: [String]) throws -> ChildProcess {
            try ChildProcess(
                name,
                executable: try belfryExecutable(),
                arguments: arguments,
                logFile: "\(pipeline.directory)/\(name)-\(UUID().uuidString).log",
                leadsGroup: true
            )
        }

        /// Exit code and lines of a command.
        private func run(
            _ pipeline: LocalPipeline,
            _ arguments: String...
        ) throws -> (code: Int32, lines: [String], log: String) {
            let child = try start("command", pipeline, arguments)
            defer { child.kill() }
            var lines: [String] = []
            while let line = try? child.nextLine(within: patience) { lines.append(line) }
            return (try child.wait(within: patience), lines, child.log)
        }

        @Test("A file killed in the middle goes on where it was; list and export show its tokens, forget removes one")
        func backFill() async throws {
            // The embedded broker keeps little of a partition.
            try await withPipeline {
                $0.partitions = 8
            } _: { pipeline, kafka in
                try pipeline.startRegistrar()
                let config = ["--config", pipeline.configurationFile]
                var random = SeededGenerator(seed: 1)
                let tokens = (0..<30_000).map { _ in Self.token(&random) }
                let file = "\(pipeline.directory)/tokens.csv"
                try (tokens.map { "\($0),1700000000,de" }.joined(separator: "\n") + "\nnonsense\n")
                    .write(toFile: file, atomically: true, encoding: .utf8)
                let register = [
                    "register", "--brokers", pipeline.brokers, "--app", news, "--file", file, "--spread", "16",
                ]
                let first = try start("register", pipeline, register)
                // Killed as soon as it says that it has come somewhere, wherever it is by then; or it was quicker.
                let progress = RegistrationCheckpoint.path(of: file)
                try kafka.wait(for: "a checkpoint or the end") {
                    FileManager.default.fileExists(atPath: progress) || first.log.contains("nonsense")
                        || first.log.contains(":30001:")
                }
                first.kill()
                let second = try run(
                    pipeline,
                    "register",
                    "--brokers",
                    pipeline.brokers,
                    "--app",
                    news,
                    "--file",
                    file,
                    "--spread",
                    "16",
                    "--json"
                )
                #expect(second.code == 1, "a line could not be used")
                #expect(second.log.contains("\(file):30001: the token"))
                #expect(second.lines.last?.contains(#""tokens":30000,"bad_lines":1"#) == true)
                #expect(!FileManager.default.fileExists(atPath: progress))

                let inspector = try TokenInspector(redisURL: pipeline.redisURL)
                defer { inspector.close() }
                try kafka.wait(for: "registrations") { try inspector.count().registered == 30_000 }
                let list = try start("list", pipeline, ["tokens", "list", "--app", news] + config)
                defer { list.kill() }
                var listed: [String] = []
                while let line = try? list.nextLine(within: patience) { listed.append(line) }
                #expect(try list.wait(within: patience) == 0)
                #expect(listed.count == 30_000)
                #expect(Set(listed) == Set(tokens))

                let token = tokens[7]
                let forget = ["tokens", "forget", "--app", news, "--token", token, "--json"] + config
                for known in [1, 0] {
                    let child = try start("forget", pipeline, forget)
                    defer { child.kill() }
                    #expect(try child.nextLine(within: patience).contains(#""tokens":1,"known":\#(known)"#))
                    #expect(try child.wait(within: patience) == 0)
                }
                let show = try run(pipeline, "tokens", "show", "--app", news, "--token", token, config[0], config[1])
                #expect(show.code == 1)
                let few = try run(
                    pipeline,
                    "tokens",
                    "list",
                    "--app",
                    news,
                    "--limit",
                    "3",
                    "--state",
                    "alive",
                    "--json",
                    config[0],
                    config[1]
                )
                #expect(few.code == 0 && few.lines.count == 3)
                let registered = #""state":"alive","registered_at":"2023-11-14T22:13:20.000Z""#
                #expect(few.lines.allSatisfy { $0.contains(registered) })
                #expect(
                    try run(pipeline, "tokens", "list", "--app", news, "--state", "dead", config[0], config[1]).lines
                        .isEmpty
                )
                let export = try run(pipeline, "tokens", "export", "--app", news, config[0], config[1])
                #expect(export.code == 0 && export.lines.count == 29_999)
                #expect(export.lines.allSatisfy { $0.contains(#""locale":"de""#) })
                #expect(!export.lines.contains { $0.contains(token) })
            }
        }

        @Test("A token that takes another's place silences it; a description changes its language alone")
        func replacement() async throws {
            try await withPipeline { pipeline, kafka in
                try pipeline.startRegistrar()
                var random = SeededGenerator(seed: 2)
                let (old, new) = (Self.token(&random), Self.token(&random))
                let common = ["--brokers", pipeline.brokers, "--app", news]
                func register(_ arguments: String...) throws {
                    let child = try start("register", pipeline, ["register"] + common + arguments)
                    defer { child.kill() }
                    #expect(try child.wait(within: patience) == 0, "\(child.log)")
                }
                try register("--token", old, "--registered-at", "100")
                try register("--token", new, "--replaces", old, "--registered-at", "200", "--locale", "de")
                try register("--token", new, "--describe", "--registered-at", "300", "--locale", "pt-BR")
                let inspector = try TokenInspector(redisURL: pipeline.redisURL)
                defer { inspector.close() }
                func report(_ token: String) -> TokenReport? {
                    try? inspector.report(environment: "sandbox", bundleID: news, hexToken: token)
                }
                try kafka.wait(for: "the description") {
                    report(new)?.describedAt == 300 && report(old)?.isDead == true
                }
                let (first, second) = (report(old), report(new))
                #expect(first?.reason == "unregistered" && first?.tombstonedAt == 200)
                #expect(second?.isDead == false && second?.registeredAt == 200 && second?.locale == "pt-BR")
            }
        }
    }
}
