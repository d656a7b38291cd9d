import PipelineCore
import TestSupport
import Testing

@Suite("Records that are applied again")
struct ReplayPlanTests {
    private func at(_ second: UInt64) -> MonotonicTime { MonotonicTime(nanoseconds: second * 1_000_000_000) }

    private func plan(_ servers: String..., partition: Int32 = 0, committed: Int64 = 100) -> ReplayPlan {
        var plan = ReplayPlan(window: .seconds(600))
        _ = plan.observed(servers, isComplete: true, now: at(0))
        _ = plan.begin(partition, committed: committed, metadata: "", now: at(0))
        return plan
    }

    @Test("The servers that are there at first are no news, nor is seeing them again")
    func first() {
        var plan = ReplayPlan(window: .seconds(600))
        #expect(!plan.isReady)
        var isNews = plan.observed(["a"], isComplete: false, now: at(0))
        #expect(!isNews && !plan.isReady)
        isNews = plan.observed(["a", "b"], isComplete: true, now: at(0))
        #expect(!isNews && plan.isReady && !plan.isDue)
        isNews = plan.observed(["b"], isComplete: false, now: at(0))
        #expect(!isNews && !plan.isDue)
    }

    @Test("A master that does not answer holds up the first look for a while only, and is a new one when it is met")
    func firstLookPatience() throws {
        var plan = ReplayPlan(window: .seconds(600))
        // No server has answered: nothing could be applied anyway.
        for second in [0, 100] as [UInt64] { _ = plan.observed([], isComplete: false, now: at(second)) }
        #expect(!plan.isReady)
        for second in [200, 229] as [UInt64] {
            let isNews = plan.observed(["a"], isComplete: false, now: at(second))
            #expect(!isNews && !plan.isReady, "\(second)")
        }
        // One that answered once is known, though another look misses it.
        var isNews = plan.observed(["b"], isComplete: false, now: at(230))
        #expect(!isNews && plan.isReady && !plan.isDue)
        let mark = ReplayMark(servers: ["a", "b", "c"], start: 40).metadata
        let start = plan.begin(0, committed: 100, metadata: mark, now: at(230))
        #expect(start == 100)
        #expect(try #require(ReplayMark(plan.metadata(0, offset: 100))).servers == ["a", "b"])
        isNews = plan.observed(["a", "b", "c"], isComplete: true, now: at(300))
        #expect(isNews && plan.starts == [0: 40])
    }

    @Test("A new replication ID applies what was applied within the window again, and that is not older")
    func failover() {
        var plan = plan("a", "b")
        for step in 1...360 as ClosedRange<UInt64> {
            plan.applying(0, from: Int64(100 + step), now: at(step * 5))
        }
        let isNews = plan.observed(["a", "c"], isComplete: true, now: at(0))
        #expect(isNews && plan.isDue)
        // Ten minutes before, and at most a 64th of that more; however long it took until that was noticed.
        #expect(plan.starts == [0: 100 + 240])
        plan.beganAgain()
        #expect(!plan.isDue)
        let again = plan.observed(["a", "c"], isComplete: true, now: at(0))
        #expect(!again && !plan.isDue)
    }

    @Test("Until consuming has begun again, commits name the old servers: a restart would begin again as well")
    func commitsMeanwhile() throws {
        var plan = plan("a")
        plan.applying(0, from: 200, now: at(10))
        _ = plan.observed(["b"], isComplete: true, now: at(0))
        var mark = try #require(ReplayMark(plan.metadata(0, offset: 300)))
        #expect(mark.servers == ["a"] && mark.start == 100)
        plan.beganAgain()
        mark = try #require(ReplayMark(plan.metadata(0, offset: 300)))
        #expect(mark.servers == ["b"])
    }

    @Test(
        "An assignment begins where the mark says, if a server has another history since; else at the commit"
    )
    func restart() {
        let metadata = ReplayMark(servers: ["a", "b"], start: 40).metadata
        for (servers, expected) in [(["a", "b"], 100), (["a"], 100), (["a", "c"], 40), (["c"], 40)]
            as [([String], Int64)]
        {
            var plan = ReplayPlan(window: .seconds(600))
            _ = plan.observed(servers, isComplete: true, now: at(0))
            let start = plan.begin(3, committed: 100, metadata: metadata, now: at(0))
            #expect(start == expected, "\(servers)")
        }
        var plan = ReplayPlan(window: .seconds(600))
        _ = plan.observed(["x"], isComplete: true, now: at(0))
        // A commit that was set back by hand.
        let setBack = plan.begin(0, committed: 30, metadata: metadata, now: at(0))
        #expect(setBack == 30)
        let unmarked = plan.begin(0, committed: 100, metadata: "something else", now: at(0))
        #expect(unmarked == 100)
    }

