import Foundation
import LocalPipeline
import TestSupport
import Testing
import Workbench

extension IntegrationTests {
    /// `belfry config` against servers that are there, and that are not.
    struct ConfigCommandTests {
        @Test("A check tries Kafka, Redis and the gateway, tells each result, and ends with 1 once one is away")
        func connect() async throws {
            for transport in PipelineTransport.allCases {
                try await withPipeline {
                    $0.transport = transport
                } _: { pipeline, _ in
                    let words = ["config", "check", "--connect", "--json", "--config", pipeline.configurationFile]
                    let (code, lines) = try run(words, in: pipeline.directory)
                    #expect(code == 0, "\(lines)")
                    for key in ["redis.url", "redis.durability", "kafka.brokers", "environments.sandbox.gateways"] {
                        #expect(lines.contains { $0["key"] == key && $0["verdict"] == "good" }, "\(key): \(lines)")
                    }
                    pipeline.stopSandbox()
                    pipeline.stopRedis()
                    let (failed, faults) = try run(words, in: pipeline.directory)
                    #expect(failed == 1)
                    for key in ["redis.url", "environments.sandbox.gateways"] {
                        let fault = faults.first { $0["key"] == key && $0["verdict"] == "fault" }
                        #expect(fault?["cure"] != nil && fault?["found"]?.contains("refused") == true, "\(faults)")
                    }
                    #expect(faults.contains { $0["key"] == "kafka.brokers" && $0["verdict"] == "good" })
                }
            }
        }

        @Test("A check goes through the proxy; one that refuses the login is a fault of its key, without the password")
        func proxy() async throws {
            try await withPipeline { pipeline, _ in
                let proxy = try TinyProxyProcess(login: ("me", "sesame"))
                let words = ["config", "check", "--connect", "--json", "--config", pipeline.configurationFile]
                func check(_ login: String) throws -> (code: Int32, lines: [[String: String]]) {
                    let url = "http://\(login)@127.0.0.1:\(proxy.port)"
                    return try run(words, ["BELFRY_ENVIRONMENTS_SANDBOX_PROXY": url], in: pipeline.directory)
                }
                let (code, lines) = try check("me:sesame")
                #expect(code == 0, "\(lines)")
                try proxy.waitForLine(with: "CONNECT \(pipeline.gateway) ")
                let (failed, faults) = try check("me:hush-hush")
                let fault = faults.first { $0["verdict"] == "fault" }
                #expect(failed == 1 && fault?["key"] == "environments.sandbox.proxy", "\(faults)")
                #expect(fault?["found"]?.contains("refuses the configured user and password") == true)
                #expect(!faults.contains { $0.values.contains { $0.contains("hush-hush") } })
                pipeline.stopSandbox()
                let (_, away) = try check("me:sesame")
                let gateway = away.first { $0["key"] == "environments.sandbox.gateways" }
                #expect(gateway?["found"]?.contains("status 500") == true, "\(away)")
            }
        }

        @Test("A shown configuration has every value with its origin, and no secret")
        func show() throws {
            let directory = NSTemporaryDirectory() + "belfry-integration-\(UUID().uuidString)"
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(atPath: directory) }
            let file = directory + "/belfry.yaml"
            try "worker:\n  shards: 3\n".write(toFile: file, atomically: true, encoding: .utf8)
            let environment = [
                "BELFRY_REDIS_URL": "redis://:sesame@cache", "BELFRY_KAFKA_PROPERTIES_SASL_PASSWORD": "sesame",
            ]
            let (code, lines) = try run(["config", "show", "--json", "--config", file], environment, in: directory)
            #expect(code == 0 && lines.count > 60)
            let shards = lines.first { $0["key"] == "worker.shards" }
            #expect(shards?["value"] == "3" && shards?["source"] == "file" && shards?["line"] == "2")
            let url = lines.first { $0["key"] == "redis.url" }
            #expect(url?["value"] == "redis://:***@cache:6379/0" && url?["variable"] == "BELFRY_REDIS_URL")
            #expect(!lines.contains { $0.values.contains { $0.contains("sesame") } })
            let (wrong, _) = try run(["config", "show"], ["BELFRY_WORKER_SHARDS": "0"], in: directory)
            #expect(wrong == 78)
        }

        /// The exit code, and the JSON objects on standard output, their values as texts.
        private func run(
            _ words: [String],
            _ environment: [String: String] = [:],
            in directory: String
        ) throws -> (code: Int32, lines: [[String: String]]) {
            let process = try ChildProcess(
                "config",
                executable: try belfryExecutable(),
                arguments: words,
                environment: environment,
                logFile: "\(directory)/config.log"
            )
            defer { process.kill() }
            let text = process.outputToEnd()
            let code = process.wait()
            let lines = try text.split(separator: "\n").map { line in
                let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
                return try #require(object, "\(line)").mapValues { "\($0)" }
            }
            return (code, lines)
        }
    }
}
