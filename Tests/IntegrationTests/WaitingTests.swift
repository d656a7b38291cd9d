import Foundation
import LocalPipeline
import Sandbox
import Testing
import Workbench

extension IntegrationTests {
    /// Commands against servers that are not there.
    struct WaitingTests {
        private static let token = String(repeating: "ab", count: 32)
        private static let nobody = "127.0.0.1:1"

        /// A command that waits.
        struct Command {
            /// The words behind `belfry`; `DIR` in them stands for a directory with `belfry.yaml` and certificates.
            var words: [String]
            /// The beginning of the line that tells of the wait.
            var notice: String

            init(
                _ line: String,
                waitsFor server: String = "the brokers at \(nobody)",
                speaker: String = "belfry: "
            ) {
                words = line.split(separator: " ").map(String.init)
                notice = "\(speaker)waiting for \(server)"
            }
        }

        private static let redis = "Redis at \(nobody)"
        private static let app = "--app \(news)"
        private static let channels = "\(app) --config DIR/belfry.yaml"
        /// A port stands behind it.
        private static let service = "the management of channels at 127.0.0.1:"

        static let commands = [
            Command("outcomes --brokers \(nobody)"),
            Command("dead-letters list --brokers \(nobody)"),
            Command("dead-letters show 0@0 --brokers \(nobody)"),
            Command("dead-letters replay --brokers \(nobody)"),
            Command("topics create --brokers \(nobody)"),
            Command("apps pause \(news)"),
            Command("apps resume \(news)"),
            Command("apps pace \(news) --rate 1"),
            Command("apps discard \(news) --before now"),
            Command("apps levers --brokers \(nobody)"),
            Command("offsets show --brokers \(nobody)"),
            Command("offsets set --partition 0 --offset end --brokers \(nobody)"),
            Command("register --brokers \(nobody) \(app) --token \(token)"),
            Command("publish --brokers \(nobody) \(app) --token \(token) --payload {\"aps\":{}}"),
            Command("tokens show \(app) --token \(token)", waitsFor: redis),
            Command("tokens list \(app)", waitsFor: redis),
            Command("tokens export \(app)", waitsFor: redis),
            Command("tokens forget \(app) --token \(token)"),
            Command("config check --connect"),
            Command("channels create \(channels)", waitsFor: service),
            Command("channels list \(channels)", waitsFor: service),
            Command("channels delete --channel dHN0LXNyY2gtY2hubA== \(channels)", waitsFor: service),
            // Its story has no speaker.
            Command("demo --kafka \(nobody)", speaker: ""),
        ]

        /// Commands that ask no server, or are one.
        private static let waitingForNothing = [
            "dead-letters explain", "certificates check", "config show", "config schema", "config keys", "plan",
            "console", "broker", "sandbox serve", "sandbox certificates", "sandbox tokens", "sandbox accepted",
            "sandbox revoke",
        ]

        /// Commands that tell their wait in another way: roles in their log, the device below.
        private static let tellingElsewhere = ["worker", "registrar", "harvester", "sandbox device"]

        @Test("A command that waits for a server says for which")
        func says() throws {
            // Takes connections and never says a word.
            let silent = try SilentListener()
            try withDirectory { directory in
                try Sandbox.writeCertificates(directory: directory, topics: [news])
                try """
                environments:
                  sandbox:
                    transport: http2
                    gateways: \(Self.nobody)
                    channels: 127.0.0.1:\(silent.port)
                    trust: \(directory)/ca.pem
                certificates:
                  directory: \(directory)
                """.write(toFile: directory + "/belfry.yaml", atomically: true, encoding: .utf8)
                // All at once: each is silent for two seconds.
                let processes = try Self.commands.enumerated().map { index, command in
                    try ChildProcess(
                        command.words.prefix(2).joined(separator: " "),
                        executable: try belfryExecutable(),
                        arguments: command.words.map { $0.replacing("DIR", with: directory) },
                        // The demo's files go with the directory, its children with their group.
                        environment: (command.words.contains("--config") ? [:] : Self.environment)
                            .merging(["TMPDIR": directory]) { $1 },
                        logFile: "\(directory)/\(index).log",
                        leadsGroup: true
                    )
                }
                defer { for process in processes { process.kill() } }
                for (process, command) in zip(processes, Self.commands) {
                    try process.waitForLogLine(with: command.notice, within: patience)
                }
            }
        }

