/// A message without a broker, for making a ``KafkaBatch`` in memory.
public struct KafkaRecord: Sendable {
    public var topic: String
    public var partition: Int32
    public var offset: Int64
    /// Nil: no key, which differs from an empty one.
    public var key: [UInt8]?
    public var value: [UInt8]?
    /// UNIX time; nil: none.
    public var timestampMilliseconds: Int64?
    /// Headers in their order; names may repeat.
    public var headers: [(name: String, value: [UInt8])]

    public init(
        topic: String,
        partition: Int32,
        offset: Int64,
        key: [UInt8]?,
        value: [UInt8]?,
        timestampMilliseconds: Int64? = nil,
        headers: [(name: String, value: [UInt8])] = []
    ) {
        self.topic = topic
        self.partition = partition
        self.offset = offset
        self.key = key
        self.value = value
        self.timestampMilliseconds = timestampMilliseconds
        self.headers = headers
    }
}
