import APNsProtocol
import BelfrySupport
import Foundation
import Logging
import NIOEmbedded
import PipelineCore
import PushSchemas
import PushTopics
import Testing

@testable import KafkaClient
@testable import Sender
@testable import SimulatedServers

/// An intake that takes in one request at a time.
final class IntakeBench {
    static let bundleID = "com.example.news"
    static let requests = "push.requests"

    let producer = CollectingProducer()
    private let intake: Intake
    private let topic: Topic
    private let feed: AppFeed
    private let partition: PartitionAssignment
    private var nextOffset: Int64 = 7
    private let memo = NotificationMemo()

    /// - Parameters:
    ///   - spread: of the bundle; nil: not configured.
    ///   - sensitiveData: of the bundle.
    init(
        _ transport: EnvironmentSettings.Transport = .http2,
        spread: UInt32? = nil,
        sensitiveData: SensitiveDataPolicy = .off
    ) {
        var configuration = BelfryConfiguration()
        configuration.apps[Self.bundleID, default: AppOverrides()].spread = spread
        configuration.apps[Self.bundleID]?.sensitiveData = sensitiveData
        configuration.environments = [EnvironmentSettings(name: "sandbox", gateways: [], transport: transport)]
        let settings = ShardSettings(configuration, unixMilliseconds: { 0 }, randomBits: { 35 })
        let feeds = FeedTable()
        partition = PartitionAssignment(
            place: KafkaTopicPartition(topic: Self.requests, partition: 3),
            doneBelow: 0,
            table: feeds,
            budget: ShardMemory(settings.memory)
        )
        topic = settings.makeTopic(0, environment: "sandbox", bundleID: Self.bundleID, filters: nil)
        feed = partition.feed(of: AppHash(value: 1), account: AppAccount(topic))
        let logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
        let outcomes = Outcomes(
            settings: settings,
            feeds: feeds,
            badges: BadgeReturns(
                tokens: nil,
                feeds: feeds,
                availability: RedisAvailability(),
                eventLoop: EmbeddedEventLoop(),
                logger: logger
            ),
            producer: producer,
            logger: logger,
            clock: { MonotonicTime(nanoseconds: 0) }
        )
        intake = Intake(
            outcomes: outcomes,
            lane: .normal,
            requestsTopic: Self.requests,
            remembersRequests: false,
            unixMilliseconds: { 0 }
        )
    }

    /// The batch that a request to token 1 makes; nil: it became a dead letter.
    func take(shard: UInt32? = nil, _ fill: (inout PushSendRequest) -> Void) throws -> PreparedBatch? {
        try withoutActuallyEscaping(fill) { try takeTogether(shard: shard, [$0]) }
    }

    /// The same for several requests of one consumed batch.
    func takeTogether(
        shard: UInt32? = nil,
        _ fills: [(inout PushSendRequest) -> Void]
    ) throws -> PreparedBatch? {
        let records = try fills.enumerated().map { index, fill in
            let request = PushSendRequest.with {
                $0.payload = Data(#"{"aps":{"alert":"Hi"}}"#.utf8)
                $0.packedTokens = Data(repeating: 1, count: 32)
                fill(&$0)
            }
            return KafkaRecord(
                topic: Self.requests,
                partition: 3,
                offset: nextOffset + Int64(index),
                key: Array(Self.bundleID.utf8),
                value: try request.serializedBytes()
            )
        }
        nextOffset += Int64(records.count)
        let batch = KafkaBatch(records)
        intake.begin(batch, now: MonotonicTime(nanoseconds: 1))
        for index in 0..<batch.count {
            let message = batch[index]
            intake.countSeen(message)
            let view = try SendRequestView(decoding: message.value, as: .protobuf, memo: memo)
            intake.addRequest(
                view,
                AdmittedRecord(message: message, index: index, feed: feed, topic: topic, shard: shard)
            )
        }
        return intake.end()
    }

    /// Memory of the records taken in and not done, by the ledger's measure.
    var ledgerBytes: Int { feed.ledger.frontier.bytes }

    /// The content of a request that is sent over HTTP/2.
    func content(_ fill: (inout PushSendRequest) -> Void) throws -> StreamContent {
        try #require(try take(fill), "\(letters)").streamContent()
    }

    /// Reason and detail of the dead letters.
    var letters: [String] {
        producer.records(of: "push.dead-letters").map {
            "\($0.header("reason") ?? ""): \($0.header("detail") ?? "")"
        }
    }
}

extension PreparedBatch {
    /// The content of the first notification, as it goes over HTTP/2.
    func streamContent(bundleID: String = IntakeBench.bundleID) throws -> StreamContent {
        StreamContent(content(of: 0, in: try #require(records.first)), bundleID: bundleID)
    }
}
