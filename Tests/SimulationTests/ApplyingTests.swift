import Testing

@testable import belfry_simulate

/// Appliers in simulated worlds: rebalances, kills, stops, standstills, and Redis, broker or records away.
@Suite struct ApplyingTests {
    @Test(
        "Every record is applied or a dead letter before it is committed past, and soon after the last fault",
        arguments: 0..<10 as Range<UInt64>
    )
    func worlds(group: UInt64) {
        for seed in group * 40..<(group + 1) * 40 {
            let report = ApplyingWorld(seed: seed).run()
            #expect(report.violation == nil, "seed \(seed)")
            #expect(report.events > 20, "seed \(seed)")
        }
    }

    @Test("The same seed does the same, event by event", arguments: [1, 2, 3, 40] as [UInt64])
    func determinism(seed: UInt64) {
        let report = ApplyingWorld(seed: seed).run()
        #expect(ApplyingWorld(seed: seed).run() == report)
        #expect(ApplyingWorld(seed: seed + 1).run().hash != report.hash)
    }
}
