/// The notification of a request as it is read: in one piece, or in parts, which Protobuf merges.
///
/// Parts are put end to end and decoded together, because a part that is merged alone copies those before it.
struct NotificationParts {
    private var first: UnsafeRawBufferPointer?
    /// All of them, if there are several.
    private var joined: [UInt8] = []
    /// Of all notifications of the record, also those that a payload took the place of.
    private var size = NotificationSize()

    /// Appends a part, which must stay alive until ``take(_:)``.
    ///
    /// Throws `valueUndecodable` for parts that could only be read together.
    mutating func append(_ part: UnsafeRawBufferPointer) throws(RecordError) {
        size.countPart()
        guard !size.isOver else { throw Self.tooLarge }
        guard let first else {
            first = part
            return
        }
        if joined.isEmpty { joined.append(contentsOf: first) }
        guard ProtobufCursor.isWellFormed(part), ProtobufCursor.isWellFormed(first) else {
            throw RecordError(.valueUndecodable, "not a \(PushNotification.protoMessageName) in binary form")
        }
        joined.append(contentsOf: part)
        self.first = UnsafeRawBufferPointer(start: nil, count: 0)
    }

    /// Decodes the parts read so far, and forgets them; nil: there are none.
    ///
    /// Throws `valueUndecodable` or `notificationTooLarge`.
    mutating func take(_ memo: NotificationMemo?) throws(RecordError) -> DecodedNotification? {
        guard let first else { return nil }
        self.first = nil
        guard !joined.isEmpty else { return try decode(first, memo) }
        let whole = joined
        joined = []
        return try whole.span.withUnsafeBytes { bytes throws(RecordError) in try decode(bytes, memo) }
    }

    private mutating func decode(
        _ bytes: UnsafeRawBufferPointer,
        _ memo: NotificationMemo?
    ) throws(RecordError) -> DecodedNotification {
        if let known = memo?.known(bytes) { return known }
        size.count(bytes)
        guard !size.isOver else { throw Self.tooLarge }
        let decoded = try DecodedNotification(decoding: bytes)
        memo?.keep(decoded, of: bytes)
        return decoded
    }

    private static var tooLarge: RecordError {
        RecordError(
            .notificationTooLarge,
            "'notification' has more than \(NotificationSize.fieldLimit) values, or messages that come again more than "
                + "\(NotificationSize.repetitionLimit) times"
        )
    }
}
