/// The frame that serializers of Confluent's schema registry write before a value: a zero byte, the schema's id in four
/// bytes, and with Protobuf the indexes of the message in its file.
///
/// It is only taken off: the registry is not asked, and the Kafka topic alone says which message it is. No value
/// without a frame begins with a zero byte: that is neither JSON nor a tag of Protobuf.
enum ConfluentFrame {
    /// Zero byte and schema id.
    private static let headBytes = 5
    /// The deepest nesting of a message in its file. [ours]
    private static let indexLimit: UInt64 = 16

    /// The value within its frame, and its encoding; the value itself if it has no frame.
    ///
    /// - Parameter contentType: as the header says. A frame of the JSON serializer needs no header.
    /// - Throws: `valueUndecodable`: the frame is cut short, or none.
    static func open(
        _ value: UnsafeRawBufferPointer,
        as contentType: RecordContentType
    ) throws(RecordError) -> (value: UnsafeRawBufferPointer, contentType: RecordContentType) {
        guard value.first == 0 else { return (value, contentType) }
        guard value.count > headBytes else { throw broken }
        let rest = UnsafeRawBufferPointer(rebasing: value[headBytes...])
        // As the number of indexes an opening brace would be negative.
        if contentType == .json || rest.first == UInt8(ascii: "{") { return (rest, .json) }
        var cursor = ProtobufCursor(rest)
        guard let count = cursor.readVarint(), count & 1 == 0, count >> 1 <= indexLimit else { throw broken }
        for _ in 0..<(count >> 1) {
            guard cursor.readVarint() != nil else { throw broken }
        }
        return (cursor.rest, .protobuf)
    }

    private static var broken: RecordError {
        RecordError(
            .valueUndecodable,
            "begins with a zero byte like the frame of Confluent's schema registry, and has none; bare Protobuf, "
                + "JSON, and either in such a frame are allowed"
        )
    }
}
