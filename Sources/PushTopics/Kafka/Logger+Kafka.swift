import KafkaClient
import Logging

extension Logger {
    /// Logs an error that a Kafka client reports outside of any call. The client recovers by itself unless the error is
    /// fatal.
    ///
    /// - Parameter client: a constant that names the client.
    package func report(_ error: KafkaError, of client: String) {
        log(
            level: error.isFatal ? .critical : .warning,
            error.isFatal ? "the Kafka client is of no use any more; the role must be started again" : "Kafka client",
            metadata: ["client": "\(client)", "error": "\(error)"]
        )
    }

    /// Like ``report(_:of:)``, for a producer, which replaces a failed client by itself.
    package func reportProducer(_ error: KafkaError) {
        guard error.isFatal else { return report(error, of: "producer") }
        log(
            level: .error,
            "the Kafka producer was replaced; what it had not delivered is published again",
            metadata: ["error": "\(error)"]
        )
    }
}
