import NIOCore
import Testing

@testable import RedisClient

@Suite("The patience of a command with a cluster")
struct ClusterPatienceTests {
    @Test("Redirections are followed at once, but only so many in a row: then the command waits, and begins anew")
    func redirections() {
        var patience = ClusterPatience(deadline: nil)
        for _ in 0..<2 {
            let followed = (0..<4).map { _ in patience.follows(limit: 3, now: .second(0)) }
            #expect(followed == [true, true, true, false])
            let next = patience.nextTry(now: .second(0), random: 0)
            #expect(next != nil)
        }
        #expect(patience.waits == 2 && patience.redirections == 0)
    }

    @Test("Without a deadline a command never gives up")
    func forEver() {
        var patience = ClusterPatience(deadline: nil)
        for second in 0..<1000 as Range<Int64> {
            let now = NIODeadline.second(second * 1000)
            let next = patience.nextTry(now: now, random: 0)
            #expect(next.map { $0 > now } ?? false)
        }
    }

    @Test("No wait ends after the deadline, and from then on the command is neither sent on nor put off")
    func deadline() {
        let deadline = NIODeadline.second(10)
        var patience = ClusterPatience(deadline: deadline)
        let last = patience.nextTry(now: deadline - .milliseconds(3), random: 0)
        #expect(last == deadline)
        let followed = [deadline - .nanoseconds(1), deadline].map { patience.follows(limit: 8, now: $0) }
        #expect(followed == [true, false])
        #expect(!patience.isOver(now: deadline - .nanoseconds(1)) && patience.isOver(now: deadline))
        let none = patience.nextTry(now: deadline, random: 0)
        #expect(none == nil)
    }

    @Test("Waits double from 10 ms up to 640 ms, minus up to one half by chance")
    func lengths() {
        for (number, milliseconds) in [(1, 10), (2, 20), (3, 40), (7, 640), (8, 640), (1000, 640)] as [(Int, Int64)] {
            let half = TimeAmount.milliseconds(milliseconds).nanoseconds / 2
            let waits = [0, UInt64(half / 2), UInt64(half)].map {
                ClusterPatience.wait(number: number, random: $0).nanoseconds
            }
            #expect(waits == [half, half + half / 2, 2 * half])
            // Any number will do.
            #expect((half...2 * half).contains(ClusterPatience.wait(number: number, random: .max).nanoseconds))
        }
        var patience = ClusterPatience(deadline: nil)
        let ends = (0..<2).map { _ in patience.nextTry(now: .second(0), random: 0) }
        #expect(ends == [.second(0) + .milliseconds(5), .second(0) + .milliseconds(10)])
    }
}
