import BelfrySupport
import KafkaClient
import PushTopics

/// Reads push.dead-letters up to the end that it has at the beginning. Blocks its thread: for commands, not for roles.
final class DeadLetterReader {
    private let log: TopicLog

    /// - Parameters:
    ///   - topic: nil: that of the installation.
    ///   - patience: with brokers that go away while letters are read.
    ///   - tell: takes a line for standard error.
    /// - Throws: the brokers cannot be reached, or have no such topic.
    init(
        _ settings: KafkaSettings,
        topic: String? = nil,
        patience: LogPatience = LogPatience(),
        tell: @escaping (_ text: String) -> Void = Diagnostics.tell
    ) throws(ToolError) {
        log = try TopicLog(
            settings,
            topic: topic ?? TopicNames(settings).deadLetters,
            clientID: "belfry-dead-letters",
            patience: patience,
            tell: tell
        )
    }

    func close() { log.close() }

    /// Reads one letter.
    ///
    /// - Throws: there is none.
    func letter(partition: Int32, offset: Int64) throws(ToolError) -> StoredDeadLetter {
        let place = KafkaTopicPartition(topic: log.topic, partition: partition)
        guard log.places.contains(place) else {
            throw .notFound("\(place): \(log.topic) has \(counted(log.places.count, "partition"))")
        }
        var found: StoredDeadLetter?
        try log.read([place], from: [partition: offset]) { message in
            found = StoredDeadLetter(message)
            return false
        }
        guard let found, found.offset == offset else { throw .notFound("\(place)@\(offset): nothing stands there") }
        return found
    }

    /// Reads all partitions.
    ///
    /// - Parameters:
    ///   - starts: offsets to begin at; a partition without one begins at its beginning.
    ///   - take: false: nothing more is read.
    func readAll(
        from starts: [Int32: Int64] = [:],
        _ take: (StoredDeadLetter) throws(ToolError) -> Bool
    ) throws(ToolError) {
        try log.read(log.places, from: starts) { message throws(ToolError) in try take(StoredDeadLetter(message)) }
    }
}
