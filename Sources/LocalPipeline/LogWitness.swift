import KafkaClient

/// Follows logs that are read from their beginning to their end, and notices messages that a broker has lost after it
/// had acknowledged them. Pure.
///
/// The caller takes a complaint for the end of the run: what such a broker loses would be blamed on the pipeline.
package struct LogWitness: Sendable {
    /// The offset after the last one read, by place.
    package private(set) var seen: [KafkaTopicPartition: Int64]
    /// The last offset that the broker has told a producer, by place.
    private var acknowledged: [KafkaTopicPartition: Int64] = [:]

    /// - Parameter places: are read from their beginning.
    package init(_ places: [KafkaTopicPartition] = []) {
        seen = Dictionary(uniqueKeysWithValues: places.map { ($0, 0) })
    }

    /// The next message of a place was read.
    ///
    /// - Returns: nil: it follows the one before.
    package mutating func read(_ offset: Int64, of place: KafkaTopicPartition) -> String? {
        let expected = seen[place] ?? 0
        guard offset >= expected else { return Self.complaint(place, "goes on at \(offset)", "\(expected) were read") }
        seen[place] = offset + 1
        return offset == expected ? nil : "\(place): \(expected) is followed by \(offset)"
    }

    /// The broker has acknowledged a message of the only producer.
    ///
    /// - Parameter offset: negative: not known, which tells nothing.
    package mutating func acknowledged(_ offset: Int64, in place: KafkaTopicPartition) -> String? {
        guard offset >= 0 else { return nil }
        let last = acknowledged[place] ?? -1
        acknowledged[place] = offset
        return offset > last ? nil : Self.complaint(place, "goes on at \(offset)", "\(last) was acknowledged")
    }

    /// Checks an end that the broker tells against what was read before that.
    package static func check(
        end: Int64,
        of place: KafkaTopicPartition,
        against seen: [KafkaTopicPartition: Int64]
    ) -> String? {
        let read = seen[place] ?? 0
        return end >= read ? nil : complaint(place, "ends at \(end)", "\(read) were read")
    }

    private static func complaint(_ place: KafkaTopicPartition, _ found: String, _ before: String) -> String {
        "the log of \(place) \(found) after \(before): the broker has lost what it had acknowledged"
    }
}
