import KafkaClient
import Logging

extension Logger {
    /// Trouble that a Kafka client reports outside of any call. What is not fatal it goes on to mend by itself.
    ///
    /// - Parameter client: a constant that says which.
    func report(_ error: KafkaError, of client: String) {
        log(
            level: error.isFatal ? .critical : .warning,
            error.isFatal ? "the Kafka client is of no use any more; the role must be started again" : "Kafka client",
            metadata: ["client": "\(client)", "error": "\(error)"]
        )
    }

    /// As ``report(_:of:)``, of a producer, which replaces what is of no use any more.
    func reportProducer(_ error: KafkaError) {
        guard error.isFatal else { return report(error, of: "producer") }
        log(
            level: .error,
            "the Kafka producer was replaced; what it had not delivered is published again",
            metadata: ["error": "\(error)"]
        )
    }
}
