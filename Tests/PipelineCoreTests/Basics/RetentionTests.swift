import PipelineCore
import TestSupport
import Testing

@Suite struct RetentionRuleTests {
    private let rule = RetentionRule(tombstoneSeconds: 100, idleSeconds: 1000)

    private func verdict(
        _ rule: RetentionRule,
        _ registered: UInt32,
        _ described: UInt32,
        _ tombstoned: UInt32,
        at now: Int64
    )
        -> RetentionRule.Verdict?
    {
        rule.verdict(registeredAt: registered, describedAt: described, tombstonedAt: tombstoned, now: now)
    }

    @Test("A tombstone is swept when it is older than its time, not before")
    func tombstones() {
        #expect(verdict(rule, 5, 0, 10, at: 110) == nil)
        #expect(verdict(rule, 5, 0, 10, at: 111) == .tombstone)
        #expect(verdict(rule, 0, 0, .max, at: Int64(UInt32.max) + 101) == .tombstone)
    }

    @Test("A dead token is never idle, however old: it would be sent to again")
    func deadIsNotIdle() {
        let rule = RetentionRule(tombstoneSeconds: 0, idleSeconds: 10)
        #expect(verdict(rule, 5, 6, 10, at: 1_000_000) == nil)
    }

    @Test("A living token is idle when neither its registration nor what its app said of it is younger")
    func idle() {
        #expect(verdict(rule, 10, 0, 0, at: 1010) == nil)
        #expect(verdict(rule, 10, 0, 0, at: 1011) == .idle)
        #expect(verdict(rule, 10, 500, 0, at: 1500) == nil)
        #expect(verdict(rule, 10, 500, 0, at: 1501) == .idle)
        #expect(verdict(rule, 10, 0, 10, at: 1011) == .idle, "in the second of its tombstone it lives")
        #expect(verdict(rule, 0, 0, 0, at: 1_000_000) == nil, "it has no age")
    }

    @Test("Zero keeps for ever")
    func keep() {
        let rule = RetentionRule(tombstoneSeconds: 0, idleSeconds: 0)
        #expect(!rule.isOn)
        #expect(verdict(rule, 1, 0, 2, at: .max / 2) == nil)
        #expect(verdict(rule, 1, 0, 0, at: .max / 2) == nil)
    }
}

@Suite struct SweepPaceTests {
    @Test("Over any stretch, no more is looked at than the rate allows, and one batch", arguments: 1...30)
    func bound(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let rate = random.pick(1...20_000)
        let most = random.pick(1...10_000)
        var pace = SweepPace(rate: rate)
        var now = MonotonicTime(nanoseconds: 5_000_000_000)
        var looks: [(time: MonotonicTime, count: Int)] = []
        for _ in 0..<200 {
            now = now + pace.wait(now: now)
            if random.chance(20) { now = now + .milliseconds(random.pick(0...100_000)) }
            let count = random.pick(0...most)
            looks.append((now, count))
            pace.looked(at: count, now: now)
        }
        for first in looks.indices {
            var sum = 0
            for look in looks[first...] {
                let seconds = Double(looks[first].time.elapsed(until: look.time).wholeNanoseconds) / 1e9
                // Everything before the last batch of the stretch has been waited for.
                #expect(Double(sum) <= seconds * Double(rate) + 1)
                sum += look.count
            }
        }
    }

    @Test("A sweep below the rate does not wait")
    func slow() {
        var pace = SweepPace(rate: 1000)
        #expect(pace.wait(now: .init(nanoseconds: 7)) == .zero)
        pace.looked(at: 500, now: .init(nanoseconds: 0))
        #expect(pace.wait(now: .init(nanoseconds: 100_000_000)) == .milliseconds(400))
        #expect(pace.wait(now: .init(nanoseconds: 600_000_000)) == .zero)
    }
}

@Suite struct CheckpointLedgerTests {
    @Test(
        "A place is reached only when its section and all before it are acknowledged, in any order",
        arguments: 1...50
    )
    func order(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var ledger = CheckpointLedger<Int>()
        var waiting: [(section: UInt64, item: Int)] = []
        var acknowledged: Set<Int> = []
        var item = 0
        var reached = 0
        for _ in 0..<2000 {
            switch random.pick(0...9) {
            case 0..<5:
                ledger.sent()
                waiting.append((ledger.current, item))
                item += 1
            case 5:
                ledger.close(at: item)
            default:
                guard let index = waiting.indices.randomElement(using: &random) else { continue }
                let (section, done) = waiting.remove(at: index)
                ledger.acknowledged(section)
                acknowledged.insert(done)
            }
            if let place = ledger.takeReached() {
                #expect(place >= reached)
                reached = place
                #expect((0..<place).allSatisfy { acknowledged.contains($0) })
            }
        }
        ledger.close(at: item)
        for (section, _) in waiting { ledger.acknowledged(section) }
        #expect(item == reached || ledger.takeReached() == item)
        #expect(ledger.takeReached() == nil)
    }
}
