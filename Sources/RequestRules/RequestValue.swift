import PushSchemas

/// The rule for the size of a request's record.
package enum RequestValue {
    /// Largest value of a record that is decoded; Kafka's default limit of a message.
    package static let limitBytes = 1 << 20

    /// The refusal of a value with more bytes.
    package static func tooLarge(_ bytes: Int) -> RecordRefusal {
        RecordRefusal(
            reason: RecordFault.valueTooLarge.rawValue,
            detail: "the value has \(bytes) bytes; \(limitBytes) are allowed"
        )
    }
}
