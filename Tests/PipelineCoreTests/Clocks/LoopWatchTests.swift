import Testing

@testable import PipelineCore

@Suite("Event loops that stand still")
struct LoopWatchTests {
    private let start = MonotonicTime(nanoseconds: 1_000_000_000_000)

    private func after(_ seconds: Int64) -> MonotonicTime { start + .seconds(seconds) }

    @Test("A loop stands still when it was not marked for longer than the bound, from its beginning on")
    func bound() {
        var watch = LoopWatch(bound: .seconds(60))
        let number = watch.add("shard-0", now: start)
        #expect(watch.stuck(now: after(60)).isEmpty)
        #expect(watch.stuck(now: after(61)) == [.init(loop: "shard-0", duration: .seconds(61))])
        watch.mark(number, now: after(61))
        #expect(watch.stuck(now: after(121)).isEmpty)
        #expect(watch.stuck(now: after(122)).map(\.duration) == [.seconds(61)])
    }

    @Test("One loop that stands still is enough, and is the one that is named")
    func others() {
        var watch = LoopWatch(bound: .seconds(60))
        let alive = watch.add("shard-0", now: start)
        _ = watch.add("shard-1", now: start)
        watch.mark(alive, now: after(100))
        #expect(watch.stuck(now: after(100)).map(\.loop) == ["shard-1"])
        #expect(
            watch.silences(now: after(100))
                == [.init(loop: "shard-0", duration: .zero), .init(loop: "shard-1", duration: .seconds(100))]
        )
    }

    @Test("The lateness of a loop's marks is counted, an early mark as none")
    func lateness() {
        var watch = LoopWatch(bound: .seconds(60))
        let number = watch.add("shard-0", now: start)
        watch.mark(number, now: start + .milliseconds(1005))
        watch.mark(number, now: start + .milliseconds(1900))
        watch.mark(number + 1, now: after(90))
        let delays = watch.delays
        #expect(delays.map(\.loop) == ["shard-0"])
        #expect(delays[0].lateness.count == 2 && delays[0].lateness.sumSeconds == 0.005)
    }

    @Test("Each standstill is news once; one that comes again is news again")
    func news() {
        var watch = LoopWatch(bound: .seconds(60))
        let number = watch.add("registrar", now: start)
        #expect(watch.takeNews(now: after(60)).isEmpty)
        #expect(watch.takeNews(now: after(70)).map(\.loop) == ["registrar"])
        #expect(watch.takeNews(now: after(80)).isEmpty)
        #expect(watch.stuck(now: after(80)).count == 1, "told, and still so")
        watch.mark(number, now: after(90))
        #expect(watch.takeNews(now: after(151)).map(\.loop) == ["registrar"])
    }

    @Test("Loops are told in the order in which they were added")
    func order() {
        var watch = LoopWatch(bound: .seconds(60))
        let names = (0..<20).map { "loop-\($0 * 7 % 20)" }
        for name in names { _ = watch.add(name, now: start) }
        #expect(watch.delays.map(\.loop) == names)
        #expect(watch.takeNews(now: after(61)).map(\.loop) == names)
    }

    @Test("Loops that have ended are not missed, and their late marks count for no other loop")
    func removed() {
        var watch = LoopWatch(bound: .seconds(60))
        let former = watch.add("shard-0", now: start)
        watch.removeAll()
        #expect(watch.stuck(now: after(1000)).isEmpty)
        let next = watch.add("shard-0", now: after(1000))
        #expect(next != former)
        watch.mark(former, now: after(1070))
        #expect(watch.stuck(now: after(1070)).map(\.loop) == ["shard-0"])
    }

    @Test("Nothing stands still before anything is watched")
    func empty() {
        #expect(LoopWatch().stuck(now: after(10_000)).isEmpty)
    }
}
