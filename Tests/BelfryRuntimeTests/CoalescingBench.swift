import APNsProtocol
import Foundation
import NIOEmbedded
import PipelineCore
import PushSchemas

@testable import BelfryRuntime
@testable import KafkaClient

/// A shard with one partition and one lane. Its gateway never answers, so what it sends stays in the lane.
final class CoalescingBench {
    /// A request to one token, of 32 times the same byte.
    struct Request {
        var token: UInt8
        var key: String
        /// Of a parked copy, the offset in the source.
        var offset: Int64 = 0
        var publishedAt: Int64?
    }

    let eventLoop: EmbeddedEventLoop
    let group = ScriptedGroup()
    let producer = SilentProducer()
    let reader = ScriptedReader()
    let shard: WorkerShard
    private var nextOffset: Int64
    private var nextCopy: Int64 = 0

    static let place = KafkaTopicPartition(topic: "push.requests", partition: 0)
    private static let bundleID = "com.example.news"
    private static let topicHash = ParkedLags.topicHash(environment: "sandbox", bundleID: bundleID)
    private static let writer = "before"

    /// - Parameter parked: how many copies an assignment before left; the source goes on at the same offset.
    init(
        on eventLoop: EmbeddedEventLoop = EmbeddedEventLoop(),
        redis: ScriptedRedis? = nil,
        parked: Int64 = 0,
        _ change: (inout BelfryConfiguration) -> Void = { _ in }
    ) {
        self.eventLoop = eventLoop
        var configuration = BelfryConfiguration()
        let gateway = HostPort(host: "nowhere", port: 1)
        configuration.environments = [EnvironmentSettings(name: "sandbox", gateways: [gateway])]
        configuration.worker.connectionsPerTopic = 1
        configuration.worker.parkAfter = .seconds(600)
        change(&configuration)
        shard = WorkerShard.scripted(
            group,
            configuration: configuration,
            producer: producer,
            redis: redis,
            gateways: SilentDoor(eventLoop),
            reader: reader,
            on: eventLoop
        )
        nextOffset = parked
        group.committedOffset = parked
        if parked > 0 {
            let place = KafkaTopicPartition(topic: "push.parked", partition: 0)
            var lags = ParkedLags()
            lags.lags = [.init(topic: Self.topicHash, cursor: 0)]
            lags.segments = ParkedSegments([.init(start: 0, source: 0, writer: Self.writer)])
            let metadata = lags.encoded(committedOffset: 0, limitBytes: 4096).text
            group.committedPositions[place] = KafkaPartitionOffset(place, offset: 0, metadata: metadata)
            group.end = parked
        }
        shard.start()
        shard.assign([Self.place])
    }

    /// Makes the topic's sender, as a first request does.
    ///
    /// - Parameter works: it is known to work, else to be probed.
    func makeSender(works: Bool) throws {
        let sender = try shard.addSender(Self.bundleID)
        if works { sender.breaker.accepted(1) }
    }

    /// The next records of the partition, in one batch: each a token and a coalescing key.
    func bring(_ requests: (token: UInt8, key: String)...) throws {
        let records = try requests.map { request in
            defer { nextOffset += 1 }
            return try record(Request(token: request.token, key: request.key), in: "push.requests", at: nextOffset)
        }
        group.batches.append(KafkaBatch(records))
    }

    /// The next copies of push.parked, in one batch.
    func bringBack(_ requests: Request...) throws {
        let records = try requests.map { request in
            defer { nextCopy += 1 }
            var record = try record(request, in: "push.parked", at: nextCopy)
            record.headers = [
                ("source-topic", "push.requests"), ("source-partition", "0"), ("source-offset", "\(request.offset)"),
                ("source-timestamp", "\(request.publishedAt ?? 0)"), ("environment", "sandbox"),
                ("parked-by", Self.writer),
            ].map { (name: $0.0, value: Array($0.1.utf8)) }
            return record
        }
        reader.batches.append(KafkaBatch(records))
    }

    private func record(_ request: Request, in topic: String, at offset: Int64) throws -> KafkaRecord {
        let value = PushSendRequest.with {
            $0.payload = Data(#"{"aps":{}}"#.utf8)
            $0.packedTokens = Data(repeating: request.token, count: 32)
            $0.coalescingKey = request.key
        }
        return KafkaRecord(
            topic: topic,
            partition: 0,
            offset: offset,
            key: Array(Self.bundleID.utf8),
            value: try value.serializedBytes()
        )
    }

    func wait(milliseconds: Int64) { eventLoop.advanceTime(by: .milliseconds(milliseconds)) }

    /// The offsets in the source, which are the records' numbers here, of what came to the lane, in order.
    var sent: [UInt32] { inLane.map(\.record) }

    /// The tokens' bytes of what came to the lane, in order.
    var sentTokens: [UInt8] {
        guard let lane = shard.senders.senders.first?.ownLanes.first else { return [] }
        return (lane.machine.log.head..<lane.machine.log.tail).filter { !lane.machine.log.entry(at: $0).isDropped }.map
        {
            NotificationFrame.command2Token(in: lane.machine.log.frame(at: $0)).first ?? 0
        }
    }

    /// What came to the lane: the offsets in their topic, and whether they came back from push.parked.
    var inLane: [(record: UInt32, returned: Bool)] {
        guard let lane = shard.senders.senders.first?.ownLanes.first else { return [] }
        return (lane.machine.log.head..<lane.machine.log.tail).map { lane.machine.log.entry(at: $0) }
            .filter { !$0.isDropped }
            .map { ($0.reference.record, shard.partitions[Int($0.reference.assignment)]?.lag != nil) }
    }

    var superseded: Int { shard.counters.outcomes.superseded }
}
