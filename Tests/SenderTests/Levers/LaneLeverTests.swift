import BelfrySupport
import NIOEmbedded
import PipelineCore
import RequestLanes
import Testing

@testable import PipelineTestSupport
@testable import Sender
@testable import SimulatedServers

/// A shard under levers that name lanes.
@Suite("Levers of lanes in a shard")
struct LaneLeverTests {
    private static let name = AppControls.Name(environment: "sandbox", bundleID: ShardBench.news)

    @Test("A shard minds the levers of its own lane, and those that name none")
    func ownLane() throws {
        // Of the normal lane.
        let bench = ShardBench()
        defer { bench.shard.leave() }
        var controls = AppControls()
        for lane in RequestLane.allCases where lane != .normal { controls.set(.pause, of: Self.name, in: lane, .pause) }
        bench.shard.use(controls)
        bench.assign(0)
        try bench.bring((ShardBench.news, [1]))
        bench.wait(milliseconds: 2000)
        #expect(bench.gateway.accepted(of: ShardBench.news) == [1])
        controls.set(.pause, of: Self.name, in: .normal, .pause)
        bench.shard.use(controls)
        try bench.bring((ShardBench.news, [2]))
        bench.wait(milliseconds: 2000)
        #expect(bench.gateway.accepted(of: ShardBench.news) == [1])
        let report = try #require(bench.shard.report().topics.first { $0.bundleID == ShardBench.news })
        #expect(report.control == AppControl(isPaused: true))
        // Either holds.
        controls.set(.pause, of: Self.name, .pause)
        controls.set(.pause, of: Self.name, in: .normal, nil)
        bench.shard.use(controls)
        bench.wait(milliseconds: 2000)
        #expect(bench.gateway.accepted(of: ShardBench.news) == [1])
        controls.set(.pause, of: Self.name, nil)
        bench.shard.use(controls)
        bench.wait(milliseconds: 5000)
        #expect(bench.gateway.accepted(of: ShardBench.news) == [1, 2])
    }

    @Test("A shard reports its lane and the levers of every lane of a topic", arguments: RequestLane.allCases)
    func reported(by lane: RequestLane) throws {
        let eventLoop = EmbeddedEventLoop()
        var configuration = BelfryConfiguration()
        configuration.environments = [EnvironmentSettings(name: Self.name.environment, gateways: [])]
        let group = SimulatedMember(on: eventLoop, topic: "push.requests\(lane.suffix)")
        let shard = WorkerShard.scripted(group, configuration: configuration, lane: lane, on: eventLoop)
        shard.start()
        defer { shard.leave() }
        var controls = AppControls()
        controls.set(.pause, of: Self.name, in: .bulk, .pause)
        controls.set(.pace, of: Self.name, in: .urgent, .pace(notificationsPerSecond: 5))
        shard.use(controls)
        for name in [ShardBench.news, ShardBench.sport] { try shard.addTopic(name) }
        let topics = shard.report().topics
        #expect(topics.map(\.bundleID) == [ShardBench.news, ShardBench.sport])
        #expect(topics.map(\.lane) == [lane, lane])
        let levers = [
            RequestLane.urgent: AppControl(notificationsPerSecond: 5), .bulk: AppControl(isPaused: true),
        ]
        #expect(topics.map(\.levers) == [levers, [:]])
        #expect(topics.map(\.control) == [levers[lane] ?? AppControl(), AppControl()])
        shard.use(AppControls())
        #expect(shard.report().topics.allSatisfy { $0.levers.isEmpty })
    }

    @Test("The levers that hold in a shard are those of its lane", arguments: RequestLane.allCases)
    func shardControls(of lane: RequestLane) {
        var levers = AppControls()
        levers.set(.pace, of: Self.name, .pace(notificationsPerSecond: 5))
        let controls = ShardControls(levers, in: lane)
        #expect(controls[Self.name].notificationsPerSecond == (lane == .urgent ? nil : 5))
        levers.set(.pace, of: Self.name, in: lane, .pace(notificationsPerSecond: 7))
        controls.use(levers)
        #expect(controls[Self.name].notificationsPerSecond == 7)
    }
}
