import Foundation
import LocalPipeline
import PushSchemas
import TestSupport
import Testing
import Workbench

extension IntegrationTests {
    struct OperationsTests {
        @Test("A worker shows what it does, and that it waits for Redis when that is away")
        func endpoint() async throws {
            try await withPipeline {
                $0.configuration = "operations: {listen: '127.0.0.1:0'}"
            } _: { pipeline, kafka in
                let worker = try pipeline.startWorker()
                let strange = [UInt8](repeating: 0x5A, count: 32)
                var records = Records(tokens: [strange] + (try pipeline.tokens(of: news, first: 0, count: 9)))
                try kafka.deliver(try records.record(to: records.tokens))

                let operations = try OperationsClient(of: worker, kafka)
                let samples = try await operations.metrics()
                #expect(samples["belfry_notifications_total"] == 10)
                #expect(samples["belfry_outcomes_total{kind=\"rejected\"}"] == 1)
                let labels = "app=\"\(news)\",environment=\"sandbox\""
                #expect(samples["belfry_error_responses_total{\(labels),status=\"8\"}"] == 1)
                #expect(samples["belfry_disconnects_total{\(labels),reason=\"error-response\"}"] == 1)
                #expect(samples["belfry_connects_total{\(labels)}"] == 2, "one more after the error response")
                #expect(samples["belfry_in_flight_notifications{\(labels)}"] == 0)
                #expect(samples["belfry_oldest_unconfirmed_age_seconds"] == 0, "all have their outcome")
                let days = try #require(samples["belfry_certificate_expiry_timestamp_seconds{\(labels)}"])
                #expect(days > Date().timeIntervalSince1970)
                #expect(try await operations.readiness() == (200, .init(ready: true, obstacles: [])))

                pipeline.stopRedis()
                try await kafka.waitUntil("readiness to go") { try await operations.readiness().status == 503 }
                let (_, away) = try await operations.readiness()
                #expect(away.obstacles.allSatisfy { $0.hasSuffix("waits for Redis") } && !away.obstacles.isEmpty)
                let ready = try await operations.metrics().filter { $0.key.hasPrefix("belfry_ready{") }
                #expect(ready["belfry_ready{dependency=\"redis\"}"] == 0 && ready.values.reduce(0, +) == 2)
                try pipeline.startRedis()
                try await kafka.waitUntil("readiness to come back") { try await operations.readiness().status == 200 }
            }
        }

        @Test("A worker delivers what a publisher put into a wrong partition, and tells whose it is")
        func wrongPartition() async throws {
            try await withPipeline {
                $0.configuration = "operations: {listen: '127.0.0.1:0'}"
            } _: { pipeline, kafka in
                let worker = try pipeline.startWorker()
                let operations = try OperationsClient(of: worker, kafka)
                var records = Records(tokens: try pipeline.tokens(of: news, first: 0, count: 4))
                try kafka.deliver(try records.record(to: Array(records.tokens[..<2])))
                let right = KafkaPartitioner.murmur2Partition(key: news, count: 2)
                #expect(kafka.places.map(\.partition) == [right])

                try kafka.publish([try records.record(to: Array(records.tokens[2...]))], to: 1 - right)
                try kafka.waitForOutcomes()
                #expect(kafka.places.last?.partition == 1 - right)
                #expect(kafka.books.claimed == 4)
                let sample = "belfry_misplaced_records_total{app=\"\(news)\",environment=\"sandbox\"}"
                try await kafka.waitUntil("the record to be counted and told") {
                    try await operations.metrics()[sample] == 1 && worker.log.contains("another partitioner?")
                }
                let lines = worker.log.split(separator: "\n").filter { $0.contains("another partitioner?") }
                #expect(lines.count == 1)
                #expect(lines.allSatisfy { $0.contains("\"partition\":\"\(1 - right)\"") && $0.contains(news) })
            }
        }

