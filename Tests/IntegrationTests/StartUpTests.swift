import Foundation
import KafkaTestSupport
import LocalPipeline
import TLSTransport
import TestSupport
import Testing
import Workbench

extension IntegrationTests {
    struct StartUpTests {
        /// A configuration that is wrong, and what the message must name.
        struct Fault: CustomTestStringConvertible {
            var testDescription: String
            var command: String
            var configuration = ""
            /// File in the certificate directory, and its content; nil: there is no such directory.
            var certificate: (name: String, content: Data)?
            var named: [String]
        }

        private static let brokenKey = Data("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n".utf8)
        /// Empty, which no role takes for a container, if it cannot be made.
        private static let container = Data(
            (try? CertificateAuthority().issueClient(bundleID: news).pkcs12(passphrase: "secret")) ?? []
        )

        static let faults = [
            Fault(testDescription: "worker without certificates", command: "worker", named: ["certificates-here"]),
            Fault(
                testDescription: "harvester without certificates",
                command: "harvester",
                named: ["certificates-here"]
            ),
            Fault(
                testDescription: "broken certificate",
                command: "worker",
                certificate: ("broken.pem", brokenKey),
                named: ["certificates-here/broken.pem"]
            ),
            Fault(
                testDescription: "PKCS#12 without passphrase",
                command: "worker",
                certificate: ("locked.p12", container),
                named: ["certificates-here/locked.p12", "locked.passphrase"]
            ),
            Fault(
                testDescription: "directory without a certificate",
                command: "worker",
                certificate: ("README", Data("x".utf8)),
                named: ["certificates-here", "(sandbox)", "belfry certificates check"]
            ),
            Fault(
                testDescription: "wrong value",
                command: "registrar",
                configuration: "worker: {shards: none}",
                named: ["worker.shards", "belfry.yaml:5", "none", "1...256"]
            ),
            Fault(
                testDescription: "unknown key",
                command: "worker",
                configuration: "worker: {shard: 1}",
                named: ["worker.shard", "belfry.yaml:5"]
            ),
            Fault(
                testDescription: "unknown property of librdkafka",
                command: "registrar",
                configuration: "kafka: {properties: {no.such.property: 1}}",
                named: ["no.such.property"]
            ),
            Fault(
                testDescription: "property of librdkafka on which a promise rests",
                command: "harvester",
                configuration: "kafka: {properties: {acks: 1}}",
                named: ["kafka.properties.acks", "belfry.yaml:5", "all in-sync replicas"]
            ),
        ]

        @Test("Wrong configuration ends a role with 78 and a message that names the thing", arguments: faults)
        func wrongConfiguration(_ fault: Fault) throws {
            let directory = NSTemporaryDirectory() + "belfry-integration-\(UUID().uuidString)"
            let certificates = directory + "/certificates-here"
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(atPath: directory) }
            if let certificate = fault.certificate {
                try FileManager.default.createDirectory(atPath: certificates, withIntermediateDirectories: true)
                try certificate.content.write(to: URL(fileURLWithPath: "\(certificates)/\(certificate.name)"))
            }
            let text = """
                environments:
                  sandbox:
                    gateways: [127.0.0.1:1]
                certificates: {directory: certificates-here}
                \(fault.configuration)

                """
            try text.write(toFile: "\(directory)/belfry.yaml", atomically: true, encoding: .utf8)
            // Some faults are found by roles that need Redis first.
            let redis = try RedisServerProcess()
            let role = try ChildProcess(
                fault.command,
                executable: try belfryExecutable(),
                arguments: [fault.command, "--config", "\(directory)/belfry.yaml"],
                environment: ["BELFRY_REDIS_URL": redis.url(), "BELFRY_REDIS_DURABILITY": "warn"],
                logFile: "\(directory)/log"
            )
            defer { role.kill() }
            #expect(try role.wait(within: patience) == 78)
            for name in fault.named { #expect(role.log.contains(name), "\(role.log)") }
        }

        @Test("Roles started before Kafka name the broker, wait, and work once it is there")
        func kafkaLater() async throws {
            let broker = try ForeignBroker()
            defer { broker.remove() }
            try await withPipeline { options in
                options.kafka = broker.bootstrapServers
            } _: { pipeline, kafka in
                broker.stop()
                let roles = [
                    try pipeline.startWorker(), try pipeline.startRegistrar(), try pipeline.startHarvester(),
                ]
                for role in roles {
                    try role.waitForLogLine(with: "Kafka is not ready", broker.bootstrapServers, within: patience)
                    #expect(role.isRunning)
                }
                try broker.start()
                var records = Records(tokens: try pipeline.tokens(of: news, first: 0, count: 2))
                try kafka.deliver(try records.record(to: records.tokens))
                #expect(kafka.books.claimed == 2)
                #expect(roles.allSatisfy { $0.isRunning })
            }
        }

        @Test("A worker started before Redis names it, waits, and sends once it is there")
        func redisLater() async throws {
            try await withPipeline { pipeline, kafka in
                pipeline.stopRedis()
                let worker = try pipeline.startWorker(environment: [
                    "BELFRY_WORKER_TOMBSTONE_FILTER": "false", "BELFRY_REDIS_DURABILITY": "warn",
                ])
                let address = try #require(pipeline.redisURL.split(separator: "/").last)
                try worker.waitForLogLine(with: "\"waiting for Redis\"", String(address), within: patience)
                try worker.waitForLogLine(with: "no connection to Redis", String(address), within: patience)
                var records = Records(tokens: try pipeline.tokens(of: news, first: 0, count: 2))
                try kafka.publish([try records.record(to: records.tokens)])
                #expect(try await pipeline.sandbox.stats().accepted == 0, "it is unknown which tokens are dead")
                try pipeline.startRedis()
                try kafka.waitForOutcomes()
                #expect(kafka.books.claimed == 2)
            }
        }

        @Test("Roles that are to make sure of Redis name it and wait until it is there, and then work")
        func redisAwaited() async throws {
            try await withPipeline { pipeline, kafka in
                pipeline.stopRedis()
                let address = try #require(pipeline.redisURL.split(separator: "/").last)
                let roles = [
                    try pipeline.startWorker(), try pipeline.startRegistrar(), try pipeline.startHarvester(),
                ]
                for role in roles {
                    try role.waitForLogLine(with: "\"waiting for Redis\"", String(address), within: patience)
                    try role.waitForLogLine(with: "no connection to Redis", String(address), within: patience)
                    #expect(role.isRunning)
                }
                try pipeline.startRedis()
                var records = Records(tokens: try pipeline.tokens(of: news, first: 0, count: 2))
                try kafka.deliver(try records.record(to: records.tokens))
                #expect(kafka.books.claimed == 2)
                #expect(roles.allSatisfy { $0.isRunning })
            }
        }

        @Test("A worker started before the gateway names it, waits, and sends once it is there")
        func gatewayLater() async throws {
            try await withPipeline { pipeline, kafka in
                pipeline.stopSandbox()
                let worker = try pipeline.startWorker()
                var records = Records(tokens: try pipeline.tokens(of: news, first: 0, count: 2))
                try kafka.publish([try records.record(to: records.tokens)])
                let line = try worker.waitForLogLine(with: "connection to the gateway ended", within: patience)
                #expect(line.contains(pipeline.gateway), "\(line)")
                try pipeline.startSandbox()
                try kafka.waitForOutcomes()
                #expect(kafka.books.claimed == 2)
                #expect(try await pipeline.sandbox.stats().accepted == 2)
            }
        }
    }
}
