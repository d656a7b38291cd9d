/// The reason why a record of the Kafka contract cannot be used. The raw value is the stable code in dead letters and
/// outcomes.
public enum RecordFault: String, Sendable, CaseIterable {
    /// The record has no key, or an empty one.
    case keyMissing = "key-missing"
    /// The key is not UTF-8.
    case keyNotUTF8 = "key-not-utf8"
    /// The key names no bundle: nothing stands before the `#`.
    case keyWithoutBundle = "key-without-bundle"
    /// The bundle ID in the key is too long or has a character that no bundle ID has.
    case bundleInvalid = "bundle-invalid"
    /// The text after the `#` is not a shard number.
    case shardInvalid = "shard-invalid"
    /// The record has no value, or an empty one.
    case valueEmpty = "value-empty"
    /// The value is not the message that the topic carries.
    case valueUndecodable = "value-undecodable"
    /// The value is too long, or as JSON has too many values.
    case valueTooLarge = "value-too-large"
    /// The request carries neither a payload nor a notification.
    case payloadMissing = "payload-missing"
    /// The notification has more fields than any payload has room for.
    case notificationTooLarge = "notification-too-large"
    /// A token has values of its own, and the request has no structured notification that they could change.
    case overridesMisplaced = "overrides-misplaced"
    /// The request carries neither a token nor a channel.
    case tokensMissing = "tokens-missing"
    /// The request carries more than one of `tokens`, `packed_tokens` and `channel`: an index would be ambiguous.
    case tokensAmbiguous = "tokens-ambiguous"
    /// The request carries more tokens than one record may.
    case tokensTooMany = "tokens-too-many"
    /// `packed_tokens` is not a multiple of 32 bytes.
    case packedTokensLength = "packed-tokens-length"
    /// `expiration` does not fit the 32 bits that the gateway takes.
    case expirationOutOfRange = "expiration-out-of-range"
    /// `priority` is neither 10 nor 5 nor 1, or not allowed for the transport and the push type.
    case priorityInvalid = "priority-invalid"
    /// `coalescing_key` has more than 255 bytes.
    case coalescingKeyTooLong = "coalescing-key-too-long"
    /// `report` is none that this version knows.
    case reportInvalid = "report-invalid"
    /// One token of the request is empty.
    case tokenMissing = "token-missing"
    /// One token of the request is not an even number of hexadecimal digits.
    case tokenNotHexadecimal = "token-not-hexadecimal"
}

/// A record that cannot be used: one dead letter, and the pipeline goes on.
public struct RecordError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The stable code.
    public let fault: RecordFault

    /// The finding and the allowed values, for a person to read. Holds at most a short, printable piece of the record.
    public let message: String

    public init(_ fault: RecordFault, _ message: String) {
        self.fault = fault
        self.message = message
    }

    public var description: String { "\(fault.rawValue): \(message)" }
}
