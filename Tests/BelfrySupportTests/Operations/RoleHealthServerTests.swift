import Logging
import NIOCore
import NIOEmbedded
import ServiceLifecycle
import Testing

@testable import BelfrySupport
@testable import PipelineCore

@Suite("Troubles that a role does not get over", .timeLimit(.minutes(1)))
struct RoleHealthServerTests {
    /// A role that does nothing until it is told to stop, or cannot go on.
    private struct Role: Service {
        let health: RoleHealth
        var onStart: @Sendable () -> Void = {}

        func run() async throws {
            onStart()
            await health.untilStop()
            try health.check()
        }
    }

    private func now(_ eventLoop: EmbeddedEventLoop, plus seconds: Int64 = 0) -> MonotonicTime {
        MonotonicTime(eventLoop.now) + .seconds(seconds)
    }

    @Test("A role that cannot go on ends with the first cause")
    func failing() async throws {
        let health = RoleHealth()
        let group = ServiceGroup(
            configuration: .init(services: [.init(service: Role(health: health))], logger: Logger(label: "test"))
        )
        let ending = Task { try await group.run() }
        health.fail("Kafka consumer failed permanently: fenced")
        health.fail("another")
        await #expect(throws: RoleFailure(description: "Kafka consumer failed permanently: fenced")) {
            try await ending.value
        }
    }

    @Test("A cause from before the role waits is not missed")
    func early() async {
        let health = RoleHealth()
        health.fail("early")
        await health.untilStop()
        #expect(throws: RoleFailure(description: "early")) { try health.check() }
    }

    @Test("A role that is told to stop ends without a failure")
    func stopping() async throws {
        let (starts, started) = AsyncStream<Void>.makeStream()
        let role = Role(health: RoleHealth()) { started.yield() }
        let group = ServiceGroup(
            configuration: .init(services: [.init(service: role)], logger: Logger(label: "test"))
        )
        let ending = Task { try await group.run() }
        _ = await starts.first { _ in true }
        await group.triggerGracefulShutdown()
        try await ending.value
    }

    @Test("An event loop that goes on is alive, one that stands still is named")
    func loops() {
        let health = RoleHealth()
        let eventLoop = EmbeddedEventLoop()
        eventLoop.advanceTime(by: .hours(1))
        health.watch(eventLoop, as: "shard-0")
        eventLoop.advanceTime(by: .hours(1))
        #expect(health.liveness(now: now(eventLoop)).isAlive)
        #expect(health.liveness(now: now(eventLoop, plus: 60)).isAlive)
        #expect(!health.isStuck(now: now(eventLoop, plus: 60)))
        let later = now(eventLoop, plus: 90)
        #expect(health.liveness(now: later).troubles == ["event loop shard-0 stands still for 90 s"])
        #expect(health.isStuck(now: later))
        #expect(health.takeNews(now: later).count == 1)
        #expect(health.takeNews(now: later).isEmpty)
        eventLoop.advanceTime(by: .seconds(90))
        #expect(health.liveness(now: later).isAlive, "it goes on")
        health.forgetLoops()
        #expect(health.liveness(now: now(eventLoop, plus: 1000)).isAlive, "it has ended")
    }

    @Test("The silence of every event loop is a metric")
    func metrics() {
        let health = RoleHealth()
        let eventLoop = EmbeddedEventLoop()
        health.watch(eventLoop, as: "harvester")
        let text = MetricsText.render(health.metrics(now: now(eventLoop, plus: 7)))
        #expect(text.contains("belfry_event_loop_silence_seconds{loop=\"harvester\"} 7\n"))
    }

    @Test("/livez tells every trouble, one a line")
    func text() {
        #expect(Liveness().text == "alive\n")
        #expect(Liveness(troubles: ["a", "b"]).text == "a\nb\n")
    }
}
