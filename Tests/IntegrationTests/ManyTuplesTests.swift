import Foundation
import KafkaTestSupport
import LocalPipeline
import PipelineCore
import Testing
import TokenState

extension IntegrationTests {
    struct ManyTuplesTests {
        private static let topics = (0..<10).map { "com.example.app\($0)" }
        private static let devices = 20_000

        @Test("200,000 tuples harvested with kills end in exactly the tombstones of all that was acknowledged")
        func harvested() async throws {
            let broker = try ForeignBroker()
            defer { broker.remove() }
            try await withPipeline { options in
                options.kafka = broker.bootstrapServers
                options.topics = Self.topics
                options.devices = Self.devices
                options.partitions = 4
                // This broker ends no session of a member that is silent: the next member takes the place of the killed
                // one.
                options.kafkaProperties = ", group.instance.id: one, receive.message.max.bytes: \"1000000000\""
                // It hands a consumer all there is at once, and answers no other client for seconds. A member that
                // gives itself up meanwhile is fenced when it comes back.
                options.sessionMilliseconds = 60_000
                options.configuration = "operations: {listen: '127.0.0.1:0'}"
            } _: { pipeline, kafka in
                let missingSince = unixSeconds() - 600
                // Tokens that registered before, in the same second, and after.
                let registered = try pipeline.tokens(of: Self.topics[0], first: 0, count: 3000)
                try pipeline.startRegistrar()
                var registrations: [[UInt8]: UInt32] = [:]
                for (number, time) in [missingSince - 1, missingSince, missingSince + 1].enumerated() {
                    let tokens = Array(registered[number * 1000..<(number + 1) * 1000])
                    try kafka.register(tokens, bundleID: Self.topics[0], at: time)
                    for token in tokens { registrations[token] = UInt32(time) }
                }
                let inspector = try TokenInspector(redisURL: pipeline.redisURL)
                defer { inspector.close() }
                try kafka.wait(for: "registrations") { try inspector.count().registered == registered.count }

                let ledger = try FeedbackLedger(brokers: pipeline.brokers)
                defer { ledger.close() }
                var lost = 0
                var harvester = try HarvesterWatch(pipeline, kafka)
                func list(_ topics: some Sequence<String>) async throws {
                    for topic in topics {
                        try await pipeline.sandbox.listFeedback(
                            topic: topic,
                            first: 0,
                            count: Self.devices,
                            timestamp: missingSince
                        )
                    }
                }
                func wait(for topics: some Sequence<String>) async throws {
                    for topic in topics {
                        try await harvester.wait(for: "the list of \(topic)") {
                            try ledger.count(topic) == Self.devices
                        }
                    }
                }
                for (victim, others) in [(0, 1...2), (3, 4...6), (7, 8...9)] {
                    let victim = Self.topics[victim]
                    try await list([victim])
                    try await harvester.wait(for: "the middle of the list") {
                        try ledger.count(victim) > Self.devices / 4
                    }
                    harvester.process.kill()
                    let told = try await arrived(victim, pipeline)
                    let bound = HarvestLimits.readAheadBytes / 38
                    try kafka.wait(for: "what was not lost") { try ledger.count(victim) >= told - bound }
                    lost += told - (try ledger.count(victim))
                    harvester = try HarvesterWatch(pipeline, kafka)
                    // The rest of the list went with the connection; the apps are still missing.
                    try await list([victim] + Self.topics[others])
                    try await wait(for: [victim] + Self.topics[others])
                }
                print("\(ledger.records) tuples published, \(lost) lost in three kills")
                try await check(ledger, registrations, inspector, harvester)
            }
        }

        private func arrived(_ topic: String, _ pipeline: LocalPipeline) async throws -> Int {
            var stats = try await pipeline.sandbox.stats()
            while stats.connections.open > 0 { stats = try await pipeline.sandbox.stats() }
            return stats.topics[topic]?.feedbackList.arrived ?? 0
        }

        /// Returns when so many tokens are dead. To count them all is work for Redis, which has enough to do: it is
        /// done when as many as are missing have been applied.
        private func wait(forDead dead: Int, _ inspector: TokenInspector, _ harvester: HarvesterWatch) async throws {
            while true {
                let applied = try await harvester.applied()
                let missing = dead - (try inspector.count().tombstoned)
                guard missing > 0 else { return }
                try await harvester.wait(for: "tombstones, of which \(missing) are missing") {
                    try await harvester.applied() >= applied + min(missing, Self.devices)
                }
            }
        }

        /// The token state is what push.feedback and the registrations ask for: token by token, and no other.
        private func check(
            _ ledger: FeedbackLedger,
            _ registrations: [[UInt8]: UInt32],
            _ inspector: TokenInspector,
            _ harvester: HarvesterWatch
        ) async throws {
            let distinct = ledger.tokens.values.reduce(0) { $0 + $1.count }
            #expect(distinct == Self.topics.count * Self.devices)
            // Two thirds of the registered ones live: in the same second, or later.
            let dead = distinct - registrations.count / 3 * 2
            try await wait(forDead: dead, inspector, harvester)
            var found = 0
            var wrong: [TokenReport] = []
            for topic in Self.topics {
                let listed = ledger.tokens[topic] ?? [:]
                let unreadable = try inspector.walk(environment: "sandbox", bundleID: topic) { page, _ in
                    found += page.count
                    wrong += page.filter { report in
                        let registeredAt = topic == Self.topics[0] ? registrations[report.token] ?? 0 : 0
                        guard let missingSince = listed[.init(Data(report.token))] else { return true }
                        let isDead = registeredAt < missingSince
                        return report.registeredAt != registeredAt || report.isDead != isDead
                            || report.tombstonedAt != (isDead ? missingSince : 0)
                            || report.reason != (isDead ? "feedback" : "none")
                    }
                    return true
                }
                #expect(unreadable == 0)
            }
            #expect(wrong.isEmpty, "\(wrong.count), the first: \(wrong.first?.json ?? "")")
            #expect(found == distinct, "each token is met once")
        }
    }
}
