import PipelineCore
import TestSupport
import Testing

/// The bucket of a quota.
@Suite("Urgent quota")
struct UrgentQuotaTests {
    private static func at(_ milliseconds: Int) -> MonotonicTime {
        MonotonicTime(nanoseconds: 1_000_000_000 + UInt64(milliseconds) * 1_000_000)
    }

    /// A quota, and the time of the test.
    private struct Bench {
        var quota: UrgentQuota
        private var milliseconds = 0

        init(perMinute: Double) { quota = UrgentQuota(perMinute: perMinute, now: UrgentQuotaTests.at(0)) }

        var now: MonotonicTime { UrgentQuotaTests.at(milliseconds) }

        mutating func wait(until milliseconds: Int) {
            self.milliseconds = milliseconds
            quota.change(perMinute: quota.perMinute, now: now)
        }

        /// Asks for records of so many tokens, one after the other: true for each that stays.
        mutating func bring(_ records: Int...) -> [Bool] { records.map { quota.admits($0) } }
    }

    @Test("The quota of a minute stays at once, and then as much as drains")
    func drains() {
        var bench = Bench(perMinute: 60)
        let first = (0..<60).allSatisfy { _ in bench.bring(1) == [true] }
        let over = bench.bring(1)
        #expect(first && over == [false])
        bench.wait(until: 500)
        let early = bench.bring(1)
        #expect(early == [false])
        bench.wait(until: 5000)
        let later = bench.bring(1, 1, 1, 1, 1, 1)
        #expect(later == [true, true, true, true, true, false])
        bench.wait(until: 600_000)
        let full = bench.bring(60, 1)
        #expect(full == [true, false])
    }

    @Test("A record stays whole or not at all, and one that does not fit takes nothing from the next one")
    func whole() {
        var bench = Bench(perMinute: 10)
        let first = bench.bring(7, 4, 3, 1)
        #expect(first == [true, false, true, false])
        bench.wait(until: 600_000)
        let tooLarge = bench.bring(11, 10)
        #expect(tooLarge == [false, true])
    }

    @Test(
        "In no stretch of time more stays than the quota of that time and one bucket",
        arguments: 1...20 as ClosedRange<UInt64>
    )
    func bound(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let perMinute = random.pick(1...500)
        var bench = Bench(perMinute: Double(perMinute))
        var stayed: [(time: Int, tokens: Int)] = []
        var time = 0
        for _ in 0..<600 {
            time += random.pick(0...2) == 0 ? random.pick(0...20_000) : random.pick(0...50)
            bench.wait(until: time)
            let tokens = random.pick(1...max(1, perMinute / 3))
            if bench.bring(tokens) == [true] { stayed.append((time, tokens)) }
        }
        #expect(stayed.count > 20)
        for first in stayed.indices {
            var sum = 0
            var isWithin = true
            for last in first..<stayed.count {
                sum += stayed[last].tokens
                let minutes = Double(stayed[last].time - stayed[first].time) / 60_000
                isWithin = isWithin && Double(sum) <= Double(perMinute) * (1 + minutes) + 0.001
            }
            #expect(isWithin, "from \(stayed[first].time) ms on")
        }
    }

    @Test("Records that come evenly, within the quota, all stay", arguments: [1, 7, 60])
    func even(tokens: Int) {
        var bench = Bench(perMinute: 60)
        for step in 1...300 {
            bench.wait(until: step * tokens * 1000)
            let stays = bench.bring(tokens)
            #expect(stays == [true], "after \(step * tokens) s")
        }
    }

    @Test("Of a quota of 0 nothing stays, of a small part of one a token in several minutes")
    func small() {
        var none = Bench(perMinute: 0)
        none.wait(until: 600_000)
        let ofNone = none.bring(1)
        #expect(ofNone == [false])
        var part = Bench(perMinute: 0.25)
        let first = part.bring(1, 1)
        part.wait(until: 230_000)
        let early = part.bring(1)
        part.wait(until: 241_000)
        let later = part.bring(1)
        #expect(first == [true, false] && early == [false] && later == [true])
    }

    @Test("A change counts from then on; what was used falls with the quota, and does not rise with it")
    func change() {
        var bench = Bench(perMinute: 100)
        let first = bench.bring(80)
        bench.quota.change(perMinute: 10, now: Self.at(0))
        let rest = bench.bring(2, 1)
        #expect(first == [true] && rest == [true, false])
        bench.quota.change(perMinute: 40, now: Self.at(30_000))
        // Five have drained, by the quota that held.
        let more = bench.bring(35, 1)
        #expect(more == [true, false])
        // A shard that had no part of it meanwhile.
        bench.quota.change(perMinute: 0, now: Self.at(30_000))
        let none = bench.bring(1)
        bench.quota.change(perMinute: 100, now: Self.at(30_000))
        let again = bench.bring(100, 1)
        #expect(none == [false] && again == [true, false])
    }

    @Test("Parts that add up to a little less than the whole hold the whole")
    func rounding() {
        var bench = Bench(perMinute: 60 * (1 - 1e-12))
        let whole = bench.bring(60, 1)
        #expect(whole == [true, false])
    }

    @Test("What is over the quota and stays counts, and what is fed anew is given back")
    func giveBack() {
        var bench = Bench(perMinute: 10)
        bench.quota.take(15)
        let over = bench.bring(1)
        #expect(over == [false] && bench.quota.used == 15)
        bench.quota.giveBack(7)
        let within = bench.bring(2, 1)
        #expect(within == [true, false])
        bench.quota.giveBack(100)
        #expect(bench.quota.used == 0)
    }
}
