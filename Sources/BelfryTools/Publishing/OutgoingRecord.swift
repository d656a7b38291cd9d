import PushSchemas
import RequestRules

/// A record that is about to be published.
struct OutgoingRecord: Equatable, Sendable {
    let key: String
    let value: [UInt8]
    /// Empty for the default form, which needs none.
    let headers: [(name: String, value: [UInt8])]
    /// Number of tokens in the record.
    let tokenCount: Int

    /// The mistakes that the worker would find in it, a request.
    func faults(by validator: RequestValidator) -> [RequestFault] {
        let header = headers.first { $0.name == RecordContentType.headerName }
        let contentType = header.map { $0.value.withUnsafeBytes { RecordContentType(header: $0) } }
        var key = key
        return key.withUTF8 { key in
            value.withUnsafeBytes { value in
                validator.faults(key: UnsafeRawBufferPointer(key), value: value, as: contentType ?? .protobuf)
            }
        }
    }

    static func == (left: Self, right: Self) -> Bool {
        left.key == right.key && left.value == right.value && left.tokenCount == right.tokenCount
            && left.headers.elementsEqual(right.headers) { $0 == $1 }
    }
}

/// Encoding of a published record's value.
public enum RecordFormat: String, Sendable, CaseIterable {
    case protobuf
    case json
}
