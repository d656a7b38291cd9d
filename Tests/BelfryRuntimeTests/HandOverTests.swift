import Foundation
import NIOEmbedded
import PushSchemas
import Testing

@testable import BelfryRuntime
@testable import KafkaClient

@Suite("What is handed over to push.parked")
struct HandOverTests {
    private func record(_ offset: Int64, tokens: Int) throws -> KafkaRecord {
        var request = PushSendRequest()
        request.payload = Data(#"{"aps":{}}"#.utf8)
        request.packedTokens = Data((0..<tokens).flatMap { [UInt8](repeating: UInt8($0), count: 32) })
        return KafkaRecord(
            topic: "push.requests",
            partition: 0,
            offset: offset,
            key: Array("com.example.news".utf8),
            value: try request.serializedBytes()
        )
    }

    @Test("goes in the order of its records, each in one copy, whichever connections its tokens wait for")
    func order() throws {
        var configuration = BelfryConfiguration()
        let gateway = HostPort(host: "nowhere", port: 1)
        configuration.environments = [EnvironmentSettings(name: "sandbox", gateways: [gateway])]
        configuration.worker.connectionsPerTopic = 2
        configuration.worker.parkAfter = .seconds(3)
        let eventLoop = EmbeddedEventLoop()
        let group = ScriptedGroup()
        let producer = SilentProducer()
        let shard = WorkerShard.scripted(
            group,
            configuration: configuration,
            producer: producer,
            gateways: SilentDoor(eventLoop),
            on: eventLoop
        )
        group.committedOffset = 0
        group.batches = [KafkaBatch(try (0..<4).map { try record($0, tokens: 9) })]
        shard.start()
        defer { shard.leave() }
        shard.assign([KafkaTopicPartition(topic: "push.requests", partition: 0)])
        eventLoop.advanceTime(by: .seconds(1))
        let lanes = try #require(shard.senders.senders.first).lanes
        #expect(lanes.count { $0.machine.waitingCount > 0 } == 2, "the tokens wait for both connections")
        #expect(producer.messages.isEmpty)
        eventLoop.advanceTime(by: .seconds(4))
        let copies = producer.messages.filter { $0.topic == "push.parked" }.map(\.headers)
        let offsets = copies.map { headers in headers.first { $0.0 == "source-offset" }?.1 }
        #expect(offsets == ["0", "1", "2", "3"].map { Array($0.utf8) })
        #expect(copies.allSatisfy { headers in !headers.contains { $0.0 == "token-indices" } })
    }
}
