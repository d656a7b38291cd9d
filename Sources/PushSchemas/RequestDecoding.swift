import SwiftProtobuf

/// Decodes the values of records into the generated messages.
///
/// The worker's hot path uses `SendRequestView`, which reads a request in place.
public enum RequestDecoding {
    /// Decodes one record's value, bare or in Confluent's frame.
    ///
    /// The bytes are borrowed for the call and not copied as a whole; the message owns copies of its fields. Unknown
    /// fields are kept when binary and refused as JSON, where they are nearly always typing errors. A token that is a
    /// plain string in JSON is taken for its hexadecimal digits.
    ///
    /// Throws `valueEmpty` (an empty value would decode as an empty message, and a tombstone is no request),
    /// `valueUndecodable`, or for JSON `valueTooLarge` or `notificationTooLarge`.
    public static func decode<M: Message>(
        _ type: M.Type = M.self,
        from value: UnsafeRawBufferPointer,
        as contentType: RecordContentType
    ) throws(RecordError) -> M {
        guard !value.isEmpty else { throw RecordError(.valueEmpty, "the record has no value") }
        let (value, contentType) = try ConfluentFrame.open(value, as: contentType)
        switch contentType {
        case .protobuf:
            do {
                return try M(serializedBytes: BorrowedBytes(value))
            } catch {
                throw notBinary(M.protoMessageName, value)
            }
        case .json:
            let size = JSONSize(of: value)
            try check(size)
            // It would be decoded in vain, maybe up to its last byte.
            if size.hasPlainTokens, let message: M = try mended(value) { return message }
            let failure: String
            do {
                return try M(jsonUTF8Bytes: BorrowedBytes(value))
            } catch {
                failure = "\(error)"
            }
            if let message: M = try mended(value) { return message }
            throw notJSON(M.protoMessageName, failure)
        }
    }

    private static func check(_ size: JSONSize) throws(RecordError) {
        guard size.values <= JSONSize.limit else {
            throw RecordError(
                .valueTooLarge,
                "the JSON has \(size.values) values; \(JSONSize.limit) are allowed: split the tokens over several records"
            )
        }
        guard size.notificationValues <= NotificationSize.fieldLimit else {
            throw RecordError(
                .notificationTooLarge,
                "'notification' has \(size.notificationValues) values; \(NotificationSize.fieldLimit) are allowed"
            )
        }
    }

    /// The fault of a value that is not in Protobuf's binary form.
    static func notBinary(_ name: String, _ value: UnsafeRawBufferPointer) -> RecordError {
        let space: [UInt8] = [0x20, 0x09, 0x0A, 0x0D]
        let isLikeJSON = value.first { !space.contains($0) } == UInt8(ascii: "{")
        return RecordError(
            .valueUndecodable,
            "not a \(name) in Protobuf's binary form"
                + (isLikeJSON ? "; looks like JSON: header content-type missing?" : "")
        )
    }

    private static func notJSON(_ name: String, _ text: String) -> RecordError {
        RecordError(.valueUndecodable, "not a \(name) in JSON: \(text)")
    }

    /// Decodes JSON with plain strings for tokens, or says what is wrong with it.
    ///
    /// - Returns: nil: there are none, and nothing is known to be wrong.
    private static func mended<M: Message>(_ value: UnsafeRawBufferPointer) throws(RecordError) -> M? {
        func fault(_ text: String) -> RecordError { notJSON(M.protoMessageName, text) }
        let first = value.first { $0 != 0x20 && $0 != 0x0A && $0 != 0x0D && $0 != 0x09 }
        if first != UInt8(ascii: "{"), ProtobufCursor.isWellFormed(value) {
            throw fault("looks like Protobuf: is the header content-type wrong?")
        }
        guard let shape = JSONMessageShape.shape(of: M.protoMessageName) else { return nil }
        let (inspector, found) = JSONInspector.inspect(value, shape)
        if let found { throw fault(found.text) }
        guard !inspector.plainStrings.isEmpty else { return nil }
        do {
            return try M(jsonUTF8Bytes: inspector.withoutPlainStrings())
        } catch {
            throw fault("\(error)")
        }
    }

    /// Decodes a binary part into a message that holds those before it.
    ///
    /// Throws `valueUndecodable`.
    static func merge<M: Message>(_ part: UnsafeRawBufferPointer, into message: inout M) throws(RecordError) {
        guard !part.isEmpty else { return }
        do {
            try message.merge(serializedBytes: BorrowedBytes(part))
        } catch {
            throw RecordError(.valueUndecodable, "not a \(M.protoMessageName) in binary form: \(error)")
        }
    }
}

/// Lets SwiftProtobuf read bytes that it does not own, so that a record's value is not copied before it is decoded.
private struct BorrowedBytes: SwiftProtobufContiguousBytes {
    private let bytes: UnsafeRawBufferPointer

    init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    // The protocol also serves encoding; decoding never makes or changes a bag of bytes.

    init(repeating: UInt8, count: Int) {
        preconditionFailure("borrowed bytes are only read")
    }

    init<S: Sequence>(_ sequence: S) where S.Element == UInt8 {
        preconditionFailure("borrowed bytes are only read")
    }

    var count: Int { bytes.count }

    func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
        try body(bytes)
    }

    mutating func withUnsafeMutableBytes<R>(_ body: (UnsafeMutableRawBufferPointer) throws -> R) rethrows -> R {
        preconditionFailure("borrowed bytes are only read")
    }
}
