import CRdKafka

/// The end of one produced message.
struct KafkaDelivery: Hashable, Sendable {
    /// The value passed to `produce`.
    let opaque: UInt64
    /// Nil: the broker has acknowledged the message, as `acks` demands.
    let error: KafkaError?
    /// Partition that stores the message; −1 if it did not get so far.
    let partition: Int32
    /// Offset of the message; negative if it failed, and when the broker's answer was lost and a retry found it stored.
    let offset: Int64
    /// The broker's time of appending the message, UNIX milliseconds; nil: the topic keeps the producer's.
    let appendedAtMilliseconds: Int64?
}

extension KafkaDelivery {
    init(_ message: UnsafePointer<rd_kafka_message_t>) {
        opaque = UInt64(UInt(bitPattern: message.pointee._private))
        partition = message.pointee.partition
        offset = message.pointee.offset
        var kind = RD_KAFKA_TIMESTAMP_NOT_AVAILABLE
        let time = rd_kafka_message_timestamp(message, &kind)
        appendedAtMilliseconds = kind == RD_KAFKA_TIMESTAMP_LOG_APPEND_TIME && time > 0 ? time : nil
        let code = message.pointee.err
        if code == RD_KAFKA_RESP_ERR_NO_ERROR {
            error = nil
        } else {
            let topic = message.pointee.rkt.map { String(cString: rd_kafka_topic_name($0)) } ?? "?"
            error = KafkaError(code, "message to \(topic)[\(partition)] not delivered")
        }
    }
}
