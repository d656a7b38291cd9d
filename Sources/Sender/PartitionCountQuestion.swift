import BelfrySupport
import KafkaClient
import Logging
import NIOCore
import NIOPosix
import PushTopics

/// The question for the number of partitions of a lane's Kafka topic, by a client of its own that is closed with the
/// answer.
struct PartitionCountQuestion: Sendable {
    private let settings: KafkaSettings
    private let topic: String
    private let logger: Logger

    private static let timeoutMilliseconds: Int32 = 5_000

    /// - Parameter names: those of a shard of the lane.
    init(_ settings: KafkaSettings, _ names: TopicNames, logger: Logger) {
        self.settings = settings
        topic = names.requests
        self.logger = logger
    }

    /// Asks on a thread that may block, and calls back on the event loop.
    func ask(on eventLoop: any EventLoop) -> KeyPlacement.Ask {
        { then in
            let answer = NIOThreadPool.singleton.runIfActive(eventLoop: eventLoop) { [self] in partitionCount() }
            answer.assumeIsolated().whenComplete { then(try? $0.get()) }
        }
    }

    private func partitionCount() -> Int32? {
        do {
            let properties = settings.adminProperties(clientID: "belfry-worker-check")
            let admin = try KafkaAdmin(properties: properties, named: "number of partitions", logger: logger)
            defer { admin.close() }
            return Int32(try admin.partitionCount(of: topic, timeoutMilliseconds: Self.timeoutMilliseconds))
        } catch {
            logger.info("number of partitions could not be read; trying again", metadata: ["error": "\(error)"])
            return nil
        }
    }
}