        @Test("A registrar shows what it did and what waits, and that it waits for Redis when that is away")
        func registrar() async throws {
            try await withPipeline {
                $0.configuration = "operations: {listen: '127.0.0.1:0'}"
            } _: { pipeline, kafka in
                let registrar = try pipeline.startRegistrar()
                let operations = try OperationsClient(of: registrar, kafka)
                func expect(
                    _ applied: Double,
                    tombstones: Double,
                    refused: Double? = nil,
                    lag: Double = 0
                ) async throws {
                    var expected: [String: Double] = [
                        "belfry_registrar_applied_total": applied,
                        "belfry_registrar_dead_letters_total": refused ?? 0,
                        "belfry_registrar_tombstones_published_total": tombstones,
                        "belfry_registrar_unacknowledged_tombstones": 0,
                        "belfry_registrar_assigned_partitions": 2,
                    ]
                    expected["belfry_registrar_refused_total{reason=\"value-undecodable\"}"] = refused
                    var shown: [String: Double] = [:]
                    var shownLag: Double?
                    try? await kafka.waitUntil("\(applied) applied") {
                        let samples = try await operations.metrics()
                        shown = samples.filter { expected[$0.key] != nil }
                        shownLag = lagOfBothPartitions("belfry_registrar_lag_records", samples)
                        return shown == expected && shownLag == lag
                    }
                    #expect(shown == expected)
                    #expect(shownLag == lag)
                }
                try await expect(0, tombstones: 0)

                let tokens = try pipeline.tokens(of: news, first: 0, count: 3)
                try kafka.register(tokens, bundleID: news, at: 1000)
                try await expect(3, tombstones: 0)
                let farewell = PushRegistration.with {
                    $0.kind = .unregister
                    $0.token = .with { $0.raw = Data(tokens[2]) }
                    $0.registeredAt = 2000
                }
                try kafka.publish(topic: "push.registrations", key: news, value: try farewell.serializedBytes())
                try kafka.publish(topic: "push.registrations", key: news, value: Array("nonsense".utf8))
                try await expect(4, tombstones: 1, refused: 1)
                #expect(try await operations.readiness() == (200, .init(ready: true, obstacles: [])))

                pipeline.stopRedis()
                try await kafka.waitUntil("readiness to go") { try await operations.readiness().status == 503 }
                #expect(try await operations.readiness().answer.obstacles == ["the registrar waits for Redis"])
                try kafka.register([tokens[0]], bundleID: news, at: 3000)
                try await expect(4, tombstones: 1, refused: 1, lag: 1)
                try pipeline.startRedis()
                try await kafka.waitUntil("readiness to come back") { try await operations.readiness().status == 200 }
                // All of it once more: a server that starts anew may have lost something.
                try await kafka.waitUntil("what waited") {
                    let samples = try await operations.metrics()
                    return lagOfBothPartitions("belfry_registrar_lag_records", samples) == 0
                        && samples["belfry_registrar_applied_total"] ?? 0 >= 10
                }
            }
        }

        @Test("A harvester shows what is safe and not applied, and that it waits for Redis when that is away")
        func harvester() async throws {
            try await withPipeline {
                $0.configuration = "operations: {listen: '127.0.0.1:0'}"
            } _: { pipeline, kafka in
                let operations = try OperationsClient(of: try pipeline.startHarvester(), kafka)
                func wait(forApplied applied: Double, lag: Double) async throws {
                    try await kafka.waitUntil("\(applied) tuples applied and \(lag) not") {
                        let samples = try await operations.metrics()
                        return samples["belfry_feedback_applied_total"] == applied
                            && lagOfBothPartitions("belfry_feedback_lag_records", samples) == lag
                    }
                }
                let tokens = try pipeline.tokens(of: news, first: 0, count: 3)
                let second = unixSeconds() - 600
                try await wait(forApplied: 0, lag: 0)
                for token in tokens.prefix(2) { try kafka.publishFeedback(token, bundleID: news, at: second) }
                try await wait(forApplied: 2, lag: 0)
                #expect(try await operations.readiness() == (200, .init(ready: true, obstacles: [])))

                pipeline.stopRedis()
                try await kafka.waitUntil("readiness to go") { try await operations.readiness().status == 503 }
                #expect(try await operations.readiness().answer.obstacles == ["the harvester waits for Redis"])
                try kafka.publishFeedback(tokens[2], bundleID: news, at: second)
                try await wait(forApplied: 2, lag: 1)
                try pipeline.startRedis()
                // All of it once more: a server that starts anew may have lost something.
                try await kafka.waitUntil("what waited") {
                    let samples = try await operations.metrics()
                    return lagOfBothPartitions("belfry_feedback_lag_records", samples) == 0
                        && samples["belfry_feedback_applied_total"] ?? 0 >= 5
                }
            }
        }

