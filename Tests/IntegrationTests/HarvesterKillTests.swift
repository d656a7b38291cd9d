import Foundation
import LocalPipeline
import PipelineCore
import Testing
import TokenState

extension IntegrationTests {
    /// A harvester that is killed, whose broker or Redis stands still, whose service breaks off.
    struct HarvesterKillTests {
        /// One step of a harvester's run, each with a topic, and so a lease, of its own.
        private enum Moment: String, CaseIterable {
            case checking
            case leasing
            case connecting
            case firstBatch
            case middle
            case lastBatch
            case releasing

            var topic: String { "com.example.\(rawValue.lowercased())" }
            /// Tuples in the list: three reads, or less than one.
            var tuples: Int { self == .lastBatch || self == .releasing ? 1000 : self == .middle ? 20_000 : 6000 }
            /// Nothing was connected to: the list is whole.
            var isBeforeReading: Bool { self == .checking || self == .leasing || self == .connecting }
        }

        @Test(
            "Kill -9 at every step: what is acknowledged stays and is applied, and no more is lost than the read-ahead"
        )
        func everyStep() async throws {
            try await withPipeline { options in
                options.topics = Moment.allCases.map(\.topic)
                options.devices = 20_000
                options.partitions = 4
                options.configuration = "operations: {listen: '127.0.0.1:0'}"
            } _: { pipeline, kafka in
                defer { for server in LocalPipeline.Server.allCases { pipeline.signal(server, SIGCONT) } }
                let ledger = try FeedbackLedger(brokers: pipeline.brokers)
                defer { ledger.close() }
                for moment in Moment.allCases { try await kill(at: moment, pipeline, kafka, ledger) }
                let survivor = try HarvesterWatch(pipeline, kafka)
                for moment in Moment.allCases where moment.isBeforeReading {
                    try await survivor.wait(for: "the list of \(moment.topic)") {
                        try ledger.count(moment.topic) == moment.tuples
                    }
                }
                let inspector = try TokenInspector(redisURL: pipeline.redisURL)
                defer { inspector.close() }
                try ledger.poll()
                let published = ledger.tokens.values.reduce(0) { $0 + $1.count }
                try kafka.wait(for: "tombstones of all that was acknowledged") {
                    try inspector.count().tombstoned == published
                }
            }
        }

        private func kill(
            at moment: Moment,
            _ pipeline: LocalPipeline,
            _ kafka: PipelineClient,
            _ ledger: FeedbackLedger
        ) async throws {
            let topic = moment.topic
            let harvester = try HarvesterWatch(pipeline, kafka)
            try await harvester.wait(for: "readiness") { try await harvester.isReady() }
            // Apps that earlier rounds did not list.
            for earlier in Moment.allCases.prefix(while: { $0 != moment }) where earlier.isBeforeReading {
                try await harvester.wait(for: "the list of \(earlier.topic)") {
                    try ledger.count(earlier.topic) == earlier.tuples
                }
            }
            func list() async throws {
                try await pipeline.sandbox.listFeedback(
                    topic: topic,
                    first: 0,
                    count: moment.tuples,
                    timestamp: unixSeconds()
                )
            }
            /// Lists while nothing is connected to; the broker stands still.
            func listUnread() async throws {
                pipeline.signal(.broker, SIGSTOP)
                try await harvester.wait(for: .checking, of: topic)
                try await list()
            }
            /// Reads, while the broker acknowledges nothing.
            func listUnacknowledged() async throws {
                try await listUnread()
                pipeline.signal(.sandbox, SIGSTOP)
                pipeline.signal(.broker, SIGCONT)
                try await harvester.wait(for: .connecting, of: topic)
                pipeline.signal(.broker, SIGSTOP)
                pipeline.signal(.sandbox, SIGCONT)
                try await harvester.wait(for: .publishing, of: topic)
            }
            switch moment {
            case .checking:
                try await listUnread()
            case .leasing:
                pipeline.signal(.redis, SIGSTOP)
                try await harvester.wait(for: .leasing, of: topic)
                try await list()
            case .connecting:
                pipeline.signal(.sandbox, SIGSTOP)
                try await harvester.wait(for: .connecting, of: topic)
            case .firstBatch, .lastBatch:
                try await listUnacknowledged()
            case .middle:
                try await list()
                try await harvester.wait(for: "a batch") {
                    try await harvester.sample("belfry_feedback_acknowledged_total", topic) > 0
                }
            case .releasing:
                try await listUnacknowledged()
                pipeline.signal(.redis, SIGSTOP)
                pipeline.signal(.broker, SIGCONT)
                try await harvester.wait(for: .releasing, of: topic)
            }
            let acknowledged = try await harvester.sample("belfry_feedback_acknowledged_total", topic)
            harvester.process.kill()
            for server in LocalPipeline.Server.allCases { pipeline.signal(server, SIGCONT) }
            if moment == .connecting { try await list() }

            var stats = try await pipeline.sandbox.stats()
            while stats.connections.open > 0 { stats = try await pipeline.sandbox.stats() }
            let told = try #require(stats.topics[topic]?.feedbackList)
            if moment.isBeforeReading {
                #expect(told.waiting == moment.tuples && told.arrived == 0, "\(moment): the list is whole")
                return
            }
            #expect(told.taken == moment.tuples)
            let bound = HarvestLimits.readAheadBytes / 38
            try kafka.wait(for: "what was not lost at \(moment)") {
                try ledger.count(topic) >= max(acknowledged, told.arrived - bound)
            }
            let lost = told.arrived - (try ledger.count(topic))
            if moment == .releasing { #expect(lost == 0) }
            print("\(moment): \(told.arrived) of \(moment.tuples) arrived, \(lost) lost, at most \(bound) may be")
        }

        @Test("A stream cut inside a tuple is reported with the bytes it lost, and the list is read again soon")
        func cut() async throws {
            try await withPipeline {
                $0.configuration = "operations: {listen: '127.0.0.1:0'}"
            } _: { pipeline, kafka in
                try await pipeline.sandbox.setFault(#"{"name":"feedback-cut","bytes":100,"times":1}"#)
                try await pipeline.sandbox.listFeedback(topic: news, first: 0, count: 10, timestamp: unixSeconds())
                let harvester = try HarvesterWatch(pipeline, kafka)
                try await harvester.wait(for: "the cut") {
                    try await harvester.sample("belfry_feedback_cut_bytes_total", news) == 100 - 2 * 38
                }
                #expect(
                    try await harvester.sample("belfry_feedback_reading_failures_total", news, ",reason=\"cut\"") == 1
                )
                try await pipeline.sandbox.listFeedback(topic: news, first: 0, count: 10, timestamp: unixSeconds())
                try await harvester.wait(for: "the whole list") {
                    try await harvester.sample("belfry_feedback_acknowledged_total", news) == 12
                }
                #expect(try await harvester.sample("belfry_feedback_cut_bytes_total", news) == 24)
            }
        }
    }
}
