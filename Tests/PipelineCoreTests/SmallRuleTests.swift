import APNsProtocol
import TestSupport
import Testing

@testable import PipelineCore

@Suite struct SmallRuleTests {
    @Test(
        "Every status has its rule",
        arguments: [
            (0, StatusRule.unattributable), (1, .retry), (2, .deadLetter), (3, .stopTopic), (4, .deadLetter),
            (5, .rejectToken),
            (6, .stopTopic), (7, .deadLetter), (8, .rejectToken), (10, .acceptedLast), (128, .isolate), (255, .isolate),
            (9, .isolate), (77, .isolate),
        ] as [(UInt8, StatusRule)]
    )
    func statuses(status: UInt8, rule: StatusRule) {
        #expect(StatusRule(APNsStatus(rawValue: status)) == rule)
    }

    @Test("A token is dead only if its last registration is older than the report; in the same second it lives")
    func tombstones() {
        #expect(TombstoneRule.isDead(registeredAt: 99, missingAt: 100))
        #expect(!TombstoneRule.isDead(registeredAt: 100, missingAt: 100))
        #expect(!TombstoneRule.isDead(registeredAt: 101, missingAt: 100))
        #expect(TombstoneRule.isDead(registeredAt: nil, missingAt: 100))
    }

    @Test("A tombstone is dated by the earliest of the clocks, each less the refusal's age")
    func tombstoneDates() {
        func date(_ refusedAt: UInt32, age: Duration = .zero, own: Int64 = .max, witness: Int64) -> UInt32 {
            TombstoneRule.date(refusedAt: refusedAt, age: age, clocks: [own, witness])
        }
        #expect(date(1000, witness: 1_000_999) == 1000)
        #expect(date(1000, age: .seconds(500), own: 1_500_000, witness: 1_500_000) == 1000, "both clocks are right")
        #expect(date(1000, age: .seconds(500), own: 1_500_000, witness: 9_000_000) == 1000, "the witness is ahead")
        #expect(date(9000, age: .seconds(500), own: 9_500_000, witness: 1_500_000) == 1000, "this one is ahead")
        #expect(date(9000, age: .seconds(500), own: 1_500_000, witness: 8_500_000) == 1000, "this one was ahead")
        #expect(date(9000, age: .milliseconds(1), witness: 1_000_000) == 999)
        #expect(date(.max, witness: 1_000_000) == 1000)
        #expect(date(1000, age: .seconds(2), witness: 1000) == 0)
        #expect(date(.max, witness: .max) == .max)
        #expect(TombstoneRule.date(refusedAt: 1000, age: .seconds(2), clocks: []) == 1000)
    }

    @Test("Back-off doubles up to its cap and never falls below its floor")
    func backoff() {
        let backoff = Backoff(base: .seconds(1), cap: .seconds(60), floor: .milliseconds(100))
        for failures in [1, 2, 3, 7, 8, 1000] {
            let ceiling = Duration.seconds(min(60, 1 << min(failures - 1, 10)))
            #expect(backoff.delay(failures: failures, random: 0) == .milliseconds(100))
            let longest = backoff.delay(failures: failures, random: .max)
            #expect(longest <= ceiling && longest > ceiling - .milliseconds(1))
        }
    }

    @Test("Back-off is spread: different random bits, different waits")
    func jitter() {
        let backoff = Backoff(base: .seconds(1), cap: .seconds(60), floor: .zero)
        var random = SeededGenerator(seed: 1)
        let waits = (0..<1000).map { _ in backoff.delay(failures: 3, random: random.next()) }
        #expect(Set(waits).count > 990)
        #expect(waits.count { $0 < .seconds(2) } > 400 && waits.count { $0 > .seconds(2) } > 400)
    }

    @Test("A token keeps its lane, and tokens of one key spread evenly over the lanes", arguments: [1, 2, 3, 7, 16])
    func affinity(lanes: Int) {
        let affinity = TokenAffinity(lanes: lanes)
        for spread in [1, 2, 3, 8, 64] as [UInt32] {
            var counts = Array(repeating: 0, count: lanes)
            var random = SeededGenerator(seed: UInt64(spread))
            for _ in 0..<8000 {
                let checksum = UInt32.random(in: 0...(.max / spread - 1), using: &random) * spread
                let lane = affinity.lane(checksum: checksum)
                #expect(lane == affinity.lane(checksum: checksum))
                counts[lane] += 1
            }
            let even = 8000 / lanes
            #expect(counts.allSatisfy { $0 > even / 2 && $0 < even * 2 }, "spread \(spread): \(counts)")
        }
        #expect(affinity.lane(checksum: .max) < lanes && affinity.lane(checksum: 0) >= 0)
    }

    @Test("Time stops at the clock's end instead of wrapping")
    func clockEnd() {
        #expect(MonotonicTime(nanoseconds: .max - 1) + .seconds(1) == MonotonicTime(nanoseconds: .max))
        #expect(Duration.seconds(Int64.max).wholeNanoseconds == .max)
        #expect(Duration.seconds(-1).wholeNanoseconds == 0)
        #expect(Duration.milliseconds(1500).wholeNanoseconds == 1_500_000_000)
    }
}
