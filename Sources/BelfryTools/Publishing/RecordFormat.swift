import PushSchemas

/// Encoding of a published record's value.
public enum RecordFormat: String, Sendable, CaseIterable {
    case protobuf
    case json

    var contentType: RecordContentType {
        switch self {
        case .protobuf: .protobuf
        case .json: .json
        }
    }
}
