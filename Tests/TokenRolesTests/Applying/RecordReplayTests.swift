import BelfrySupport
import Foundation
import KafkaClient
import PushSchemas
import PushTopics
import RedisClient
import TestSupport
import Testing

@testable import PipelineTestSupport
@testable import TokenRoles
@testable import TokenState

/// Replay of records after the servers have lost what they acknowledged.
@Suite(.serialized) struct RecordReplayTests {
    @Test("A server that comes back empty is given what was applied lately, without a request")
    func emptyRestart() async throws {
        try await withBroker { broker in
            try fill(broker, ["a", "b", "c"])
            let server = try RedisServerProcess()
            let probe = try await ApplierProbe(broker: broker.bootstrapServers, replayPorts: [server.port])
            await probe.commit()
            #expect(try await probe.committed == 3)
            server.kill()
            let next = try RedisServerProcess(port: server.port)
            try await probe.applied(6)
            #expect(try await count([next.port]) == 3)
            try await probe.beginStop().get()
        }
    }

    @Test("Records applied longer ago than the window are not applied again")
    func window() async throws {
        try await withBroker { broker in
            let clock = ApplierProbe.Clock()
            let server = try RedisServerProcess()
            let probe = try await ApplierProbe(
                broker: broker.bootstrapServers,
                replayPorts: [server.port],
                clock: clock
            )
            try fill(broker, ["a", "b", "c"])
            try await probe.applied(3)
            // Of ten minutes' window each of these gaps counts as a 64th.
            for step in 1...70 {
                clock.set(seconds: UInt64(step) * 10)
                try fill(broker, ["\(step)"])
                try await probe.applied(3 + step)
            }
            server.kill()
            let next = try RedisServerProcess(port: server.port)
            try await probe.applied(73 + 65)
            #expect(try await count([next.port]) == 65)
            try await probe.beginStop().get()
        }
    }

    @Test("A server that does not tell its replication ID is written to all the same, and warned of")
    func silent() async throws {
        try await withBroker { broker in
            let server = try RedisServerProcess(arguments: ["--rename-command", "INFO", "hidden"])
            let probe = try await ApplierProbe(broker: broker.bootstrapServers, replayPorts: [server.port])
            try fill(broker, ["a", "b"])
            try await probe.applied(2)
            await probe.complaints("Redis does not tell its replication ID: after a fail-over nothing is applied again")
            #expect(try await count([server.port]) == 2)
            try await probe.beginStop().get()
        }
    }

    @Test(
        "A role that restarts in that moment does not hide it; one that finds the same servers goes on where it was"
    )
    func roleRestart() async throws {
        try await withBroker { broker in
            try fill(broker, ["a", "b", "c"])
            let server = try RedisServerProcess()
            let first = try await ApplierProbe(broker: broker.bootstrapServers, replayPorts: [server.port])
            await first.commit()
            try await first.beginStop().get()

            let second = try await ApplierProbe(broker: broker.bootstrapServers, replayPorts: [server.port])
            try fill(broker, ["d"])
            await second.commit()
            #expect(try await second.counters.applied == 1)
            try await second.beginStop().get()

            server.kill()
            let next = try RedisServerProcess(port: server.port)
            let third = try await ApplierProbe(broker: broker.bootstrapServers, replayPorts: [next.port])
            try await third.applied(4)
            #expect(try await count([next.port]) == 4)
            try await third.beginStop().get()
        }
    }

    @Test("A replica that missed writes and is promoted all the same has them again")
    func promotedReplica() async throws {
        try await withBroker { broker in
            let cluster = try RedisClusterProcess()
            let ports = cluster.servers.map(\.port)
            try cluster.cutReplicas()
            let probe = try await ApplierProbe(broker: broker.bootstrapServers, replayPorts: ports)
            try fill(broker, (0..<60).map { "token-\($0)" })
            await probe.commit()
            #expect(try await probe.committed == 60)
            #expect(try await count(ports) == 60)
            cluster.failOver()
            try await probe.applied(120)
            #expect(try await count(Array(ports.dropFirst())) == 60)
            try await probe.beginStop().get()
        }
    }

    @Test("A server that comes back empty is told again of tokens called invalid, but for those forgotten since")
    func tombstones() async throws {
        try await withBroker { broker in
            let (dead, other, forgotten) = (Array("dead".utf8), Array("other".utf8), Array("forgotten".utf8))
            let key = { TombstonePublisher.key(bundleID: TokenStore.bundleID, token: $0) }
            func publish(_ token: [UInt8], _ reason: PushTombstoneReason) throws {
                let tombstone = PushTombstone.with {
                    $0.token = Data(token)
                    $0.bundleID = TokenStore.bundleID
                    $0.environment = TokenStore.environment
                    $0.tombstonedAt = 7
                    $0.reason = reason
                }
                try broker.publishBatch(to: TopicNames().tombstones, [(key(token), try tombstone.serializedBytes())])
            }
            let server = try RedisServerProcess()
            let probe = try await ApplierProbe(
                broker: broker.bootstrapServers,
                replayPorts: [server.port],
                keeper: TombstoneDecoder(environments: [TokenStore.environment])
            )
            // A batch of which nothing is to be applied is committed, too.
            try publish(other, .feedback)
            await probe.commit()
            try publish(dead, .invalid)
            try publish(forgotten, .invalid)
            try broker.publishBatch(to: TopicNames().tombstones, [(key(forgotten), nil)])
            try await probe.applied(3)
            #expect(try await probe.counters.tombstones == 0)
            server.kill()

            let next = try RedisServerProcess(port: server.port)
            try await probe.applied(6)
            let store = try await TokenStore(port: next.port)
            let records = try await store.records([dead, other, forgotten])
            #expect(records.map { $0?.reason } == [.invalid, nil, nil])
            #expect(records[0]?.tombstonedAt == 7)
            #expect(try await probe.counters == .init(applied: 6))
            try await store.close()
            try await probe.beginStop().get()
        }
    }

    /// The tokens that the servers know.
    private func count(_ ports: [Int]) async throws -> Int {
        // The inspector reads where they lie; no role has written it here.
        let store = try await ports.count == 1 ? TokenStore(port: ports[0]) : TokenStore(ports: ports)
        try await store.close()
        var settings = RedisSettings()
        settings.endpoints = ports.map { RedisEndpoint(host: "127.0.0.1", port: $0) }
        let inspector = try TokenInspector(settings)
        defer { inspector.close() }
        return try inspector.count().registered
    }

    private func withBroker(_ body: (EmbeddedBroker) async throws -> Void) async throws {
        let topics = [ApplierProbe.source, ApplierProbe.deadLetters, TopicNames().tombstones]
        let broker = try EmbeddedBroker(topics: topics.map { (name: $0, partitions: 1) })
        defer { broker.close() }
        try await body(broker)
    }

    private func fill(_ broker: EmbeddedBroker, _ values: [String]) throws {
        try broker.publishBatch(to: ApplierProbe.source, values.map { (Array("key".utf8), Array($0.utf8)) })
    }
}
