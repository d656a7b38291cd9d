import BelfrySupport
import Foundation
import NIOEmbedded
import PipelineCore
import PushSchemas

@testable import KafkaClient
@testable import Sender
@testable import SimulatedServers

/// A shard with one partition and one lane. Its gateway never answers, so what it sends stays in the lane.
final class CoalescingBench {
    let eventLoop: EmbeddedEventLoop
    let group: SimulatedMember
    let producer = CollectingProducer()
    let reader = SimulatedTopic("push.requests", partitions: 8)
    let gateway: MemoryGateway
    let shard: WorkerShard
    private var nextOffset: Int64 = 0

    static let place = KafkaTopicPartition(topic: "push.requests", partition: 0)
    private static let bundleID = "com.example.news"

    init(
        on eventLoop: EmbeddedEventLoop = EmbeddedEventLoop(),
        redis: SimulatedRedis? = nil,
        _ change: (inout BelfryConfiguration) -> Void = { _ in }
    ) {
        self.eventLoop = eventLoop
        group = SimulatedMember(on: eventLoop, topic: "push.requests")
        var configuration = BelfryConfiguration()
        let place = HostPort(host: "nowhere", port: 1)
        configuration.environments = [EnvironmentSettings(name: "sandbox", gateways: [place])]
        configuration.worker.connectionsPerTopic = 1
        configuration.worker.parkAfter = .seconds(600)
        change(&configuration)
        gateway = MemoryGateway(eventLoop)
        gateway.isSilent = true
        shard = WorkerShard.scripted(
            group,
            configuration: configuration,
            producer: producer,
            redis: redis,
            gateways: gateway,
            reader: reader,
            on: eventLoop
        )
        group.committedOffset = 0
        shard.start()
        shard.assign([Self.place])
        eventLoop.run()
    }

    /// The next records of the partition, in one batch: each a token and a coalescing key.
    func bring(_ requests: (token: UInt8, key: String)...) throws {
        let records = try requests.map { request in
            defer { nextOffset += 1 }
            return try record(token: request.token, key: request.key, at: nextOffset)
        }
        reader.records += records
        group.batches.append(KafkaBatch(records))
    }

    /// A request to one token, of 32 times the same byte.
    private func record(token: UInt8, key: String, at offset: Int64) throws -> KafkaRecord {
        let value = PushSendRequest.with {
            $0.payload = Data(#"{"aps":{}}"#.utf8)
            $0.packedTokens = Data(repeating: token, count: 32)
            $0.coalescingKey = key
        }
        return KafkaRecord(
            topic: "push.requests",
            partition: 0,
            offset: offset,
            key: Array(Self.bundleID.utf8),
            value: try value.serializedBytes()
        )
    }

    func wait(milliseconds: Int64) { eventLoop.advanceTime(by: .milliseconds(milliseconds)) }

    /// The offsets, which are the records' numbers here, of what came to the lane, in order.
    var sent: [UInt32] {
        guard let lane = shard.stages.gateway.all.first?.binary.ownLanes.first else { return [] }
        return (lane.machine.log.head..<lane.machine.log.tail).map { lane.machine.log.entry(at: $0) }
            .filter { !$0.isDropped }
            .map(\.reference.record)
    }

    /// First bytes of the tokens whose notifications the gateway has accepted; none while it is silent.
    var accepted: [UInt8] { gateway.accepted(of: Self.bundleID) }

    /// Notifications that wait for newer ones of their coalescing key.
    var waiting: Int { shard.stages.coalescing.count }

    /// The topic's feed of the partition.
    var feed: AppFeed? { shard.stages.group.assigned[0]?.feeds.values.first }

    var superseded: Int { shard.stages.counters.outcomes[.superseded] }
}
