import BelfrySupport
import KafkaClient
import Logging
import NIOPosix

/// Checks at a role's start that the records of topics have the broker's time, where that time is a witness.
///
/// A registration that is dated later than its record is refused. With the producer's time (`CreateTime`, Kafka's
/// default) a clock that is ahead is its own witness: the registration would win over every death until then. The check
/// warns, and refuses nothing.
package struct RecordTimeCheck: Sendable {
    private let topics: [String]
    private let settings: KafkaSettings
    private let logger: Logger

    private static let timeoutMilliseconds: Int32 = 5_000

    package init(_ topics: [String], _ settings: KafkaSettings, logger: Logger) {
        self.topics = topics
        self.settings = settings
        self.logger = logger
    }

    /// Asks the broker, on a thread that may block.
    package func run() async {
        // The pool refuses work only when the process ends.
        try? await NIOThreadPool.singleton.runIfActive { check() }
    }

    private func check() {
        do throws(KafkaError) {
            let admin = try KafkaAdmin(properties: settings.adminProperties(clientID: "belfry-time-check"))
            defer { admin.close() }
            for topic in topics {
                let found = try admin.topicSettings(of: topic, timeoutMilliseconds: Self.timeoutMilliseconds)
                guard let remedy = Self.remedy(for: topic, found, brokers: settings.brokers) else { continue }
                logger.warning(
                    "records have the time of their producers, which may be wrong",
                    metadata: ["topic": "\(topic)", "remedy": "\(remedy)"]
                )
            }
        } catch {
            // The embedded broker does not support the request; others may not allow it.
            logger.info("topic settings could not be read", metadata: ["error": "\(error)"])
        }
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
