import PushSchemas

/// The rule for the size of a request's record.
package enum RequestValue {
    /// Largest value of a record that is decoded; Kafka's default limit of a message.
    package static let limitBytes = 1 << 20

    /// Edition of the rules by which a record is decoded; 1...255. A change by which any record can be decoded that
    /// could not, or the other way round, raises it: workers tell by it whether the one before them read the log as
    /// they do.
    package static let edition: UInt8 = 2

    /// The refusal of a value with more bytes.
    package static func tooLarge(_ bytes: Int) -> RecordRefusal {
        RecordRefusal(
            reason: RecordFault.valueTooLarge.rawValue,
            detail: "the value has \(bytes) bytes; \(limitBytes) are allowed"
        )
    }
}
