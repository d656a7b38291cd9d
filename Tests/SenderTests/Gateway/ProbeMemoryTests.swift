import Foundation
import PipelineCore
import PushSchemas
import Testing

@testable import KafkaClient
@testable import PipelineTestSupport
@testable import Sender

/// Memory of topics that do not work and keep a record to be probed with.
@Suite("The room for probes")
struct ProbeMemoryTests {
    private typealias Bench = ShardBench

    private static let tokens = [UInt8](1...200)

    /// A shard with room for three records of 200 tokens, hence for one that waits for a probe.
    private func makeBench() -> Bench {
        Bench {
            $0.worker.shardMemoryBytes = 100_000
            $0.worker.topicMemoryBytes = 100_000
        }
    }

    /// Brings a large record of each topic; the gateway refuses all of them.
    private func bringSick(_ bundles: [String], to bench: Bench) throws {
        for bundle in bundles { bench.gateway.answers[bundle] = { _ in .missingTopic } }
        bench.assign(0)
        for bundle in bundles { try bench.bring((bundle, Self.tokens)) }
    }

    @Test("However many topics are probed with large records, they leave room for one that works; each recovers")
    func manySick() throws {
        let bench = makeBench()
        defer { bench.shard.leave() }
        let sick = (0..<10).map { "com.example.sick\($0)" }
        try bringSick(sick, to: bench)
        bench.wait(milliseconds: 10_000)
        #expect(bench.shard.report().topics.count { $0.reason == "topic-refused" } == sick.count)
        #expect(bench.shard.stages.group.memory.budget.usedBytes < 100_000)
        try bench.bring((Bench.news, [1]))
        bench.wait(milliseconds: 1000)
        #expect(bench.gateway.accepted(of: Bench.news) == [1])

        bench.gateway.answers = [:]
        bench.wait(milliseconds: 60_000)
        for bundle in sick { #expect(bench.gateway.accepted(of: bundle) == Self.tokens) }
        #expect(bench.committed()?.metadata == "3;" && bench.shard.stages.group.memory.budget.usedBytes == 0)
    }

    @Test("A topic whose record waits while another shard probes it gives way to one that waits for room")
    func givesWay() throws {
        let bench = makeBench()
        defer { bench.shard.leave() }
        try bringSick([Bench.news, Bench.sport], to: bench)
        bench.wait(milliseconds: 3000)
        let health = try bench.shard.addTopic(Bench.news).health
        while case .probing = health.state { bench.wait(milliseconds: 20) }
        let later = bench.shard.now + .seconds(10)
        let isLeased = health.change { $0.beginProbe(shard: 1, now: later, random: 0) }
        #expect(isLeased)
        func holds(_ bundle: String) -> Bool {
            bench.shard.stages.group.directory.accounts.contains { $0.topic?.bundleID == bundle && $0.bytes > 0 }
        }
        while !holds(Bench.news), bench.shard.now < later { bench.wait(milliseconds: 20) }
        #expect(holds(Bench.news) && !holds(Bench.sport))

        bench.gateway.answers = [:]
        bench.wait(milliseconds: 3 * 10_000 + 5000)
        #expect(bench.gateway.accepted(of: Bench.sport) == Self.tokens)
        #expect(bench.gateway.accepted(of: Bench.news).isEmpty, "another shard's probe is not over")
    }
}
