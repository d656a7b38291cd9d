import PipelineCore
import Testing

@Suite("The clocks of a host and of servers")
struct ClockWatchTests {
    private static let unix: Int64 = 1_700_000_000_000
    private var watch = ClockWatch()

    private func at(_ seconds: UInt64) -> MonotonicTime { MonotonicTime(nanoseconds: (1000 + seconds) * 1_000_000_000) }

    private func verdict(ahead seconds: Int64 = 0, after elapsed: UInt64 = 0) -> ClockWatch.Verdict {
        watch.verdict(host: Self.unix + (Int64(elapsed) + seconds) * 1000, now: at(elapsed))
    }

    @Test("Nothing is decided before a server has told its time")
    func unknown() {
        #expect(verdict() == .unknown)
    }

    @Test("A host within ten minutes of Redis is in line, one beyond is not")
    mutating func redis() {
        watch.heard(.redis, unixMilliseconds: Self.unix, now: at(0))
        for seconds in [-600, -1, 0, 600] as [Int64] { #expect(verdict(ahead: seconds) == .inLine) }
        for seconds in [-601, 601, 90_000] as [Int64] {
            #expect(verdict(ahead: seconds) == .outOfLine(aheadSeconds: seconds))
        }
        #expect(watch.verdict(host: .max, now: at(0)) != .inLine)
        #expect(watch.verdict(host: 0, now: at(0)) == .outOfLine(aheadSeconds: -1_700_000_000))
    }

    @Test("A jump of the host's clock is known before the next answer, and an old answer does not count")
    mutating func jump() {
        watch.heard(.redis, unixMilliseconds: Self.unix, now: at(0))
        #expect(verdict(after: 200) == .inLine)
        #expect(verdict(ahead: 4000, after: 200) == .outOfLine(aheadSeconds: 4000))
        #expect(verdict(after: 300) == .unknown)
    }

    @Test("The majority is believed: a server that differs alone is the one that is wrong")
    mutating func majority() {
        watch.heard(.redis, unixMilliseconds: Self.unix - 7_200_000, now: at(0))
        #expect(verdict() == .outOfLine(aheadSeconds: 7200))
        watch.heard(.broker, unixMilliseconds: Self.unix, now: at(0))
        #expect(verdict() == .inLine)
        watch.heard(.redis, unixMilliseconds: Self.unix, now: at(0))
        watch.heard(.broker, unixMilliseconds: Self.unix + 7_200_000, now: at(0))
        #expect(verdict() == .inLine)
        #expect(verdict(ahead: -5000) == .outOfLine(aheadSeconds: -5000))
    }

    @Test("A Redis that refuses to tell leaves the host's clock alone, until it tells")
    mutating func refused() {
        watch.cannotTell()
        #expect(verdict() == .inLine)
        watch.heard(.redis, unixMilliseconds: Self.unix, now: at(0))
        #expect(verdict(ahead: 601) == .outOfLine(aheadSeconds: 601))
    }

    @Test("A broker's time does not make a Redis tell that refused; one that has told is missed like any other")
    mutating func tellsAgain() {
        watch.cannotTell()
        watch.heard(.broker, unixMilliseconds: Self.unix, now: at(0))
        #expect(verdict(after: 300) == .inLine, "the broker's answer is old, and Redis refuses still")
        watch.heard(.redis, unixMilliseconds: Self.unix, now: at(0))
        #expect(verdict(after: 300) == .unknown)
    }
}
