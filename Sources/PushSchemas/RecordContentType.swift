/// How the value of a record is written: said by its header `content-type`.
public enum RecordContentType: Sendable, Equatable {
    /// Protobuf's binary form: the default.
    case protobuf
    /// Protobuf's JSON mapping, for publishers like `kcat` and shell scripts.
    case json

    /// The name of the header that says it.
    public static let headerName = "content-type"

    /// What the header's value selects: JSON for `application/json` (of any case, with or without parameters such as
    /// `; charset=utf-8`), Protobuf for everything else and when the header is absent.
    public init(header value: UnsafeRawBufferPointer?) {
        self = value.map(Self.isJSON) == true ? .json : .protobuf
    }

    /// The value under which a record of this form is published.
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
