import BelfrySupport
import KafkaClient
import Logging
import NIOPosix
import PipelineCore

/// Checks at a role's start that the records of topics have the broker's time, where that time is a witness.
///
/// A registration that is dated later than its record is refused. With the producer's time (`CreateTime`, Kafka's
/// default) a clock that is ahead is its own witness, and only the registrar's clock is left as another. The check
/// warns, and refuses nothing.
package struct RecordTimeCheck: Sendable {
    private let topics: [String]
    private let settings: KafkaSettings
    private let logger: Logger
    private let ask: Ask
    private let pause: @Sendable (Duration) async throws -> Void

    /// Asks for the settings of a topic, with so much patience.
    typealias Ask = @Sendable (_ topic: String, _ timeoutMilliseconds: Int32) async throws -> [String: String]

    private static let backoff = Backoff(base: .seconds(1), cap: .seconds(60), floor: .milliseconds(500))

    package init(_ topics: [String], _ settings: KafkaSettings, logger: Logger) {
        self.init(
            topics,
            settings,
            logger: logger,
            ask: { topic, timeoutMilliseconds in
                // On a thread that may block.
                try await NIOThreadPool.singleton.runIfActive {
                    let properties = settings.adminProperties(clientID: "belfry-time-check")
                    let admin = try KafkaAdmin(properties: properties, named: "check of record times", logger: logger)
                    defer { admin.close() }
                    return try admin.topicSettings(of: topic, timeoutMilliseconds: timeoutMilliseconds)
                }
            },
            pause: { try await Task.sleep(for: $0) }
        )
    }

    /// - Parameter pause: waits before the next question; throws to end the check.
    init(
        _ topics: [String],
        _ settings: KafkaSettings,
        logger: Logger,
        ask: @escaping Ask,
        pause: @escaping @Sendable (Duration) async throws -> Void
    ) {
        self.topics = topics
        self.settings = settings
        self.logger = logger
        self.ask = ask
        self.pause = pause
    }

    /// Asks the broker for each topic's settings until it has answered, or will not tell those of this topic. Ends
    /// early when its task is cancelled.
    package func run() async {
        var open = topics[...]
        var failures = 0
        while let topic = open.first, !Task.isCancelled {
            do {
                let timeout = KafkaReadiness.timeoutMilliseconds(failures: failures)
                warn(of: topic, try await ask(topic, timeout))
            } catch let error as KafkaError where error.isRetriable {
                failures += 1
                let message: Logger.Message = "topic settings could not be read; asking again"
                if failures == 1 { logger.info(message, metadata: ["topic": "\(topic)", "error": "\(error)"]) }
                let delay = Self.backoff.delay(failures: failures, random: .random(in: .min ... .max))
                guard (try? await pause(delay)) != nil else { return }
                continue
            } catch {
                // The embedded broker does not support the request; others may not allow it, for this topic at least.
                let message: Logger.Message = "topic settings could not be read"
                logger.info(message, metadata: ["topic": "\(topic)", "error": "\(error)"])
            }
            open.removeFirst()
            failures = 0
        }
    }

    private func warn(of topic: String, _ found: [String: String]) {
        guard let remedy = Self.remedy(for: topic, found, brokers: settings.brokers) else { return }
        logger.warning(
            "records have the time of their producers, which may be wrong",
            metadata: ["topic": "\(topic)", "remedy": "\(remedy)"]
        )
    }

    /// The command that gives a topic's records the broker's time; nil: they have it, or the broker does not tell.
    ///
    /// - Parameter settings: the settings of the Kafka topic.
    static func remedy(for topic: String, _ settings: [String: String], brokers: String) -> String? {
        let wanted = TopicLayout.brokerTime
        guard let found = settings[wanted.name], found != wanted.value else { return nil }
        return "kafka-configs.sh --bootstrap-server \(brokers) --alter --entity-type topics --entity-name \(topic) "
            + "--add-config \(wanted.name)=\(wanted.value)"
    }
}
