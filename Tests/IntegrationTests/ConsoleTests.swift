import Foundation
import FoundationNetworking
import LocalPipeline
import Synchronization
import TestSupport
import Testing
import Workbench

extension IntegrationTests {
    /// The console's page in a real browser, over a fleet of real processes.
    struct ConsoleTests {
        private static let sick = "com.example.weather"
        private static let topics = ["com.example.news", "com.example.sport"]

        private struct Ready: Decodable {
            let console: Int
        }

        /// The port of a console that looks at these processes, once it listens.
        private func startConsole(_ addresses: [String], _ more: [String] = []) throws -> (ChildProcess, port: Int) {
            let console = try ChildProcess(
                "console",
                executable: try belfryExecutable(),
                arguments: ["console", "--port", "0", "--scrape", addresses.joined(separator: ",")] + more
            )
            let line = try console.nextLine(within: patience)
            return (console, try JSONDecoder().decode(Ready.self, from: Data(line.utf8)).console)
        }

        /// Publishes small records of the topics that work, again and again, until the visitor of the page has gone.
        private func publish(_ tokens: [String: [[UInt8]]], to kafka: PipelineClient, until visitor: Gone) throws {
            var records = Records(tokens: [])
            while !visitor.value.load(ordering: .relaxed) {
                for topic in Self.topics {
                    try kafka.publish([try records.record(key: topic, to: tokens[topic] ?? [])])
                }
                kafka.pump(timeoutMilliseconds: 50)
            }
        }

        @Test("A fleet of three workers with one sick topic is seen in a real browser, and so is a worker that dies")
        func browser() async throws {
            try await withPipeline {
                $0.topics = Self.topics + [Self.sick]
                $0.partitions = 14
                $0.configuration = "operations: {listen: '127.0.0.1:0'}"
            } _: { pipeline, kafka in
                for suffix in ["pem", "p12"] {
                    try FileManager.default.removeItem(atPath: "\(pipeline.pki)/\(Self.sick).\(suffix)")
                }
                let workers = try (0..<3).map { _ in try pipeline.startWorker() }
                let roles = workers + [try pipeline.startRegistrar(), try pipeline.startHarvester()]
                let addresses = try roles.map { try OperationsClient(of: $0, kafka).address }
                let hostilePort = try freePort()
                let (console, port) = try startConsole(addresses + ["127.0.0.1:\(hostilePort)"])
                defer { console.terminate() }

                var tokens: [String: [[UInt8]]] = [:]
                for topic in pipeline.options.topics {
                    tokens[topic] = try pipeline.tokens(of: topic, first: 0, count: 20)
                }
                var records = Records(tokens: tokens[Self.sick] ?? [])
                try kafka.publish((0..<5).map { _ in try records.record(key: Self.sick, to: records.tokens) })

                let visitor = Gone()
                let visit = Task {
                    defer { visitor.value.store(true, ordering: .relaxed) }
                    let arguments = [
                        "\(port)", Self.sick, addresses[2], "\(workers[2].processIdentifier)", "\(hostilePort)",
                        ForeignScript.screenshots,
                    ]
                    return try await ForeignScript(name: "console_test.py").run(arguments) as [String: Bool]
                }
                try publish(tokens, to: kafka, until: visitor)
                let held = try await visit.value
                #expect(held.count > 40)
                #expect(held.values.allSatisfy { $0 })
                #expect(console.isRunning)
            }
        }

        /// The visitor of the page has gone.
        private final class Gone: Sendable {
            let value = Atomic(false)
        }

        @Test("A console shows its token over TLS, and is told from a stranger")
        func secured() async throws {
            try await withPipeline {
                $0.configuration =
                    "operations: {listen: '127.0.0.1:0', bearer-token-file: operations-token, certificate: pki/server.pem}"
            } _: { pipeline, kafka in
                let token = "\(pipeline.directory)/operations-token"
                try "0123456789abcdef".write(toFile: token, atomically: true, encoding: .utf8)
                let addresses = [try OperationsClient(of: try pipeline.startRegistrar(), kafka).address]
                let trust = ["--trust", "\(pipeline.pki)/ca.pem"]
                let shown = ["--bearer-token-file", token]
                func expect(_ words: String, _ arguments: [String]) async throws {
                    let (console, port) = try startConsole(addresses, arguments)
                    defer { console.terminate() }
                    let fleet = try #require(URL(string: "http://127.0.0.1:\(port)/fleet"))
                    let deadline = ContinuousClock.now + patience
                    var told = ""
                    while !told.contains(words), ContinuousClock.now < deadline {
                        kafka.pump(timeoutMilliseconds: 50)
                        told = String(decoding: try await URLSession.shared.data(from: fleet).0, as: UTF8.self)
                    }
                    #expect(told.contains(words), "\(told)")
                }
                try await expect(#""state":"answers""#, trust + shown + ["--server-name", "localhost"])
                try await expect(#""state":"answers""#, trust + shown)
                try await expect("is the token right?", trust)
                try await expect("/status is answered with HTTP 400", [])
                try await expect(#""state":"away""#, trust + shown + ["--server-name", "elsewhere"])
            }
        }

        @Test("A console that cannot start says why, and ends with the code of its kind")
        func wrong() throws {
            func end(_ arguments: String...) throws -> (status: Int32, words: String) {
                let log = NSTemporaryDirectory() + "belfry-console-\(UUID().uuidString).log"
                defer { try? FileManager.default.removeItem(atPath: log) }
                let console = try ChildProcess(
                    "console",
                    executable: try belfryExecutable(),
                    arguments: ["console"] + arguments,
                    logFile: log
                )
                return (console.wait(), console.log)
            }
            let target = try end("--scrape", "here")
            #expect(target.status == 64 && target.words.contains("\"here\" is neither host:port nor dns:name:port"))
            let token = try end("--scrape", "a:1", "--port", "0", "--bearer-token-file", "/dev/null/not")
            #expect(token.status == 78 && token.words.contains("--bearer-token-file: /dev/null/not cannot be read"))
            let trust = try end("--scrape", "a:1", "--port", "0", "--trust", "/dev/null/not")
            #expect(trust.status == 78 && trust.words.contains("--trust: "))
            let address = try end("--scrape", "a:1", "--listen", "192.0.2.1")
            #expect(address.status == 1 && address.words.contains("the address is not this machine's"))
        }
    }
}
