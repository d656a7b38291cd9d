import CRdKafka

/// Owns a `rd_kafka_t`.
///
/// A client and the batches that it handed out share the handle: messages point into librdkafka's buffers, so the
/// instance is destroyed with the last reference. This joins librdkafka's threads, which takes milliseconds; the thread
/// of the last reference waits ``destroyMilliseconds`` at most.
final class KafkaHandle {
    let pointer: OpaquePointer
    /// Lives as long as librdkafka may write to it.
    let inbox: KafkaInbox
    private var isAbandoned = false

    private static let destroyMilliseconds = 5_000

    init(_ pointer: OpaquePointer, inbox: KafkaInbox) {
        self.pointer = pointer
        self.inbox = inbox
    }

    deinit {
        guard !isAbandoned else { return }
        // The group was left before, with a deadline; the plain call would wait for that without one.
        BoundedCall.run(on: pointer, keeping: inbox, until: .now + .milliseconds(Self.destroyMilliseconds)) { pointer in
            rd_kafka_destroy_flags(pointer, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE)
        }
    }

    /// Leaks the instance: destroying one whose group handling hangs would hang too.
    func abandon() {
        guard !isAbandoned else { return }
        isAbandoned = true
        _ = Unmanaged.passRetained(inbox)
    }
}
