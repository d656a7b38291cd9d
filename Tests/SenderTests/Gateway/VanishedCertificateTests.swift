import BelfrySupport
import PipelineCore
import Testing

@testable import KafkaClient
@testable import PipelineTestSupport
@testable import Sender
@testable import SimulatedServers

/// A topic whose certificate was there and is not any more.
@Suite("A certificate that goes away")
struct VanishedCertificateTests {
    private typealias Bench = ShardBench

    private func reason(in bench: Bench) -> String? {
        bench.shard.report().topics.first { $0.bundleID == Bench.sport }?.reason
    }

    private func attempts(in bench: Bench) -> Int { bench.gateway.attempts.count { $0 == Bench.sport } }

    @Test("Without its certificate a topic opens no connection, waits and alarms; when there is one again it goes on")
    func goesOn() throws {
        let bench = Bench {
            $0.worker.parkAfter = .seconds(5)
            $0.worker.idleTimeout = .seconds(1)
        }
        defer { bench.shard.leave() }
        bench.assign(0)
        try bench.bring((Bench.sport, [1]), (Bench.news, [101]))
        bench.wait(milliseconds: 3000)
        #expect(bench.gateway.accepted(of: Bench.sport) == [1] && attempts(in: bench) == 1)
        #expect(!bench.gateway.askedAbout.contains(Bench.sport))

        bench.gateway.missing = [Bench.sport]
        try bench.bring((Bench.sport, [2]), (Bench.news, [102]), (Bench.sport, [3]))
        bench.wait(milliseconds: 30_000)
        #expect(attempts(in: bench) == 1 && bench.gateway.accepted(of: Bench.news) == [101, 102])
        #expect(reason(in: bench) == "certificate-missing" && bench.gateway.askedAbout == [Bench.sport])
        #expect(try bench.shard.addTopic(Bench.sport).health.state == .works, "the gateway is not to blame")
        #expect(try bench.laggards() == [Bench.hash(Bench.sport): 2])

        bench.gateway.missing = []
        bench.wait(milliseconds: 5000)
        #expect(bench.gateway.accepted(of: Bench.sport) == [1, 2, 3] && attempts(in: bench) == 2)
        #expect(reason(in: bench) == nil && bench.committed()?.metadata == "3;")
    }

    @Test("Notifications that wait for a connection when the certificate goes become dead letters like all others")
    func givenUp() throws {
        let bench = Bench { $0.worker.parkAfter = .seconds(5) }
        defer { bench.shard.leave() }
        bench.gateway.silent = [Bench.sport]
        bench.gateway.timeout = .seconds(1)
        bench.assign(0)
        try bench.bring((Bench.sport, [1]), (Bench.sport, [2, 3]))
        bench.wait(milliseconds: 500)
        #expect(bench.shard.report().partitions.first?.uncommitted == 3)
        bench.gateway.missing = [Bench.sport]
        bench.wait(milliseconds: 30_000)
        #expect(attempts(in: bench) == 1, "the one under way was the last")
        let waiting = try #require(bench.shard.report().partitions.first)
        #expect(waiting.uncommitted == 0 && waiting.behind == 1 && reason(in: bench) == "certificate-missing")
        #expect(bench.producer.records(of: "push.dead-letters").isEmpty)

        bench.gateway.givenUp = [Bench.sport]
        bench.wait(milliseconds: 2000)
        let letters = bench.producer.records(of: "push.dead-letters")
        #expect(letters.map { $0.header("reason") } == Array(repeating: "bundle-without-certificate", count: 2))
        #expect(try bench.offsets(.deadLettered) == [0, 1, 1])
        #expect(bench.committed()?.offset == 2 && bench.committed()?.metadata == "3;")
    }

    @Test("An open connection brings what waits for it to its end, and serves on when the certificate is back")
    func openConnection() throws {
        let bench = Bench { $0.worker.inFlightPerConnection = 1 }
        defer { bench.shard.leave() }
        bench.assign(0)
        try bench.bring((Bench.sport, [1, 2, 3]))
        bench.wait(milliseconds: 100)
        #expect(bench.gateway.accepted(of: Bench.sport) == [1])
        bench.gateway.missing = [Bench.sport]
        bench.wait(milliseconds: 3000)
        #expect(bench.gateway.accepted(of: Bench.sport) == [1, 2, 3] && bench.committed()?.offset == 1)
        #expect(reason(in: bench) == "certificate-missing")

        try bench.bring((Bench.sport, [4]))
        bench.wait(milliseconds: 1000)
        #expect(bench.gateway.accepted(of: Bench.sport) == [1, 2, 3], "no more is fed")
        bench.gateway.missing = []
        bench.wait(milliseconds: 2000)
        #expect(bench.gateway.accepted(of: Bench.sport) == [1, 2, 3, 4] && attempts(in: bench) == 1)
        #expect(bench.committed()?.offset == 2 && bench.committed()?.metadata == "3;")
    }

    @Test("A topic that does not work is not probed without its certificate, and is once there is one")
    func noProbe() throws {
        let bench = Bench()
        defer { bench.shard.leave() }
        bench.gateway.answers[Bench.sport] = { _ in .missingTopic }
        bench.assign(0)
        try bench.bring((Bench.sport, [1]), (Bench.sport, [2]))
        bench.wait(milliseconds: 5000)
        #expect(reason(in: bench) == "topic-refused")
        bench.gateway.missing = [Bench.sport]
        bench.wait(milliseconds: 1000)
        let before = attempts(in: bench)
        bench.wait(milliseconds: 30_000)
        #expect(attempts(in: bench) == before && reason(in: bench) == "certificate-missing")
        #expect(bench.shard.report().partitions.first?.uncommitted == 0, "nor does a notification wait for a probe")

        bench.gateway.missing = []
        bench.gateway.answers = [:]
        bench.wait(milliseconds: 10_000)
        #expect(bench.gateway.accepted(of: Bench.sport) == [1, 2])
        #expect(bench.committed()?.offset == 2 && bench.committed()?.metadata == "3;")
    }
}
