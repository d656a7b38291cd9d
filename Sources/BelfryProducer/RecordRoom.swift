import PushSchemas

/// The room that tokens take in the value of a record, in the list `tokens`; packed ones take less. Pure.
enum RecordRoom {
    /// - Parameter count: bytes of a token without values of its own.
    static func bytes(ofToken count: Int, _ contentType: RecordContentType) -> Int {
        switch contentType {
        case .json: separator + #"{"hex":""}"#.utf8.count + 2 * count
        case .protobuf: field(field(count))
        }
    }

    /// - Parameter message: of a token with values of its own.
    static func bytes(of message: PushDeviceToken, _ contentType: RecordContentType) throws -> Int {
        let count = try contentType.encode(message).count
        return contentType == .json ? separator + count : field(count)
    }

    /// The comma between two tokens; the brackets and the name of the list count as room.
    private static let separator = 1

    /// A field of so many bytes behind its tag and its length.
    private static func field(_ count: Int) -> Int {
        1 + ProtobufLength.bytes(of: count) + count
    }
}