    @Test("A mark names the masters of the last whole look, shortened, and knows them again")
    func namesOfServers() throws {
        let (first, second) = (String(repeating: "a", count: 40), String(repeating: "b", count: 40))
        var plan = ReplayPlan(window: .seconds(600))
        _ = plan.observed([first, second], isComplete: true, now: at(0))
        let before = plan.begin(
            0,
            committed: 9,
            metadata: ReplayMark(servers: [first, second], start: 1).metadata,
            now: at(0)
        )
        #expect(before == 9)
        _ = plan.observed([second], isComplete: false, now: at(0))
        var mark = try #require(ReplayMark(plan.metadata(0, offset: 10)))
        #expect(mark.servers == [first, second].map { String($0.prefix(12)) })
        // One has left for good.
        _ = plan.observed([second], isComplete: true, now: at(0))
        mark = try #require(ReplayMark(plan.metadata(0, offset: 10)))
        #expect(mark.servers == [String(second.prefix(12))])
    }

    @Test("Records that the former owner applied just now are within the next owner's window")
    func takenOver() {
        var plan = ReplayPlan(window: .seconds(600))
        _ = plan.observed(["a"], isComplete: true, now: at(0))
        _ = plan.begin(0, committed: 100, metadata: ReplayMark(servers: ["a"], start: 40).metadata, now: at(0))
        plan.applying(0, from: 100, now: at(30))
        #expect(plan.starts == [0: 40])
        // A batch in hand during an outage longer than the window, applied before the outage is noticed.
        plan.applying(0, from: 100, now: at(3600))
        #expect(plan.starts == [0: 40])
        plan.end(0)
        #expect(plan.starts.isEmpty)
    }

    @Test("A look that did not hear all masters forgets none of them")
    func partialLook() {
        var plan = plan("a", "b")
        _ = plan.observed(["c"], isComplete: false, now: at(0))
        plan.beganAgain()
        let isNews = plan.observed(["a", "b", "c"], isComplete: true, now: at(0))
        #expect(!isNews)
    }

    @Test("Another fail-over before consuming has begun again is not lost")
    func twice() throws {
        var plan = plan("a")
        _ = plan.observed(["b"], isComplete: true, now: at(0))
        var isNews = plan.observed(["b"], isComplete: true, now: at(0))
        #expect(!isNews, "it is known, and due")
        isNews = plan.observed(["c"], isComplete: true, now: at(0))
        #expect(isNews)
        plan.beganAgain()
        let mark = try #require(ReplayMark(plan.metadata(0, offset: 100)))
        #expect(mark.servers == ["c"])
    }

    @Test("Servers that do not tell leave everything as it would be without")
    func blind() {
        var plan = ReplayPlan(window: .seconds(600))
        plan.cannotTell()
        #expect(plan.isReady && !plan.isDue)
        let start = plan.begin(0, committed: 7, metadata: ReplayMark(servers: ["a"], start: 1).metadata, now: at(0))
        let metadata = plan.metadata(0, offset: 7)
        #expect(start == 7 && metadata.isEmpty)
    }

    @Test("Records applied within the window are at or above its start; records long gone are not repeated for ever")
    func windowProperty() {
        for seed in trials(100) {
            var random = SeededGenerator(seed: seed)
            var window = ReplayWindow(length: .seconds(64))
            var applied: [(offset: Int64, at: UInt64, elapsed: UInt64)] = []
            var next: Int64 = 0
            var second: UInt64 = 0
            // Of a gap as much counts as is rounded to.
            var elapsed: UInt64 = 0
            for _ in 0..<300 {
                let gap = UInt64.random(in: 0...5, using: &random)
                second += gap
                elapsed += min(gap, 1)
                // Now and then it goes back, as a repetition does.
                if next > 10, Int.random(in: 0..<20, using: &random) == 0 {
                    next -= Int64.random(in: 1...10, using: &random)
                }
                window.applying(from: next, now: at(second))
                let end = next + Int64.random(in: 1...5, using: &random)
                for offset in next..<end { applied.append((offset, second, elapsed)) }
                next = end
                let start = window.start
                for record in applied where record.at + 64 > second {
                    #expect((start ?? .max) <= record.offset, "seed \(seed)")
                }
                let recent = applied.filter { $0.elapsed + 66 > elapsed }.map(\.offset).min()
                #expect(start == nil || (recent ?? .max) <= (start ?? 0), "seed \(seed)")
            }
        }
    }

    @Test("A mark survives being written; anything else is none")
    func marks() {
        let mark = ReplayMark(servers: ["ffee" + String(repeating: "0", count: 36), "00aa"], start: 12)
        #expect(mark.metadata == "1 12 00aa,ffee00000000")
        #expect(ReplayMark(mark.metadata) == mark)
        for text in ["", "1", "1 2", "1 2 ", "2 2 a", "1 x a", "1 -1 a", "1 2 a b", "r:1-2"] {
            #expect(ReplayMark(text) == nil, "\(text)")
        }
    }
}
