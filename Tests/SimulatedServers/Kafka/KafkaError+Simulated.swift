@testable import KafkaClient

extension KafkaError {
    /// An error as a broker or the client reports it.
    static func simulated(_ name: String, _ code: Int32) -> KafkaError {
        KafkaError(code: code, name: name, message: name, isRetriable: true, isFatal: false)
    }

    static let unknownTopic = simulated("UNKNOWN_TOPIC_OR_PART", 3)
    static let timedOut = simulated("_TIMED_OUT", -185)
    static let unknownMember = simulated("UNKNOWN_MEMBER_ID", 25)
    static let illegalGeneration = simulated("ILLEGAL_GENERATION", 22)
    static let rebalanceInProgress = simulated("REBALANCE_IN_PROGRESS", 27)
    static let fatal = simulated("_FATAL", -150)
    static let purged = simulated("_PURGE_INFLIGHT", -151)
    static let queueFull = simulated("_QUEUE_FULL", -184)
    static let alreadyClosed = simulated("_DESTROY", -197)
}
