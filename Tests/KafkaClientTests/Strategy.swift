import KafkaClient
import Testing

/// The way a group moves partitions.
enum Strategy: String, CustomTestStringConvertible {
    case eager
    case cooperative

    var properties: KafkaProperties {
        ["partition.assignment.strategy": self == .eager ? "range" : "cooperative-sticky"]
    }

    var testDescription: String { rawValue }
}
