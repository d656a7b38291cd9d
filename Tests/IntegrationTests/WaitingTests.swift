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

        /// The words typed behind `belfry`, and the server that they wait for.
        struct Command: CustomTestStringConvertible {
            var words: [String]
            var server = "the brokers at \(nobody)"
            var testDescription: String { words.prefix(2).joined(separator: " ") }
        }

        static let commands = [
            Command(words: ["outcomes", "--brokers", nobody]),
            Command(words: ["topics", "create", "--brokers", nobody]),
            Command(words: ["offsets", "show", "--brokers", nobody]),
            Command(words: ["register", "--brokers", nobody, "--topic", news, "--token", token]),
            Command(
                words: ["publish", "--brokers", nobody, "--topic", news, "--token", token, "--payload", "{\"aps\":{}}"]
            ),
            Command(words: ["tokens", "show", "--topic", news, "--token", token], server: "Redis at \(nobody)"),
            Command(words: ["tokens", "list", "--topic", news], server: "Redis at \(nobody)"),
            Command(words: ["tokens", "export", "--topic", news], server: "Redis at \(nobody)"),
            Command(words: ["tokens", "forget", "--topic", news, "--token", token]),
        ]

        @Test("A command that waits for a server says for which", arguments: commands)
        func says(_ command: Command) throws {
            let log = NSTemporaryDirectory() + "belfry-integration-\(UUID().uuidString).log"
            defer { try? FileManager.default.removeItem(atPath: log) }
            let process = try ChildProcess(
                command.testDescription,
                executable: try belfryExecutable(),
                arguments: command.words,
                environment: [
                    "BELFRY_REDIS_URL": "redis://\(Self.nobody)", "BELFRY_KAFKA_BROKERS": Self.nobody,
                    "BELFRY_ENVIRONMENTS_SANDBOX_GATEWAYS": "127.0.0.1",
                ],
                logFile: log
            )
            defer { process.kill() }
            try process.waitForLogLine(with: "belfry: waiting for \(command.server)", within: patience)
        }

        @Test("A publish that gets its tokens through a pipe says that it waits for them")
        func pipe() throws {
            try withDirectory { directory in
                let process = try ChildProcess(
                    "publish",
                    executable: try belfryExecutable(),
                    arguments: ["publish", "--brokers", Self.nobody, "--topic", news, "--payload", #"{"aps":{}}"#],
                    logFile: directory + "/publish.log",
                    takesInput: true
                )
                defer { process.kill() }
                let notice = "belfry: waiting for tokens, one a line, from standard input"
                try process.waitForLogLine(with: notice, within: patience)
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
                        "register", "--brokers", Self.nobody, "--topic", news, "--file", directory + "/tokens.csv",
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