        @Test("Every role waits for Redis, and says so, while the server behind its address is a replica")
        func replica() async throws {
            let server = try RedisServerProcess(arguments: ["--appendonly", "yes"])
            try await withPipeline { options in
                options.redis = server.url()
                options.configuration = "operations: {listen: '127.0.0.1:0'}"
            } _: { pipeline, kafka in
                let roles = [try pipeline.startWorker(), try pipeline.startRegistrar(), try pipeline.startHarvester()]
                for role in roles {
                    let operations = try OperationsClient(of: role, kafka)
                    try await kafka.waitUntil("readiness") { try await operations.readiness().status == 200 }
                }
                // It answers questions as before, and refuses changes.
                _ = try server.command("REPLICAOF", "127.0.0.1", "\(try freePort())")
                for role in roles {
                    let operations = try OperationsClient(of: role, kafka)
                    try await kafka.waitUntil("readiness to go") { try await operations.readiness().status == 503 }
                    let obstacles = try await operations.readiness().answer.obstacles
                    #expect(obstacles.allSatisfy { $0.hasSuffix("waits for Redis") } && !obstacles.isEmpty)
                    #expect(try await operations.metrics()["belfry_ready{dependency=\"redis\"}"] == 0)
                }
                _ = try server.command("REPLICAOF", "NO", "ONE")
                for role in roles {
                    let operations = try OperationsClient(of: role, kafka)
                    try await kafka.waitUntil("readiness to return") { try await operations.readiness().status == 200 }
                }
            }
        }

        /// Nil while that of one is not known.
        private func lagOfBothPartitions(_ name: String, _ samples: [String: Double]) -> Double? {
            let lags = [0, 1].compactMap { samples["\(name){partition=\"\($0)\"}"] }
            return lags.count == 2 ? lags[0] + lags[1] : nil
        }

        @Test("An address that cannot be had ends the role with a message that names the key")
        func takenPort() async throws {
            try await withPipeline { pipeline, _ in
                let configuration = try String(contentsOfFile: pipeline.configurationFile, encoding: .utf8)
                try (configuration + "operations: {listen: '\(pipeline.gateway)'}\n")
                    .write(toFile: pipeline.configurationFile, atomically: true, encoding: .utf8)
                let worker = try pipeline.startWorker()
                #expect(worker.wait() == 1)
                let problem = "cannot listen on \(pipeline.gateway): the port is taken by another process"
                #expect(worker.log.contains("operations.listen: \(problem)\n"))
            }
        }

        @Test("A role whose metrics want a token gives them to clients that show it, and its probes to all")
        func token() async throws {
            try await withPipeline { pipeline, kafka in
                let file = pipeline.directory + "/operations-token"
                let configuration = try String(contentsOfFile: pipeline.configurationFile, encoding: .utf8)
                try (configuration + "operations: {listen: '127.0.0.1:0', bearer-token-file: operations-token}\n")
                    .write(toFile: pipeline.configurationFile, atomically: true, encoding: .utf8)
                let empty = try pipeline.startRegistrar()
                #expect(empty.wait() == 78, "without the file it does not start")
                #expect(empty.log.contains("operations.bearer-token-file: \(file): is not there"))
                try "first-token-0123456789\n".write(toFile: file, atomically: true, encoding: .utf8)
                let operations = try OperationsClient(of: try pipeline.startRegistrar(), kafka)
                for page in ["metrics", "status"] {
                    #expect(try await operations.status(of: page) == 401)
                    #expect(try await operations.status(of: page, token: "first-token-0123456789") == 200)
                }
                #expect(try await operations.status(of: "livez") == 200)
                try await kafka.waitUntil("readiness") { try await operations.readiness().status == 200 }
                try "second-token-0123456789\n".write(toFile: file, atomically: true, encoding: .utf8)
                #expect(try await operations.status(of: "metrics", token: "first-token-0123456789") == 401)
                #expect(try await operations.status(of: "metrics", token: "second-token-0123456789") == 200)
            }
        }
    }
}
