import Testing

@testable import BelfrySupport

/// Readiness as a metric.
@Suite struct ReadinessTests {
    /// The lines with values, without the metric's name.
    private func samples(_ readiness: Readiness) -> [String] {
        MetricsText.render(Readiness.table.families(of: [readiness])).split(separator: "\n")
            .filter { !$0.hasPrefix("#") }.map { String($0.trimmingPrefix("belfry_ready")) }
    }

    private func lines(process: Int, kafka: Int, redis: Int) -> [String] {
        [
            "{dependency=\"process\"} \(process)", "{dependency=\"kafka\"} \(kafka)",
            "{dependency=\"redis\"} \(redis)",
        ]
    }

    @Test("A role that is ready has all that it depends on")
    func ready() {
        #expect(Readiness().isReady)
        #expect(samples(Readiness()) == lines(process: 1, kafka: 1, redis: 1))
    }

    @Test("Each obstacle is one of its own dependency, told in words and as a 0, however many parts meet it")
    func obstacles() {
        let readiness = Readiness([.init(.redis, "shard 0 waits"), .init(.redis, "shard 1 waits")])
        #expect(!readiness.isReady && readiness.obstacles == ["shard 0 waits", "shard 1 waits"])
        #expect(samples(readiness) == lines(process: 1, kafka: 1, redis: 0))
        #expect(samples(Readiness([.init(.kafka, "k")])) == lines(process: 1, kafka: 0, redis: 1))
        #expect(samples(Readiness([.init(.process, "drains")])) == lines(process: 0, kafka: 1, redis: 1))
    }

    @Test("Of a role whose parts cannot be asked only the process is known")
    func partial() {
        let readiness = Readiness(process: ["the worker is starting or stopping"])
        #expect(!readiness.isReady)
        #expect(samples(readiness) == ["{dependency=\"process\"} 0"])
    }

    @Test("A role that has to be started again is not ready, and one that can go on is asked itself")
    func health() {
        let health = RoleHealth()
        #expect(health.readiness(now: .init(nanoseconds: 0)) == nil)
        health.fail("over")
        #expect(health.readiness(now: .init(nanoseconds: 0)) == Readiness(process: ["over"]))
    }
}
