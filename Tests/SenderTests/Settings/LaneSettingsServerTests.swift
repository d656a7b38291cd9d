import NIOPosix
import PushTopics
import RequestLanes
import Testing

@testable import BelfrySupport
@testable import Sender

@Suite("Settings of a lane's shards")
struct LaneSettingsServerTests {
    private static func settings(_ change: (inout BelfryConfiguration) -> Void = { _ in }) -> ShardSettings {
        var configuration = BelfryConfiguration()
        change(&configuration)
        return ShardSettings(configuration, unixMilliseconds: { 0 }, randomBits: { 0 })
    }

    @Test("A lane has a Kafka topic and a group of its own; those of the normal lane are as before there were lanes")
    func names() {
        let base = Self.settings { $0.kafka.prefix = "a." }
        let all = RequestLane.allCases.map { base.serving($0, among: RequestLane.allCases) }
        #expect(all.map(\.names.requests) == ["a.push.requests.urgent", "a.push.requests", "a.push.requests.bulk"])
        #expect(all.map(\.group) == ["a.belfry-worker.urgent", "a.belfry-worker", "a.belfry-worker.bulk"])
        #expect(all.map(\.lane) == RequestLane.allCases)
        #expect(all.allSatisfy { $0.names.outcomes == "a.push.outcomes" })
        #expect(all.allSatisfy { $0.health === base.health && $0.connectionBudget === base.connectionBudget })
    }

    @Test("The memory of a shard is shared out among the lanes, before and after a change of it")
    func memory() {
        let base = Self.settings { $0.worker.shardMemoryBytes = 400 }
        func bytes(_ lanes: [RequestLane]) -> [Int] {
            lanes.map { base.serving($0, among: lanes).memory.limitBytes }
        }
        #expect(bytes(RequestLane.allCases) == [100, 200, 100])
        #expect(bytes([.normal]) == [400] && bytes([.urgent]) == [400])
        var changed = BelfryConfiguration()
        changed.worker.shardMemoryBytes = 800
        #expect(base.serving(.bulk, among: RequestLane.allCases).changed(to: changed).memory.limitBytes == 200)
        #expect(base.changed(to: changed).memory.limitBytes == 800)
    }

    @Test("The urgent lane is taken over after six seconds, unless the operator says when, and gives back in time")
    func session() {
        let urgent = Self.settings().serving(.urgent, among: RequestLane.allCases)
        #expect(urgent.configuration.kafka.consumerProperties(clientID: "c")["session.timeout.ms"] == "6000")
        #expect(urgent.commitPatience == .seconds(2) && urgent.revokeDeadline == .seconds(4))
        let bulk = Self.settings().serving(.bulk, among: RequestLane.allCases)
        #expect(bulk.configuration.kafka.consumerProperties(clientID: "c")["session.timeout.ms"] == nil)
        #expect(bulk.commitPatience == .seconds(15) && bulk.revokeDeadline == .seconds(10))
        let chosen = Self.settings { $0.kafka.properties = [.init(name: "session.timeout.ms", value: "30000")] }
        let own = chosen.serving(.urgent, among: [.urgent])
        #expect(own.configuration.kafka.consumerProperties(clientID: "c")["session.timeout.ms"] == "30000")
        #expect(own.revokeDeadline == .seconds(10))
    }

    @Test("The urgent lane alone keeps apps warm: those that are configured so, in order")
    func warm() {
        let base = Self.settings { configuration in
            for bundleID in ["b", "c", "a"] {
                configuration.apps[bundleID, default: .init()].urgentWarm = bundleID != "c"
            }
        }
        let all = RequestLane.allCases.map { base.serving($0, among: RequestLane.allCases).warmBundles }
        #expect(all == [["a", "b"], [], []])
    }

    @Test("The priority of a thread falls by the steps")
    func priority() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let (before, isLower, after) = try await group.next().submit {
            (ThreadPriority.niceness, ThreadPriority.lower(by: 3), ThreadPriority.niceness)
        }.get()
        try await group.shutdownGracefully()
        #expect(isLower && after == min(19, before + 3))
    }
}
