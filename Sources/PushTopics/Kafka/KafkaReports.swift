import BelfrySupport
import KafkaClient
import Logging

/// Takes what Kafka clients report outside of any call. All of it goes to the log; a client that failed permanently
/// ends the role.
///
/// Its handlers run on the client's thread.
package struct KafkaReports: Sendable {
    private let health: RoleHealth
    private let logger: Logger

    package init(health: RoleHealth, logger: Logger) {
        self.health = health
        self.logger = logger
    }

    /// - Parameter name: a constant that names the client.
    package func watch(_ consumer: KafkaConsumer, named name: String = "consumer") {
        consumer.onError = { takeError($0, of: name) }
        consumer.onLog = { logger.report($0, of: name) }
    }

    /// - Parameter name: a constant that names the client.
    package func watch(_ reader: KafkaReader, named name: String) {
        reader.onError = { takeError($0, of: name) }
        reader.onLog = { logger.report($0, of: name) }
    }

    /// A producer replaces an inner client that failed; it fails itself if that cannot be done.
    ///
    /// - Parameter name: a constant that names the client.
    package func watch(_ producer: KafkaProducer, named name: String = "producer") {
        producer.onError = { [unowned producer] error in
            if producer.isDefunct { fail(error, of: name) } else { logger.reportProducer(error, of: name) }
        }
        producer.onLog = { logger.report($0, of: name) }
    }

    private func takeError(_ error: KafkaError, of client: String) {
        if error.isFatal { fail(error, of: client) } else { logger.report(error, of: client) }
    }

    /// Ends the role: a client is of no more use.
    package func fail(_ error: KafkaError, of client: String) {
        logger.critical(
            "Kafka client failed permanently; the role ends",
            metadata: ["client": "\(client)", "error": "\(error)"]
        )
        health.fail("Kafka \(client) failed permanently: \(error)")
    }
}
