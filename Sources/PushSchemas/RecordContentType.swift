/// The encoding of a record's value, named by its header `content-type`.
public enum RecordContentType: Sendable, Equatable {
    /// Protobuf's binary form: the default.
    case protobuf
    /// Protobuf's JSON mapping, for publishers like `kcat` and shell scripts.
    case json

    /// The name of the header.
    public static let headerName = "content-type"

    /// The encoding named by the header's value. JSON for `application/json` (of any case, with or without parameters
    /// such as `; charset=utf-8`), Protobuf for everything else and when the header is absent.
    public init(header value: UnsafeRawBufferPointer?) {
        self = value.map(Self.isJSON) == true ? .json : .protobuf
    }

    /// The header value of published records of this form.
    public var headerValue: String {
        switch self {
        case .protobuf: "application/x-protobuf"
        case .json: "application/json"
        }
    }

    private static func isJSON(_ value: UnsafeRawBufferPointer) -> Bool {
        let expected: StaticString = "application/json"
        guard value.count >= expected.utf8CodeUnitCount else { return false }
        for index in 0..<expected.utf8CodeUnitCount {
            let byte = value[index]
            let isUpperCase = byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z")
            guard (isUpperCase ? byte | 0x20 : byte) == expected.utf8Start[index] else { return false }
        }
        guard value.count > expected.utf8CodeUnitCount else { return true }
        let next = value[expected.utf8CodeUnitCount]
        return next == UInt8(ascii: ";") || next == UInt8(ascii: " ")
    }
}
