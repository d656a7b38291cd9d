import CRdKafka

/// Owns consumed messages, so that their values can be read in place for as long as somebody needs them.
///
/// Used on the consumer's thread, and let go there. A batch may outlive the consumer's `close()`; librdkafka's instance is
/// destroyed with the last of them. What is retained counts against nothing: the holder bounds it.
public final class KafkaBatch {
    @usableFromInline typealias Message = UnsafeMutablePointer<rd_kafka_message_t>

    /// Messages and errors in their places; 0 after `release()`.
    public private(set) var count: Int
    @usableFromInline let messages: UnsafeMutablePointer<Message>
    private var handle: KafkaHandle?

    /// Takes over the messages.
    init(_ source: UnsafeBufferPointer<Message>, handle: KafkaHandle) {
        count = source.count
        messages = .allocate(capacity: source.count)
        for index in 0..<source.count { messages.advanced(by: index).initialize(to: source[index]) }
        self.handle = handle
    }

    deinit {
        release()
        messages.deallocate()
    }

    /// The message at `index`, `0 ..< count`. Within a partition messages stand in the order of their offsets.
    @inlinable
    public subscript(index: Int) -> KafkaMessageView {
        precondition(index >= 0 && index < count, "no such message in the batch")
        return KafkaMessageView(messages[index])
    }

    /// Gives the memory back before the last reference goes. Views of this batch are invalid from here on.
    public func release() {
        guard let handle else { return }
        for index in 0..<count { rd_kafka_message_destroy(messages[index]) }
        count = 0
        self.handle = nil
        withExtendedLifetime(handle) {}
    }
}
