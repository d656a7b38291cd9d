/// The header fields of a request to the provider API that the service reads.
public enum ProviderHeader: Int, Sendable, Hashable, CaseIterable {
    case method
    case path
    case authorization
    case id
    case topic
    case pushType
    case priority
    case expiration
    case collapseID

    /// The name on the wire: lower case, as HTTP/2 wants it.
    public var name: StaticString {
        switch self {
        case .method: ":method"
        case .path: ":path"
        case .authorization: "authorization"
        case .id: "apns-id"
        case .topic: "apns-topic"
        case .pushType: "apns-push-type"
        case .priority: "apns-priority"
        case .expiration: "apns-expiration"
        case .collapseID: "apns-collapse-id"
        }
    }

    /// The field may stand in HPACK's dynamic table: its value repeats from request to request.
    ///
    /// A path of 111 table bytes would evict the provider token every 36 requests.
    public var isIndexed: Bool {
        switch self {
        case .method, .authorization, .topic, .pushType, .priority: true
        case .path, .id, .expiration, .collapseID: false
        }
    }

    /// Finds the field of a name; nil for others.
    public init?(name: UnsafeRawBufferPointer) {
        let field: ProviderHeader
        switch name.count {
        case 5: field = .path
        case 7: field = name.first == UInt8(ascii: ":") ? .method : .id
        case 10: field = .topic
        case 13: field = name.last == UInt8(ascii: "n") ? .authorization : .priority
        case 14: field = .pushType
        case 15: field = .expiration
        case 16: field = .collapseID
        default: return nil
        }
        guard field.name.equals(name) else { return nil }
        self = field
    }
}

extension StaticString {
    /// The bytes are those of the text.
    func equals(_ bytes: UnsafeRawBufferPointer) -> Bool {
        bytes.elementsEqual(UnsafeBufferPointer(start: utf8Start, count: utf8CodeUnitCount))
    }
}
