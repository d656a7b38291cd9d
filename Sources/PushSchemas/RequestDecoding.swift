import SwiftProtobuf

/// Decodes the values of records into the generated messages.
///
/// The worker's hot path uses `SendRequestView`, which reads a request in place.
public enum RequestDecoding {
    /// Decodes one record's value.
    ///
    /// The bytes are borrowed for the call and not copied as a whole; the message owns copies of its fields. Unknown
    /// fields are kept when binary and refused as JSON, where they are nearly always typing errors.
    ///
    /// Throws `valueEmpty` (an empty value would decode as an empty message, and a tombstone is no request) or
    /// `valueUndecodable`.
    public static func decode<M: Message>(
        _ type: M.Type = M.self,
        from value: UnsafeRawBufferPointer,
        as contentType: RecordContentType
    ) throws(RecordError) -> M {
        guard !value.isEmpty else { throw RecordError(.valueEmpty, "the record has no value") }
        do {
            switch contentType {
            case .protobuf: return try M(serializedBytes: BorrowedBytes(value))
            case .json: return try M(jsonUTF8Bytes: BorrowedBytes(value))
            }
        } catch {
            throw RecordError(
                .valueUndecodable,
                "not a \(M.protoMessageName) in \(contentType == .json ? "JSON" : "binary form"): \(error)"
            )
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
