import BelfrySupport
import Foundation
import LocalPipeline
import PushSchemas
import TLSTransport
import TestSupport
import Testing

@testable import TokenState

extension IntegrationTests {
    /// All roles with a real cluster of three masters and three replicas, one of whose masters dies in mid-run.
    struct ClusterRolesTests {
        /// Redis is asked for every token.
        private static let asksAlways = ["BELFRY_WORKER_TOMBSTONE_FILTER": "false"]
        private static let durable = ["--appendonly", "yes", "--maxmemory-policy", "noeviction"]
        private static let registeredAt = unixSeconds() - 3600

        /// Tokens that no sandbox has minted.
        private static func strange(_ count: UInt8) -> [[UInt8]] {
            (0..<count).map { number in (0..<32).map { $0 &* 7 &+ number &* 31 } }
        }

        /// Waits until the token state has that; while a master is gone no server can tell.
        private func wait(
            for expected: TokenInspector.Counts,
            _ inspector: TokenInspector,
            _ kafka: PipelineClient
        ) throws {
            var seen: TokenInspector.Counts?
            do {
                try kafka.wait(for: "the token state", within: patienceSeconds) {
                    seen = (try? inspector.count()) ?? seen
                    return seen == expected
                }
            } catch {
                let last = seen.map { "\($0)" } ?? "nothing"
                throw ChildProcess.Failure(description: "\(error); wanted \(expected), seen \(last)")
            }
        }

        /// The reason that tokens are dead; `none` for those that are not.
        private func reasons(_ tokens: some Sequence<[UInt8]>, _ inspector: TokenInspector) throws -> Set<String> {
            Set(
                try tokens.map { token in
                    let digits = token.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
                    return try inspector.report(environment: "sandbox", bundleID: news, hexToken: digits).reason
                }
            )
        }

        @Test("A master killed in mid-run whose replica has missed all: nothing is lost, the dead stay silent, and why")
        func lostWrites() async throws {
            let cluster = try RedisClusterProcess(arguments: Self.durable)
            // The new master is set up worse than the old one.
            for replica in cluster.servers.suffix(3) {
                _ = try replica.command("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
            }
            try await withPipeline { options in
                options.redis = cluster.urls()
            } _: { pipeline, kafka in
                let inspector = try TokenInspector(redisURL: pipeline.redisURL)
                defer { inspector.close() }
                let tokens = try pipeline.tokens(of: news, first: 0, count: 600)
                let strange = Self.strange(12)
                var records = Records(tokens: tokens)
                let worker = try pipeline.startWorker(environment: Self.asksAlways)
                let roles = [worker, try pipeline.startRegistrar(), try pipeline.startHarvester()]
                try cluster.cutReplicas()

                try kafka.register(Array(tokens[..<400]), bundleID: news, at: Self.registeredAt)
                try wait(for: .init(registered: 400, tombstoned: 0), inspector, kafka)
                try await pipeline.sandbox.setDevices(topic: news, first: 0, count: 40, state: "uninstalled")
                try kafka.deliver(try records.record(to: records.spread(strange, among: tokens[..<200])))
                #expect(kafka.books.count(.rejected) == strange.count)
                // The gateway is believed once it accepts something over a newer connection, of whichever lane, and the
                // last refusal may be the last of all answers.
                try kafka.deliver(try records.record(to: Array(tokens[100..<200])))
                try wait(for: .init(registered: 400, tombstoned: 40 + strange.count), inspector, kafka)
                #expect(!roles.contains { $0.log.contains("Redis may lose what it has acknowledged") })

                // Registrations, feedback and requests are on their way when it happens.
                try await pipeline.sandbox.setDevices(topic: news, first: 40, count: 20, state: "uninstalled")
                try kafka.register(Array(tokens[400...]), bundleID: news, at: Self.registeredAt)
                try kafka.publish(try (40..<100).map { try records.record(to: [tokens[$0]]) })
                cluster.failOver()
                try wait(for: .init(registered: 600, tombstoned: 60 + strange.count), inspector, kafka)
                try kafka.waitForOutcomes()
                #expect(try reasons(tokens[..<60], inspector) == ["feedback"])
                #expect(try reasons(strange, inspector) == ["invalid-token"])
                #expect(try reasons(tokens[60...], inspector) == ["none"])

                let before = kafka.books
                try kafka.deliver(try records.record(to: tokens + strange))
                #expect(kafka.books.count(.tombstoned) - before.count(.tombstoned) == 60 + strange.count)
                #expect(kafka.books.claimed - before.claimed == 540)
                let stats = try await pipeline.sandbox.stats()
                #expect(stats.distinct == kafka.books.claimed && kafka.books.missing == 0)
                #expect(stats.rejected == ["8": strange.count], "each was sent once")
                for role in roles {
                    try role.waitForLogLine(
                        with: "Redis may lose what it has acknowledged",
                        "allkeys-lru",
                        within: patience
                    )
                }
                #expect(pipeline.stopWorkers() == [0])
            }
        }

        @Test("The same over TLS with clients' certificates, as a user who may not read the servers' settings")
        func encrypted() async throws {
            let directory = FileManager.default.temporaryDirectory.appending(path: "belfry-\(UUID().uuidString)")
            defer { try? FileManager.default.removeItem(at: directory) }
            let pki = try writeDevelopmentPKI(directory: directory.path, topics: [news])
            let user = ["--user", "ann", "on", ">secret", "~*", "+@read", "+@write", "+@scripting", "+@connection"]
            let cluster = try RedisClusterProcess(
                arguments: Self.durable + user + ["+info", "+cluster|slots", "+script|load"],
                tls: RedisTLSFiles(
                    authority: pki.authorityFile,
                    server: pki.serverFile,
                    client: pki.pemFile(bundleID: news)
                )
            )
            try await withPipeline { options in
                options.redis = cluster.urls(credentials: "ann:secret")
                options.redisSettings =
                    ", durability: refuse"
                    + ", tls: {trust: \"\(pki.authorityFile)\", certificate: \"\(pki.pemFile(bundleID: news))\"}"
            } _: { pipeline, kafka in
                let inspector = try TokenInspector(BelfryConfiguration.load(path: pipeline.configurationFile).redis)
                defer { inspector.close() }
                let tokens = try pipeline.tokens(of: news, first: 0, count: 200)
                let strange = Self.strange(6)
                var records = Records(tokens: tokens)
                let worker = try pipeline.startWorker(environment: Self.asksAlways)
                try pipeline.startRegistrar()
                try cluster.cutReplicas()
                try kafka.register(Array(tokens[..<100]), bundleID: news, at: Self.registeredAt)
                try kafka.deliver(try records.record(to: records.spread(strange, among: tokens)))
                // Acceptances that prove the refusals, as above.
                try kafka.deliver(try records.record(to: Array(tokens[..<100])))
                try wait(for: .init(registered: 100, tombstoned: strange.count), inspector, kafka)

                try kafka.register(Array(tokens[100...]), bundleID: news, at: Self.registeredAt)
                try kafka.publish(try tokens[..<50].map { try records.record(to: [$0]) })
                cluster.failOver()
                try wait(for: .init(registered: 200, tombstoned: strange.count), inspector, kafka)
                try kafka.deliver(try records.record(to: tokens + strange))
                #expect(kafka.books.claimed == 550 && kafka.books.missing == 0)
                #expect(kafka.books.count(.tombstoned) == strange.count)
                #expect(try await pipeline.sandbox.stats().rejected == ["8": strange.count])
                #expect(!worker.log.contains("NOPERM"))
            }
        }
    }
}
