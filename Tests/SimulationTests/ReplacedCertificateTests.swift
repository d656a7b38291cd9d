import Testing

@testable import belfry_simulate

/// Certificates that are replaced while workers run.
@Suite struct ReplacedCertificateTests {
    /// A world in which nothing else happens, as long as two faults and the spread of connections take.
    private func plan(_ seed: UInt64, _ faults: [Fault], isOverStreams: Bool) -> WorldPlan {
        var plan = WorldPlan(seed: seed, features: [], isOverStreams: isOverStreams)
        plan.faults = faults
        plan.options.connectionMaxAge = 0
        plan.options.invalidTokens = 0
        plan.options.connectionsPerMinute = 600
        for index in plan.records.indices { plan.records[index].time *= 4 }
        return plan
    }

    private func connects(_ plan: WorldPlan) -> Int {
        let report = World(plan, tells: true).run()
        #expect(report.violation == nil, "seed \(plan.seed)")
        return report.story.count { $0.contains(" connects to ") }
    }

    @Test("Connections move on to a new certificate, and stay with the former one while the new one is refused")
    func replaced() {
        for isOverStreams in [false, true] {
            var (without, with) = (0, 0)
            for seed in 1...6 as ClosedRange<UInt64> {
                without += connects(plan(seed, [], isOverStreams: isOverStreams))
                let faults = (0..<WorldPlan.plainTopics).flatMap { topic in
                    [
                        Fault(.certificateReplaced, at: .seconds(2), topic: topic),
                        Fault(.certificateReplaced, at: .seconds(12), lasting: .seconds(20), topic: topic),
                    ]
                }
                with += connects(plan(seed, faults, isOverStreams: isOverStreams))
            }
            #expect(with > without)
        }
    }
}
