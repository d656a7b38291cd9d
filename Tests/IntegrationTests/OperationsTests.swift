import Foundation
import FoundationNetworking
import PushSchemas
import Testing

@testable import BelfryRuntime
@testable import Demo

extension IntegrationTests {
    struct OperationsTests {
        private struct Ready: Decodable, Equatable {
            var ready: Bool
            var obstacles: [String]
        }

        @Test("a worker shows what it does, and that it waits for Redis when that is away")
        func endpoint() async throws {
            try await withPipeline {
                $0.configuration = "operations: {listen: '127.0.0.1:0'}"
            } _: { pipeline, kafka in
                let worker = try pipeline.startWorker()
                let strange = [UInt8](repeating: 0x5A, count: 32)
                var records = Records(tokens: [strange] + (try pipeline.tokens(of: news, first: 0, count: 9)))
                try kafka.deliver(try records.record(to: records.tokens))

                let address = try #require(WorkerLog.operationsAddress(of: worker))
                let samples = try await metrics(address)
                #expect(samples["belfry_notifications_total"] == 10)
                #expect(samples["belfry_outcomes_total{kind=\"rejected\"}"] == 1)
                let topic = "topic=\"\(news)\",environment=\"sandbox\""
                #expect(samples["belfry_error_responses_total{\(topic),status=\"8\"}"] == 1)
                #expect(samples["belfry_disconnects_total{\(topic),reason=\"error-response\"}"] == 1)
                #expect(samples["belfry_connects_total{\(topic)}"] == 2, "one more after the error response")
                #expect(samples["belfry_in_flight_notifications{\(topic)}"] == 0)
                #expect(samples["belfry_oldest_unconfirmed_age_seconds"] == 0, "all have their outcome")
                let days = try #require(samples["belfry_certificate_expiry_timestamp_seconds{\(topic)}"])
                #expect(days > Date().timeIntervalSince1970)
                #expect(try await get("readyz", address) == (200, Ready(ready: true, obstacles: [])))

                pipeline.stopRedis()
                try await wait(for: "readiness to go", kafka) { try await get("readyz", address).status == 503 }
                let (_, away) = try await get("readyz", address)
                #expect(away.obstacles.allSatisfy { $0.hasSuffix("waits for Redis") } && !away.obstacles.isEmpty)
                try pipeline.startRedis()
                try await wait(for: "readiness to come back", kafka) { try await get("readyz", address).status == 200 }
            }
        }

        @Test("a registrar shows what it did and what waits, and that it waits for Redis when that is away")
        func registrar() async throws {
            try await withPipeline {
                $0.configuration = "operations: {listen: '127.0.0.1:0'}"
            } _: { pipeline, kafka in
                let registrar = try pipeline.startRegistrar()
                try kafka.wait(for: "the endpoint") { WorkerLog.operationsAddress(of: registrar) != nil }
                let address = try #require(WorkerLog.operationsAddress(of: registrar))
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
                    try? await wait(for: "\(applied) applied", kafka) {
                        let samples = try await metrics(address)
                        shown = samples.filter { expected[$0.key] != nil }
                        shownLag = registrarLag(samples)
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
                #expect(try await get("readyz", address) == (200, Ready(ready: true, obstacles: [])))

                pipeline.stopRedis()
                try await wait(for: "readiness to go", kafka) { try await get("readyz", address).status == 503 }
                #expect(try await get("readyz", address).answer.obstacles == ["the registrar waits for Redis"])
                try kafka.register([tokens[0]], bundleID: news, at: 3000)
                try await expect(4, tombstones: 1, refused: 1, lag: 1)
                try pipeline.startRedis()
                try await wait(for: "readiness to come back", kafka) { try await get("readyz", address).status == 200 }
                // All of it once more: a server that starts anew may have lost something.
                try await wait(for: "what waited", kafka) {
                    let samples = try await metrics(address)
                    return registrarLag(samples) == 0 && samples["belfry_registrar_applied_total"] ?? 0 >= 10
                }
            }
        }

        /// Of both partitions; nil while one is not known.
        private func registrarLag(_ samples: [String: Double]) -> Double? {
            let lags = [0, 1].compactMap { samples["belfry_registrar_lag_records{partition=\"\($0)\"}"] }
            return lags.count == 2 ? lags[0] + lags[1] : nil
        }

        @Test("an address that cannot be had ends the role with a message that names the key")
        func takenPort() async throws {
            try await withPipeline { pipeline, _ in
                let configuration = try String(contentsOfFile: pipeline.configurationFile, encoding: .utf8)
                try (configuration + "operations: {listen: '\(pipeline.gateway)'}\n")
                    .write(toFile: pipeline.configurationFile, atomically: true, encoding: .utf8)
                let worker = try pipeline.startWorker()
                #expect(worker.wait() == 1)
                #expect(worker.log.contains("operations.listen: cannot listen on \(pipeline.gateway)"))
            }
        }

        private func wait(for what: String, _ kafka: DemoKafka, until condition: () async throws -> Bool) async throws {
            let deadline = ContinuousClock.now + patience
            while !(try await condition()) {
                guard ContinuousClock.now < deadline else {
                    throw ChildProcess.Failure(description: "waited \(patience) for \(what)")
                }
                kafka.pump()
            }
        }

        private func fetch(_ path: String, _ address: String) async throws -> (status: Int, body: Data) {
            let url = try #require(URL(string: "http://\(address)/\(path)"))
            let (data, response) = try await URLSession.shared.data(from: url)
            return ((response as? HTTPURLResponse)?.statusCode ?? 0, data)
        }

        private func get(_ path: String, _ address: String) async throws -> (status: Int, answer: Ready) {
            let (status, body) = try await fetch(path, address)
            return (status, try JSONDecoder().decode(Ready.self, from: body))
        }

        /// The samples by name and labels.
        private func metrics(_ address: String) async throws -> [String: Double] {
            let (status, body) = try await fetch("metrics", address)
            #expect(status == 200)
            var samples: [String: Double] = [:]
            for line in String(decoding: body, as: UTF8.self).split(separator: "\n") where !line.hasPrefix("#") {
                let space = try #require(line.lastIndex(of: " "))
                samples[String(line[..<space])] = Double(line[line.index(after: space)...])
            }
            return samples
        }
    }
}
