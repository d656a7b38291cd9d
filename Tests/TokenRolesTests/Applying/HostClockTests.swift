import BelfrySupport
import NIOCore
import NIOEmbedded
import PipelineCore
import Testing

@testable import PipelineTestSupport
@testable import SimulatedServers
@testable import TokenRoles
@testable import TokenState

/// Roles whose host has a clock that differs from those of the servers.
@Suite("A host whose clock is out of line")
struct HostClockTests {
    private static let unix: Int64 = 1_700_000_000_000

    private func bench(_ host: WallClock) -> ApplierBench {
        let bench = ApplierBench(wallClock: host)
        bench.redis.clock = Self.unix
        return bench
    }

    private func host(aheadSeconds: Int64) -> WallClock {
        WallClock(unixMilliseconds: Self.unix + aheadSeconds * 1000)
    }

    @Test(
        "Nothing is applied by a clock that is far ahead or behind; it goes on when the clock is set",
        arguments: [3700, -3700] as [Int64]
    )
    func held(aheadSeconds: Int64) {
        let host = host(aheadSeconds: aheadSeconds)
        let bench = bench(host)
        defer { bench.end() }
        bench.member.give(0)
        bench.member.publish("a")
        bench.pass(.seconds(4))
        #expect(bench.calls == 0 && bench.commits.isEmpty && bench.letters.isEmpty)
        let side = aheadSeconds > 0 ? "ahead of" : "behind"
        let obstacle = bench.applier.clockObstacle ?? ""
        #expect(obstacle.hasSuffix(" s \(side) that of Redis: nothing is decided by it"))
        let obstacles = Readiness.obstacles(of: "registrar", isInGroup: true, isRedisReady: true, clocks: [obstacle])
        #expect(obstacles.map(\.text) == [obstacle])
        #expect(
            bench.lines.messages == ["host's clock is out of line with Redis and brokers; nothing is decided by it"]
        )

        host.unixMilliseconds = Self.unix
        bench.pass(.seconds(6))
        #expect(bench.changed == ["a"] && bench.applier.clockObstacle == nil)
        #expect(bench.lines.levels(of: "host's clock is in line again") == [.notice])
    }

    @Test("A clock that jumps while the role runs is noticed before the next record")
    func jump() {
        let host = host(aheadSeconds: 0)
        let bench = bench(host)
        defer { bench.end() }
        bench.member.give(0)
        bench.member.publish("a")
        bench.pass(.seconds(2))
        host.unixMilliseconds = Self.unix - 7_200_000
        bench.member.publish("b")
        bench.pass(.seconds(2))
        #expect(bench.changed == ["a"])
    }

    @Test("A broker that agrees with the host outvotes Redis")
    func broker() {
        let bench = bench(host(aheadSeconds: 3700))
        defer { bench.end() }
        bench.member.give(0)
        bench.member.publish("a")
        bench.pass(.seconds(2))
        #expect(bench.changed.isEmpty)
        bench.clock?.appended(atMilliseconds: Self.unix + 3_700_000)
        bench.pass(.seconds(2))
        #expect(bench.changed == ["a"])
    }

    @Test("A harvester gets no lease of a list, which its reading would clear")
    func lease() {
        let host = host(aheadSeconds: -3700)
        let loop = EmbeddedEventLoop()
        let redis = SimulatedRedis(on: loop)
        redis.clock = Self.unix
        let clock = host.check(redis, on: loop, LogLines())
        let source = FeedbackConnection.Source(
            environment: "sandbox",
            bundleID: "com.example.news",
            address: .init(host: "127.0.0.1", port: 1),
            tls: { preconditionFailure("nothing connects") }
        )
        let lease = RedisFeedbackLease(source, duration: .seconds(60), owner: "one", redis: redis, clock)
        var reasons: [String] = []
        func ask() {
            lease.hold { answer, error in
                if case .unknown = answer, let error { reasons.append("\(error)") }
            }
        }
        ask()
        clock.start()
        loop.advanceTime(by: .milliseconds(10))
        ask()
        #expect(redis.calls == 0 && reasons.count == 2 && reasons.last == clock.obstacle)
        host.unixMilliseconds = Self.unix
        redis.close()
        ask()
        #expect(redis.calls == 1, "it asks, and would be answered")
        clock.close()
        loop.advanceTime(by: .seconds(2))
    }
}
