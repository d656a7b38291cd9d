import CRdKafka

/// Room for the messages of one batch, reused for the next. One thread at a time.
final class KafkaFetchBuffer {
    private var messages = UnsafeMutableBufferPointer<UnsafeMutablePointer<rd_kafka_message_t>?>.allocate(capacity: 0)

    deinit {
        messages.deallocate()
    }

    /// The message at an index below the last count, until it is taken into a batch.
    subscript(index: Int) -> UnsafeMutablePointer<rd_kafka_message_t>? {
        get { messages[index] }
        set { messages[index] = newValue }
    }

    /// Serves a queue once. Its callbacks run meanwhile.
    ///
    /// - Returns: the number of messages; fewer than `max` when the queue was found empty.
    func fill(from queue: OpaquePointer?, max: Int, timeoutMilliseconds: Int32) -> Int {
        precondition(max > 0, "a batch has room for a message")
        if messages.count < max {
            messages.deallocate()
            messages = .allocate(capacity: max)
            messages.initialize(repeating: nil)
        }
        let count = rd_kafka_consume_batch_queue(queue, timeoutMilliseconds, messages.baseAddress, max)
        // Negative: wrong arguments, which are ours.
        precondition(count >= 0, "librdkafka refused to serve its queue")
        return count
    }

    /// Hands the first messages over.
    func batch(_ count: Int, handle: KafkaHandle) -> KafkaBatch {
        messages.withMemoryRebound(to: KafkaBatch.Message.self) { messages in
            KafkaBatch(UnsafeBufferPointer(rebasing: messages[..<count]), handle: handle)
        }
    }
}
