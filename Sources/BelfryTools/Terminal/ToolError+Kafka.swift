import BelfrySupport
import KafkaClient

extension ToolError {
    init(_ error: KafkaError) {
        self = error.isConfiguration ? .configuration("\(error)") : .kafka("\(error)")
    }
}
