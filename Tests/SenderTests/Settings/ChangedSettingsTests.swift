import BelfrySupport
import NIOEmbedded
import PipelineCore
import Testing

@testable import KafkaClient
@testable import PipelineTestSupport
@testable import Sender
@testable import SimulatedServers

/// A shard that is told other settings while it works.
@Suite("Settings that change while a shard runs")
struct ChangedSettingsTests {
    private typealias Bench = ShardBench

    /// Lets the shard use its configuration with changes.
    private func change(_ shard: WorkerShard, _ body: (inout BelfryConfiguration) -> Void) {
        var configuration = shard.settings.configuration
        body(&configuration)
        let changed = shard.settings.changed(to: configuration)
        changed.useShared(configuration.worker)
        shard.use(changed)
    }

    @Test("A topic that had used its credit up goes on when it gets more, without a new connection")
    func credit() throws {
        let bench = Bench { $0.worker.maxUncommitted = 2 }
        defer { bench.shard.leave() }
        bench.gateway.silent = [Bench.sport]
        bench.assign(0)
        for token in 1...6 as ClosedRange<UInt8> { try bench.bring((Bench.sport, [token])) }
        bench.wait(milliseconds: 1000)
        #expect(bench.shard.report().partitions.first?.uncommitted == 2)
        change(bench.shard) { $0.worker.maxUncommitted = 5 }
        bench.wait(milliseconds: 1000)
        #expect(bench.shard.report().partitions.first?.uncommitted == 5)
        change(bench.shard) { $0.worker.maxUncommitted = 1 }
        bench.wait(milliseconds: 1000)
        #expect(bench.shard.report().partitions.first?.uncommitted == 5, "nothing that was taken in is given up")
        #expect(bench.gateway.attempts == [Bench.sport])
    }

    @Test("A request waits for the coalescing window of the moment, and not at all once there is none")
    func window() throws {
        let bench = CoalescingBench()
        defer { bench.shard.leave() }
        bench.gateway.isSilent = false
        bench.group.cachedEnd = 0
        try bench.bring((1, "score"))
        bench.wait(milliseconds: 100)
        #expect(bench.accepted == [1], "there is no window")
        change(bench.shard) { $0.apps["com.example.news", default: .init()].coalescingWindow = .seconds(2) }
        try bench.bring((2, "score"), (3, "score"))
        bench.wait(milliseconds: 1900)
        #expect(bench.accepted == [1])
        bench.wait(milliseconds: 300)
        #expect(bench.accepted == [1, 2, 3])
        try bench.bring((4, "score"))
        bench.wait(milliseconds: 100)
        change(bench.shard) { $0.apps = [:] }
        bench.wait(milliseconds: 2000)
        #expect(bench.accepted == [1, 2, 3, 4] && bench.waiting == 0)
    }

    @Test("A window that is gone is not asked for in Redis any more: what waited for its end is sent")
    func windowGone() throws {
        let eventLoop = EmbeddedEventLoop()
        let redis = SimulatedRedis(on: eventLoop)
        let bench = CoalescingBench(on: eventLoop, redis: redis) { $0.worker.coalescingWindow = .seconds(2) }
        defer { bench.shard.leave() }
        bench.group.cachedEnd = 0
        redis.answerWindows(with: 2000)
        try bench.bring((1, "score"))
        bench.wait(milliseconds: 100)
        // The question about the end of the window is not answered, and asked again.
        redis.isAway = true
        bench.wait(milliseconds: 5000)
        #expect(bench.sent.isEmpty && bench.waiting == 1)
        change(bench.shard) { $0.worker.coalescingWindow = .zero }
        let asked = redis.windowQuestions
        bench.wait(milliseconds: 5000)
        #expect(bench.sent == [0] && bench.waiting == 0 && redis.windowQuestions == asked)
    }

    @Test("Known topics and new ones have the settings of the moment", arguments: [Bench.news, Bench.sport])
    func topics(bundleID: String) throws {
        let bench = Bench()
        defer { bench.shard.leave() }
        let known = try bench.shard.addTopic(Bench.news)
        change(bench.shard) { configuration in
            for bundleID in [Bench.news, Bench.sport] {
                configuration.apps[bundleID, default: .init()].spread = 4
                configuration.apps[bundleID]?.payloadLimitBytes = 300
                configuration.apps[bundleID]?.sensitiveData = .warn
                configuration.apps[bundleID]?.unknownFate = .presume
            }
        }
        let topic = try bench.shard.addTopic(bundleID)
        #expect((topic === known) == (bundleID == Bench.news), "a topic stays the one that it is")
        #expect(topic.payload == .limit(bytes: 300) && topic.sensitiveData == .warn)
        #expect(topic.tokenRule.spread == 4 && topic.limits.unknownFate == .presume)
    }

