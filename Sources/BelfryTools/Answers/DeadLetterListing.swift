import BelfrySupport
import KafkaClient
import PushTopics

/// `belfry dead-letters list` and `show`. Block their thread.
public enum DeadLetterListing {
    /// Prints the letters that fit, partition by partition.
    ///
    /// - Parameters:
    ///   - limit: nil: all.
    ///   - output: takes lines with their ends; false: the reader is gone.
    public static func list(
        _ settings: KafkaSettings,
        _ filter: DeadLetterFilter,
        limit: Int?,
        asJSON: Bool,
        output: ([UInt8]) -> Bool = StandardStream.output.tryWrite
    ) throws(ToolError) {
        let log = try DeadLetterReader(settings)
        defer { log.close() }
        let names = TopicNames(settings)
        var remaining = limit ?? .max
        try log.readAll { letter in
            guard filter.admits(letter) else { return true }
            let line = DeadLetterLine(letter: letter, names: names)
            remaining -= 1
            return output(asJSON ? line.json.line : Array((line.text + "\n").utf8)) && remaining > 0
        }
    }

    /// A whole letter as one JSON object, without a line end.
    public static func whole(
        _ settings: KafkaSettings,
        partition: Int32,
        offset: Int64
    ) throws(ToolError) -> (json: String, reason: String) {
        let log = try DeadLetterReader(settings)
        defer { log.close() }
        let letter = try log.letter(partition: partition, offset: offset)
        return (DeadLetterLine(letter: letter, names: TopicNames(settings)).whole.text, letter.reason)
    }
}
