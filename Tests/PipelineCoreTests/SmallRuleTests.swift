import APNsProtocol
import TestSupport
import Testing

@testable import PipelineCore

@Suite struct SmallRuleTests {
    @Test(
        "Every status has its rule",
        arguments: [
            (0, StatusRule.unattributable), (1, .retry), (2, .deadLetter), (3, .parkTopic), (4, .deadLetter),
            (5, .rejectToken),
            (6, .parkTopic), (7, .deadLetter), (8, .rejectToken), (10, .acceptedLast), (128, .isolate), (255, .isolate),
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

    @Test("In no minute, wherever it begins, are more connections granted than the budget", arguments: 1...50)
    func budget(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let perMinute = Int.random(in: 1...100, using: &random)
        let minute: UInt64 = 60_000_000_000
        var now = UInt64.random(in: 0...1_000_000_000_000, using: &random)
        var budget = ConnectionBudget(perMinute: perMinute)
        var grants: [UInt64] = []
        for _ in 0..<2000 {
            now += .random(in: 0...(random.chance(2) ? 2 * minute : 1_000_000_000), using: &random)
            guard let later = budget.take(now: .init(nanoseconds: now)) else {
                grants.append(now)
                continue
            }
            #expect(later.nanoseconds > now && later.nanoseconds <= now + minute)
            if random.chance(50) {
                now = later.nanoseconds
                let granted = budget.take(now: later) == nil
                #expect(granted, "asking again at the time named is granted")
                grants.append(now)
            }
        }
        for (first, last) in zip(grants, grants.dropFirst(perMinute)) { #expect(last - first >= minute) }
    }

    @Test("Half of the budget may come at once, the others come evenly, and all of it is to be had")
    func budgetPace() {
        var budget = ConnectionBudget(perMinute: 60)
        var grants: [UInt64] = []
        for second in 0..<180 as Range<UInt64> {
            while budget.take(now: .init(nanoseconds: second * 1_000_000_000)) == nil { grants.append(second) }
        }
        #expect(grants.count { $0 == 0 } == 30)
        #expect((1..<30).allSatisfy { second in grants.count { $0 == second } == 1 }, "evenly after that")
        #expect(grants.count { $0 < 60 } == 60)
        #expect(grants.count >= 175)
    }

    @Test("Connections that could wait take half of the budget at most, however often they ask")
    func sparingBudget() {
        var budget = ConnectionBudget(perMinute: 60)
        var sparing: [Int] = []
        var needed: [Int] = []
        for second in 0..<180 {
            let now = MonotonicTime(nanoseconds: UInt64(second) * 1_000_000_000)
            while budget.take(now: now, sparing: true) == nil { sparing.append(second) }
            if budget.take(now: now) == nil { needed.append(second) }
        }
        for minute in 0..<120 {
            #expect(sparing.count { (minute..<minute + 60).contains($0) } <= 31)
            #expect(needed.count { (minute..<minute + 60).contains($0) } >= 25)
        }
    }

    @Test("A clock that stands still or goes back earns nothing")
    func budgetClock() {
        var budget = ConnectionBudget(perMinute: 4)
        let grants = [60, 60, 60, 59, 0].map { budget.take(now: .init(nanoseconds: $0 * 1_000_000_000)) == nil }
        #expect(grants == [true, true, false, false, false])
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
