import BelfrySupport
import KafkaClient
import Logging

extension KafkaAdmin {
    /// A client for one question of a role, which hands the lines of its log on.
    ///
    /// - Parameter name: a constant that names the client in the role's log.
    /// - Throws: `KafkaError`, with `isConfiguration` for a wrong property.
    package convenience init(
        properties: KafkaProperties,
        named name: String,
        logger: Logger
    ) throws(KafkaError) {
        try self.init(properties: properties)
        onLog = { logger.report($0, of: name) }
    }
}
