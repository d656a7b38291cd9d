/// The encoding of a record's value, named by its header `content-type`.
public enum RecordContentType: Sendable, Equatable {
    /// Protobuf's binary form: the default.
    case protobuf
    /// Protobuf's JSON mapping, for publishers like `kcat` and shell scripts.
    case json

    /// The name of the header.
    public static let headerName = "content-type"

    /// The name that Spring's messages have for it. It counts if the other is absent.
    private static let springHeaderName = "contentType"

    /// The value of the header that names the encoding; nil: the record has none.
    ///
    /// - Parameter value: finds a header's value by the header's name.
    public static func header(_ value: (_ name: String) -> UnsafeRawBufferPointer?) -> UnsafeRawBufferPointer? {
        if let found = value(headerName) { return found }
        return value(springHeaderName)
    }

    /// The media types of JSON. In CloudEvents' binary mode the former stands beside headers `ce_*`, which say nothing
    /// here; the latter is their structured mode, whose envelope is JSON but no message, and is told as such.
    private static let jsonTypes: [StaticString] = ["application/json", "application/cloudevents+json"]

    /// The encoding named by the header's value. JSON for `application/json` (of any case, with or without parameters
    /// such as `; charset=utf-8`, in quotation marks or without), Protobuf for everything else and when the header is
    /// absent.
    public init(header value: UnsafeRawBufferPointer?) {
        guard let value else {
            self = .protobuf
            return
        }
        let bare = Self.unquoted(value)
        self = Self.jsonTypes.contains { Self.has(bare, $0) } ? .json : .protobuf
    }

    /// The header value of published records of this form.
    public var headerValue: String {
        switch self {
        case .protobuf: "application/x-protobuf"
        case .json: "application/json"
        }
    }

    /// The value without the quotation marks of frameworks that write header values as JSON.
    private static func unquoted(_ value: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        let mark = UInt8(ascii: "\"")
        guard value.count >= 2, value.first == mark, value.last == mark else { return value }
        return UnsafeRawBufferPointer(rebasing: value[1..<value.count - 1])
    }

    private static func has(_ value: UnsafeRawBufferPointer, _ type: StaticString) -> Bool {
        guard value.count >= type.utf8CodeUnitCount else { return false }
        for index in 0..<type.utf8CodeUnitCount {
            let byte = value[index]
            let isUpperCase = byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z")
            guard (isUpperCase ? byte | 0x20 : byte) == type.utf8Start[index] else { return false }
        }
        guard value.count > type.utf8CodeUnitCount else { return true }
        let next = value[type.utf8CodeUnitCount]
        return next == UInt8(ascii: ";") || next == UInt8(ascii: " ")
    }
}
