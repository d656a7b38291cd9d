import BelfrySupport
import Foundation
import KafkaClient
import Logging
import NIOCore
import PipelineCore
import PushTopics
import RedisClient

/// The reading half of the harvester: every topic's feedback list, each on its schedule and under its lease.
///
/// Runs on `eventLoop`.
final class FeedbackHarvest {
    let lists: [ListHarvest]
    private let eventLoop: any EventLoop
    private let publisher: FeedbackPublisher

    /// From the start to the reading of the first list, and from one list to the next: hundreds of topics must not
    /// connect at once.
    private static let firstDelay = Duration.milliseconds(200)
    private static let spread = Duration.milliseconds(50)

    init(
        eventLoop: any EventLoop,
        sources: [FeedbackConnection.Source],
        producer: KafkaProducer,
        redis: any RedisPipeline,
        broker: any BrokerCheck,
        settings: HarvesterSettings,
        logger: Logger
    ) {
        self.eventLoop = eventLoop
        let publisher = FeedbackPublisher(eventLoop: eventLoop, producer: producer, logger: logger)
        self.publisher = publisher
        let owner = UUID().uuidString
        lists = sources.enumerated().map { number, source in
            ListHarvest(
                source: source,
                settings: .init(
                    interval: settings.interval,
                    lease: settings.lease,
                    connectTimeout: settings.connectTimeout
                ),
                delay: Self.firstDelay + Self.spread * number,
                eventLoop: eventLoop,
                broker: broker,
                lease: RedisFeedbackLease(source, duration: settings.lease, owner: owner, redis: redis),
                logger: logger
            ) { [unowned publisher] tuples, acknowledged in
                publisher.publish(
                    tuples,
                    of: source,
                    harvestedAt: Int64(Date().timeIntervalSince1970),
                    acknowledged: acknowledged
                )
            }
        }
    }

    func start() {
        for list in lists { list.start() }
    }

    /// Tuples that were to be published again since the start.
    var retries: Int { publisher.retries }

    /// Lets readings under way go on for a while; succeeds when everything that was read is acknowledged.
    func stop() -> EventLoopFuture<Void> {
        .andAllSucceed(lists.map { $0.stop() }, on: eventLoop)
    }

    /// The broker's word on a tuple.
    func delivered(_ number: UInt64, error: KafkaError?) {
        publisher.delivered(number, error: error)
    }
}