    @Test(
        "Connections that are there decide by the limits of the moment",
        arguments: [EnvironmentSettings.Transport.binary, .http2]
    )
    func lanes(over transport: EnvironmentSettings.Transport) throws {
        let bench = Bench(over: transport)
        defer { bench.shard.leave() }
        bench.assign(0)
        try bench.bring((Bench.news, [1]))
        bench.wait(milliseconds: 1000)
        change(bench.shard) { configuration in
            configuration.worker.unknownFate = .giveUp
            configuration.worker.retryFor = .seconds(7)
        }
        let lanes = try #require(bench.shard.stages.gateway.all.first)
        switch lanes.way {
        case .binary(let binary):
            #expect(binary.lanes.allSatisfy { $0.machine.limits.unknownFate == .giveUp })
            #expect(binary.lanes.allSatisfy { $0.machine.limits.retryFor == .seconds(7) })
        case .streams(let lane):
            #expect(lane.queue.limits.unknownFate == .giveUp && lane.queue.limits.retryFor == .seconds(7))
        }
    }

    @Test("Only the outcomes that the new setting names are published")
    func outcomes() throws {
        let bench = Bench()
        defer { bench.shard.leave() }
        bench.assign(0)
        try bench.bring((Bench.news, [1]))
        bench.wait(milliseconds: 1000)
        #expect(try bench.outcomes().count == 1)
        change(bench.shard) { $0.outcomes = .failures }
        try bench.bring((Bench.news, [2]))
        bench.wait(milliseconds: 1000)
        #expect(try bench.outcomes().count == 1 && bench.gateway.accepted(of: Bench.news) == [1, 2])
    }

    @Test("A topic stops when its notifications stand for the patience of the moment")
    func patience() throws {
        let bench = Bench()
        defer { bench.shard.leave() }
        bench.gateway.silent = [Bench.news]
        bench.assign(0)
        try bench.bring((Bench.news, [1]))
        bench.wait(milliseconds: 5000)
        #expect(bench.shard.report().topics.first?.reason == nil)
        change(bench.shard) { $0.worker.parkAfter = .seconds(6) }
        bench.wait(milliseconds: 2000)
        #expect(bench.shard.report().topics.first?.reason == "unreachable")
    }

    @Test("The room for records is that of the moment")
    func memory() throws {
        let bench = Bench()
        defer { bench.shard.leave() }
        bench.gateway.silent = [Bench.news]
        bench.assign(0)
        change(bench.shard) { $0.worker.topicMemoryBytes = 1 }
        for token in 1...5 as ClosedRange<UInt8> { try bench.bring((Bench.news, [token])) }
        bench.wait(milliseconds: 1000)
        #expect(bench.shard.report().partitions.first?.uncommitted == 1)
        change(bench.shard) { $0.worker.topicMemoryBytes = 1 << 20 }
        bench.wait(milliseconds: 1000)
        #expect(bench.shard.report().partitions.first?.uncommitted == 5)
    }

    @Test("Budget of connections and limits of health change for the whole process, for topics known and new")
    func shared() throws {
        let bench = Bench { $0.worker.connectionsPerMinute = 1 }
        defer { bench.shard.leave() }
        let settings = bench.shard.settings
        func connect() -> MonotonicTime? {
            settings.connectionBudget.takeConnection(
                topic: 1,
                lane: .normal,
                purpose: .reconnect,
                now: .init(nanoseconds: 0)
            )
        }
        #expect(connect() == nil && connect() != nil)
        let known = settings.health.health(environment: "sandbox", bundleID: Bench.news)
        change(bench.shard) { configuration in
            configuration.worker.connectionsPerMinute = 600
            configuration.worker.invalidTokenSample = 1
        }
        #expect(connect() == nil, "other shards have the same budget")
        for health in [known, settings.health.health(environment: "sandbox", bundleID: Bench.sport)] {
            _ = health.change { $0.tokenRefused(shard: 0, now: .init(nanoseconds: 0), random: 0) }
            #expect(health.state.reason == .tokensDoubted)
        }
    }

    @Test("A stopped shard takes no settings, and one that drains ends as it began to")
    func stopping() throws {
        let bench = Bench()
        _ = bench.shard.drain()
        change(bench.shard) { $0.worker.stopTimeout = .seconds(1) }
        bench.shard.leave()
        let before = bench.shard.settings.stopTimeout
        change(bench.shard) { $0.worker.stopTimeout = .seconds(2) }
        #expect(bench.shard.settings.stopTimeout == before)
    }
}
