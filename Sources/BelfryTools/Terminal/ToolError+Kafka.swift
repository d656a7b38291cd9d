import BelfrySupport
import KafkaClient

extension ToolError {
    init(_ error: KafkaError) {
        self = error.isConfiguration ? .configuration("\(error)") : .kafka("\(error)")
    }

    /// The error of a command that asks for a Kafka topic of the contract: one that is missing can be made.
    init(asking error: KafkaError) {
        guard error.isUnknownTopicOrPartition else {
            self.init(error)
            return
        }
        self = .kafka("\(error); belfry topics create makes it")
    }
}