        private static let environment = [
            "BELFRY_REDIS_URL": "redis://\(nobody)", "BELFRY_KAFKA_BROKERS": nobody,
            "BELFRY_ENVIRONMENTS_SANDBOX_GATEWAYS": "127.0.0.1",
        ]

        @Test("Every command says what it waits for, or is known to wait for nothing")
        func complete() throws {
            let others = Self.waitingForNothing + Self.tellingElsewhere
            let commands = try ProgramCommand.all()
            for command in commands {
                let waits = Self.commands.contains { $0.words.starts(with: command.words) }
                #expect(waits != others.contains(command.name), "\(command.name)")
            }
            #expect(Set(others).subtracting(commands.map(\.name)).sorted() == [])
        }

        @Test(
            "A publish that gets its tokens through a pipe says that it waits for them",
            arguments: [("lines", "tokens, one a line,"), ("packed", "packed tokens")]
        )
        func pipe(format: String, content: String) throws {
            try withDirectory { directory in
                let process = try ChildProcess(
                    "publish",
                    executable: try belfryExecutable(),
                    arguments: [
                        "publish", "--brokers", Self.nobody, "--app", news, "--payload", #"{"aps":{}}"#,
                        "--token-format", format,
                    ],
                    logFile: directory + "/publish.log",
                    takesInput: true
                )
                defer { process.kill() }
                let notice = "belfry: waiting for \(content) from standard input"
                try process.waitForLogLine(with: notice, within: patience)
            }
        }

        @Test("A publish --wait without a worker says that it waits, that none has come, and when it is broken off")
        func outcomes() throws {
            try withDirectory { directory in
                let broker = try ChildProcess(
                    "broker",
                    executable: try belfryExecutable(),
                    arguments: ["broker"],
                    logFile: directory + "/broker.log"
                )
                defer { broker.kill() }
                let line = try broker.nextLine(within: patience)
                let ready = try JSONDecoder().decode([String: String].self, from: Data(line.utf8))
                let process = try ChildProcess(
                    "publish",
                    executable: try belfryExecutable(),
                    arguments: [
                        "publish", "--brokers", try #require(ready["brokers"]), "--app", news, "--token", Self.token,
                        "--payload", #"{"aps":{}}"#, "--wait",
                    ],
                    logFile: directory + "/publish.log"
                )
                defer { process.kill() }
                try process.waitForLogLine(with: "belfry: waiting for the outcomes of 1 token", within: patience)
                let reason = "belfry: group belfry-worker has not come to the requests yet"
                try process.waitForLogLine(with: reason, within: patience)
                process.signal(SIGINT)
                #expect(try process.wait(within: patience) == 1)
                #expect(process.log.contains("interrupted: 1 token without outcome\n"), "\(process.log)")
            }
        }

        @Test("A virtual device that waits for the courier says so, and why it has no connection")
        func device() throws {
            try withDirectory { directory in
                try Sandbox.writeCertificates(directory: directory, topics: [news])
                let process = try ChildProcess(
                    "device",
                    executable: try belfryExecutable(),
                    arguments: [
                        "sandbox", "device", "--pki", directory, "--device", "0", "--topic", news, "--port", "1",
                    ],
                    logFile: directory + "/device.log"
                )
                defer { process.kill() }
                try process.waitForLogLine(with: "cannot connect: connection refused", within: patience)
                let notice = "belfry: waiting for what comes from the courier at \(Self.nobody)"
                try process.waitForLogLine(with: notice, within: patience)
            }
        }

        @Test("A register --file that is interrupted says that the same command goes on", arguments: [SIGINT, SIGTERM])
        func interrupted(signal: Int32) throws {
            try withDirectory { directory in
                try Self.token.write(toFile: directory + "/tokens.csv", atomically: true, encoding: .utf8)
                let process = try ChildProcess(
                    "register",
                    executable: try belfryExecutable(),
                    arguments: [
                        "register", "--brokers", Self.nobody, "--app", news, "--file", directory + "/tokens.csv",
                    ],
                    logFile: directory + "/register.log"
                )
                defer { process.kill() }
                try process.waitForLogLine(with: "belfry: waiting for the brokers", within: patience)
                process.signal(signal)
                #expect(try process.wait(within: patience) == 1)
                #expect(process.log.contains("interrupted: the same command goes on where this one stopped\n"))
            }
        }

        private func withDirectory(_ body: (String) throws -> Void) throws {
            let directory = NSTemporaryDirectory() + "belfry-integration-\(UUID().uuidString)"
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(atPath: directory) }
            try body(directory)
        }
    }
}
