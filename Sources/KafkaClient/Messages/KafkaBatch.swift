import CRdKafka

/// Owns consumed messages, so that their values can be read in place as long as needed.
///
/// Used and released on the consumer's thread. A batch may outlive the consumer's `close()`; librdkafka's instance is
/// destroyed with the last batch. Retained batches count against no limit: the holder bounds them.
public final class KafkaBatch {
    @usableFromInline typealias Message = UnsafeMutablePointer<rd_kafka_message_t>

    /// Messages and errors in their places; 0 after `release()`.
    public private(set) var count: Int
    @usableFromInline let messages: UnsafeMutablePointer<Message>
    private var owner: Owner?

    /// The owner that frees the messages.
    private enum Owner {
        case client(KafkaHandle)
        case memory([KafkaRecordMemory])
    }

    /// Takes over the messages.
    init(_ source: UnsafeBufferPointer<Message>, handle: KafkaHandle) {
        count = source.count
        messages = .allocate(capacity: source.count)
        for index in 0..<source.count { messages.advanced(by: index).initialize(to: source[index]) }
        owner = .client(handle)
    }

    /// Makes a batch of messages without a broker, for tests and simulations of consumers.
    ///
    /// - Parameter records: in the order of their offsets within each partition.
    public convenience init(_ records: [KafkaRecord]) {
        self.init(records.map { KafkaRecordMemory($0) })
    }

    private init(_ memory: [KafkaRecordMemory]) {
        count = memory.count
        messages = .allocate(capacity: memory.count)
        for (index, record) in memory.enumerated() { messages.advanced(by: index).initialize(to: record.message) }
        owner = .memory(memory)
    }

    deinit {
        release()
        messages.deallocate()
    }

    /// The message at `index`, `0 ..< count`. Messages of one partition are in the order of their offsets.
    @inlinable
    public subscript(index: Int) -> KafkaMessageView {
        precondition(index >= 0 && index < count, "no such message in the batch")
        return KafkaMessageView(messages[index])
    }

    /// Copies one message into a batch with memory of its own.
    ///
    /// A message of a broker keeps the whole fetch response that it came in, perhaps megabytes, until its batch is
    /// released. Copy a message that has to wait. Every property of its view is the same.
    ///
    /// - Parameter index: of a message, not of an error.
    public func copy(of index: Int) -> KafkaBatch {
        let message = self[index]
        precondition(!message.isError, "an error in place of a message is not copied")
        return withExtendedLifetime(self) { KafkaBatch([KafkaRecordMemory(copying: message)]) }
    }

    /// Frees the memory before the last reference goes. Views of this batch are invalid from then on.
    public func release() {
        guard let owner else { return }
        if case .client = owner {
            for index in 0..<count { rd_kafka_message_destroy(messages[index]) }
        }
        count = 0
        self.owner = nil
        withExtendedLifetime(owner) {}
    }
}
