import BelfrySupport
import Foundation
import KafkaClient
import Logging
import NIOCore
import PipelineCore
import PushTopics
import RedisClient
import TokenState

/// The reading half of the harvester: every topic's feedback list, each on its schedule and under its lease.
///
/// Runs on `eventLoop`.
final class FeedbackHarvest {
    /// In the order in which they were found; none goes.
    private(set) var lists: [ListHarvest] = []
    private let eventLoop: any EventLoop
    private let publisher: FeedbackPublisher
    private let sources: FeedbackSources
    private let makeList: (_ source: FeedbackConnection.Source, _ interval: Duration, _ delay: Duration) -> ListHarvest
    private let logger: Logger
    /// The generation of the sources whose lists are known.
    private var known: UInt64?
    private var looking: RepeatingTimer?
    private var isStopping = false

    /// From one reading of a list to the next.
    private var readingInterval: Duration

    /// From the start to the reading of the first list, and from one list to the next: hundreds of topics must not
    /// connect at once.
    private static let firstDelay = Duration.milliseconds(200)
    private static let spread = Duration.milliseconds(50)
    /// From one look for new lists to the next.
    private static let interval = TimeAmount.seconds(1)

    init(
        eventLoop: any EventLoop,
        sources: FeedbackSources,
        producer: any MessageProducer,
        redis: any RedisPipeline,
        clock: ClockCheck? = nil,
        broker: any BrokerCheck,
        topic: String,
        settings: HarvesterSettings,
        logger: Logger
    ) {
        self.eventLoop = eventLoop
        self.sources = sources
        readingInterval = settings.interval
        self.logger = logger
        let publisher = FeedbackPublisher(eventLoop: eventLoop, producer: producer, topic: topic, logger: logger)
        self.publisher = publisher
        let owner = UUID().uuidString
        makeList = { source, interval, delay in
            ListHarvest(
                source: source,
                settings: .init(
                    interval: interval,
                    lease: settings.lease,
                    connectTimeout: settings.connectTimeout
                ),
                delay: delay,
                eventLoop: eventLoop,
                broker: broker,
                lease: RedisFeedbackLease(source, duration: settings.lease, owner: owner, redis: redis, clock),
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
        startLists()
        looking = eventLoop.repeating(after: Self.interval, every: Self.interval) { [unowned self] in startLists() }
    }

    /// Counts another time from one reading of a list to the next.
    func use(interval: Duration) {
        readingInterval = interval
        for (number, list) in lists.enumerated() { list.use(interval: interval, delay: Self.spread * number) }
    }

    /// Starts the lists that are not read yet.
    private func startLists() {
        let generation = sources.generation
        guard generation != known, !isStopping else { return }
        let isFirst = known == nil
        known = generation
        let held = Set(lists.map(\.name))
        let added = sources.lists().filter { !held.contains($0.name) }.enumerated().map { number, source in
            makeList(source, readingInterval, Self.firstDelay + Self.spread * number)
        }
        lists += added
        for list in added { list.start() }
        guard !isFirst, !added.isEmpty else { return }
        let bundleIDs = added.map(\.source.bundleID).joined(separator: ",")
        logger.notice("further feedback lists to read", metadata: ["apps": "\(bundleIDs)"])
    }

    /// Tuples that were to be published again since the start.
    var retries: Int { publisher.retries }

    /// Lets readings under way go on for a while; succeeds when everything that was read is acknowledged.
    func stop() -> EventLoopFuture<Void> {
        isStopping = true
        looking?.cancel()
        return .andAllSucceed(lists.map { $0.stop() }, on: eventLoop)
    }

    /// Ends at once what ``stop()`` has left: tuples that were not acknowledged are given up.
    func close() {
        isStopping = true
        looking?.cancel()
        publisher.close()
        for list in lists { list.close() }
    }

    /// The broker's word on a tuple.
    func delivered(_ number: UInt64, error: KafkaError?) {
        publisher.delivered(number, error: error)
    }
}

extension ListHarvest {
    fileprivate var name: [String] { source.name }
}

extension FeedbackConnection.Source {
    /// Differs from those of all other lists.
    fileprivate var name: [String] { [environment, bundleID] }
}
