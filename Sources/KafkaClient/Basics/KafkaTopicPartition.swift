/// A partition of a topic.
public struct KafkaTopicPartition: Hashable, Sendable, Comparable, CustomStringConvertible {
    public var topic: String
    public var partition: Int32

    public init(topic: String, partition: Int32) {
        self.topic = topic
        self.partition = partition
    }

    public var description: String { "\(topic)[\(partition)]" }

    public static func < (left: Self, right: Self) -> Bool {
        (left.topic, left.partition) < (right.topic, right.partition)
    }
}

/// A position in a partition: to start at, to commit, or committed.
public struct KafkaPartitionOffset: Hashable, Sendable, CustomStringConvertible {
    public var topic: String
    public var partition: Int32
    /// The offset of the next message to consume; the first one is 0. Or one of ``KafkaOffset``.
    public var offset: Int64
    /// Text stored with a commit and returned with the committed position. Brokers allow 4,096 bytes unless set
    /// otherwise (`offset.metadata.max.bytes`).
    public var metadata: String

    public init(topic: String, partition: Int32, offset: Int64, metadata: String = "") {
        self.topic = topic
        self.partition = partition
        self.offset = offset
        self.metadata = metadata
    }

    public init(_ place: KafkaTopicPartition, offset: Int64, metadata: String = "") {
        self.init(topic: place.topic, partition: place.partition, offset: offset, metadata: metadata)
    }

    public var place: KafkaTopicPartition { KafkaTopicPartition(topic: topic, partition: partition) }
    public var description: String { "\(topic)[\(partition)]@\(offset)" }
}

/// Positions that are not offsets.
public enum KafkaOffset {
    /// Start at the oldest message.
    public static let beginning: Int64 = -2
    /// Start behind the newest message.
    public static let end: Int64 = -1
    /// No position is committed. As a start: the committed position, and without one the setting of `auto.offset.reset`
    /// (`error` makes it an error in place of a message).
    public static let none: Int64 = -1001
}

/// The extent of a partition: messages `low ..< high`. Some may be gone (compaction, transactions).
public struct KafkaWatermarks: Hashable, Sendable {
    /// The oldest existing offset.
    public let low: Int64
    /// One past the newest offset.
    public let high: Int64
}
