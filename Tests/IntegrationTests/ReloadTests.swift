import Foundation
import LocalPipeline
import Testing
import Workbench

extension IntegrationTests {
    /// SIGHUP to roles that run as processes.
    struct ReloadTests {
        private static let settled = "\"message\":\"configuration read again\""
        private static let refused = "\"message\":\"configuration refused, nothing changes\""
        private static let pending = "\"message\":\"setting needs a restart, nothing changes before\""
        private static let restartNeeded = "belfry_configuration_restart_needed"

        private func count(_ text: String, in role: ChildProcess) -> Int {
            role.log.split(separator: "\n").count { $0.contains(text) }
        }

        /// Lets a role read its configuration again, and waits until it has told the end of that.
        private func reload(_ role: ChildProcess, _ kafka: PipelineClient, until text: String = settled) throws {
            let before = count(text, in: role)
            role.signal(SIGHUP)
            try kafka.wait(for: "the configuration to be read") { count(text, in: role) > before }
        }

        private func replace(_ old: String, by new: String, in pipeline: LocalPipeline) throws {
            let text = try String(contentsOfFile: pipeline.configurationFile, encoding: .utf8)
            try #require(text.contains(old))
            let changed = text.replacing(old, with: new)
            try changed.write(toFile: pipeline.configurationFile, atomically: true, encoding: .utf8)
        }

        @Test("A worker takes what may change without a new connection, warns of the rest, and refuses what is wrong")
        func worker() async throws {
            try await withPipeline {
                $0.configuration = "operations: {listen: '127.0.0.1:0'}"
            } _: { pipeline, kafka in
                let worker = try pipeline.startWorker()
                let operations = try OperationsClient(of: worker, kafka)
                var records = Records(tokens: try pipeline.tokens(of: news, first: 0, count: 3))
                try kafka.deliver(try records.record(to: [records.tokens[0]]))
                #expect(try await operations.metrics()[Self.restartNeeded] == 0)

                try replace("outcomes: all", by: "outcomes: failures", in: pipeline)
                try replace("shards: 1,", by: "shards: 2, retry-for: 5s,", in: pipeline)
                try reload(worker, kafka)
                let log = worker.log
                #expect(log.contains("\"key\":\"outcomes\",\"new\":\"failures\",\"old\":\"all\""))
                #expect(log.contains("\"key\":\"worker.retry-for\",\"new\":\"5s\",\"old\":\"1m\""))
                #expect(log.contains("\"key\":\"worker.shards\",\"new\":\"2\",\"old\":\"1\""))
                #expect(count(Self.pending, in: worker) == 1)
                #expect(try await operations.metrics()[Self.restartNeeded] == 1)
                let status = try await operations.roleStatus().configuration
                #expect(status?.restartNeeded.map(\.key) == ["worker.shards"])

                // The follower counts the published ones alone.
                let published = kafka.books.count(.presumed)
                try kafka.publish([try records.record(to: [records.tokens[1]])])
                try await kafka.wait(for: "the gateway", at: pipeline.sandbox) { $0.accepted == 2 }
                let labels = "app=\"\(news)\",environment=\"sandbox\""
                let presumed = "belfry_outcomes_total{kind=\"presumed\"}"
                try await kafka.waitUntil("both outcomes") { try await operations.metrics()[presumed] == 2 }
                #expect(try await operations.metrics()["belfry_connects_total{\(labels)}"] == 1)
                #expect(kafka.books.count(.presumed) == published)

                try replace("outcomes: failures", by: "outcomes: some", in: pipeline)
                try reload(worker, kafka, until: Self.refused)
                #expect(worker.log.contains("\"key\":\"outcomes\",\"place\":\"\(pipeline.configurationFile):"))
                let results = "belfry_configuration_reloads_total{result="
                let samples = try await operations.metrics()
                #expect(samples[results + "\"accepted\"}"] == 1 && samples[results + "\"refused\"}"] == 1)
                #expect(samples[Self.restartNeeded] == 1, "as before")

                try replace("outcomes: some", by: "outcomes: all\nlog: {level: debug}", in: pipeline)
                try replace("shards: 2,", by: "shards: 1,", in: pipeline)
                try reload(worker, kafka)
                #expect(try await operations.metrics()[Self.restartNeeded] == 0)
                try kafka.publish([try records.record(to: [records.tokens[2]])])
                try kafka.wait(for: "a published outcome") { kafka.books.count(.presumed) == published + 1 }
                #expect(worker.terminate() == 0)
            }
        }

        @Test("A harvester that is told a shorter interval reads its lists at that, and not when it was to before")
        func harvester() async throws {
            try await withPipeline {
                $0.configuration = "operations: {listen: '127.0.0.1:0'}"
            } _: { pipeline, kafka in
                try replace("harvester: {interval: 1s,", by: "harvester: {interval: 1h,", in: pipeline)
                let harvester = try pipeline.startHarvester()
                let operations = try OperationsClient(of: harvester, kafka)
                let readings = "belfry_feedback_readings_total{app=\"\(news)\",environment=\"sandbox\"}"
                try await kafka.waitUntil("the first reading") { try await operations.metrics()[readings] == 1 }
                try replace("harvester: {interval: 1h,", by: "harvester: {interval: 1s,", in: pipeline)
                try reload(harvester, kafka)
                try await kafka.waitUntil("two more") { try await operations.metrics()[readings] ?? 0 >= 3 }
                #expect(harvester.terminate() == 0)
            }
        }

        @Test("SIGHUP during the start is obeyed after it, and during the end harmless", arguments: [false, true])
        func startAndEnd(isHarvester: Bool) async throws {
            try await withPipeline {
                $0.configuration = "operations: {listen: '127.0.0.1:0'}\nlog: {level: info}"
            } _: { pipeline, kafka in
                pipeline.stopRedis()
                let role = try isHarvester ? pipeline.startHarvester() : pipeline.startRegistrar()
                try kafka.wait(for: "the role to wait for Redis") { role.log.contains("waiting for Redis") }
                try replace("log: {level: info}", by: "log: {level: notice}", in: pipeline)
                for _ in 0..<5 { role.signal(SIGHUP) }
                try pipeline.startRedis()
                try kafka.wait(for: "the configuration to be read") { count(Self.settled, in: role) > 0 }
                #expect(role.log.contains("\"key\":\"log.level\",\"new\":\"notice\",\"old\":\"info\""))
                role.signal(SIGTERM)
                for _ in 0..<5 { role.signal(SIGHUP) }
                #expect(role.wait() == 0)
            }
        }
    }
}
