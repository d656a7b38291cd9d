import PushSchemas
import RequestRules

/// A record that is about to be published.
package struct OutgoingRecord: Equatable, Sendable {
    package let key: String
    package let value: [UInt8]
    /// Empty for the default form, which needs none.
    package let headers: [(name: String, value: [UInt8])]
    /// Number of tokens in the record.
    package let tokenCount: Int
    /// Number of the key among those of the bundle; 0 also if the bundle has but one.
    let shard: Int

    package init(
        key: String,
        value: [UInt8],
        headers: [(name: String, value: [UInt8])],
        tokenCount: Int,
        shard: Int = 0
    ) {
        self.key = key
        self.value = value
        self.headers = headers
        self.tokenCount = tokenCount
        self.shard = shard
    }

    /// The mistakes that the worker would find in it, a request.
    package func faults(by validator: RequestValidator) -> [RequestFault] {
        var key = key
        return key.withUTF8 { key in
            value.withUnsafeBytes { value in
                validator.faults(key: UnsafeRawBufferPointer(key), value: value, as: contentType)
            }
        }
    }

    /// The payloads that the worker would make of it, a request; none if it has mistakes.
    package func previews(by validator: RequestValidator) -> [PayloadPreview] {
        value.withUnsafeBytes { (try? validator.previews(of: $0, as: contentType)) ?? [] }
    }

    /// The number of its tokens, it being a request, that stand in it before: the worker sends to them once.
    package var repeatedTokens: Int {
        guard tokenCount > 1 else { return 0 }
        return value.withUnsafeBytes { value in
            guard let request = try? SendRequestView(decoding: value, as: contentType) else { return 0 }
            return request.findRepeatedTokens().count { $0 }
        }
    }

    private var contentType: RecordContentType {
        let header = headers.first { $0.name == RecordContentType.headerName }
        return header.map { $0.value.withUnsafeBytes { RecordContentType(header: $0) } } ?? .protobuf
    }

    package static func == (left: Self, right: Self) -> Bool {
        left.key == right.key && left.value == right.value && left.tokenCount == right.tokenCount
            && left.headers.elementsEqual(right.headers) { $0 == $1 }
    }
}
