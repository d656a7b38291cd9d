import APNsProtocol
import HTTP2Transport

/// The header fields of one request after the other on a connection. What repeats is written once, and indexed; paths,
/// ids, times and collapse ids are not, because they would push the rest out of the table [later]. Only the first value
/// of each of the last three beside a provider token is indexed: so their names are in the table.
///
/// Bound to its connection's event loop.
struct HTTP2RequestFields: ~Copyable {
    private(set) var fields = HTTP2Fields()
    private let path: Int
    private let id: Int
    private let authorization: Int?
    private let topic: Int
    private let pushType: Int
    private let priority: Int
    /// Fields of every request; expiration and collapse id follow where there are any.
    private let count: Int
    private var content: StreamContent?
    private var authorizationValue: [UInt8] = []
    /// Fields whose names the table has, of those that are not indexed.
    private var named: Set<ProviderHeader> = []
    /// Fields of the latest request that brought their names into the table.
    private var introduced: [Int] = []

    /// - Parameters:
    ///   - authority: the host, with the port if it is not 443.
    ///   - hasAuthorization: requests carry a provider token.
    init(authority: String, hasAuthorization: Bool) {
        fields.append(.method, "POST")
        fields.append(":scheme", "https")
        fields.append(":authority", authority)
        path = fields.append(.path)
        authorization = hasAuthorization ? fields.append(.authorization) : nil
        topic = fields.append(.topic)
        pushType = fields.append(.pushType)
        priority = fields.append(.priority)
        id = fields.append(.id)
        count = fields.count
    }

    /// Writes the fields of a request, which stay until the next call.
    mutating func write(_ request: StreamRequest) {
        for field in introduced { fields.setIndexing(at: field, .never) }
        introduced.removeAll(keepingCapacity: true)
        if let authorization, let value = request.authorization, value != authorizationValue {
            authorizationValue = value
            fields.replaceValue(at: authorization, byteCount: value.count) { $0.copyBytes(from: value) }
            // Tokens are what pushes names out.
            named = []
            content = nil
        }
        if content !== request.content { write(request.content) }
        fields.replaceValue(at: path, byteCount: ProviderPath.bytes(tokenBytes: request.token.count)) {
            _ = ProviderPath.write(token: request.token, into: $0)
        }
        fields.replaceValue(at: id, byteCount: NotificationID.textBytes) { request.id.write(into: $0) }
    }

    private mutating func write(_ content: StreamContent) {
        self.content = content
        fields.replaceValue(at: topic, content.topic)
        fields.replaceValue(at: pushType, content.pushType.rawValue)
        fields.replaceValue(at: priority, "\(content.priority.rawValue)")
        fields.truncate(to: count)
        introduce(.id, at: id)
        if let expiration = content.expiration {
            let field = fields.append(.expiration, "\(expiration)")
            introduce(.expiration, at: field)
        }
        guard !content.collapseID.isEmpty else { return }
        let collapseID = fields.append(.collapseID)
        fields.replaceValue(at: collapseID, byteCount: content.collapseID.count) {
            $0.copyBytes(from: content.collapseID)
        }
        introduce(.collapseID, at: collapseID)
    }

    /// Has the name of a field indexed that the table lacks, with the value that it has in the present request.
    private mutating func introduce(_ header: ProviderHeader, at field: Int) {
        guard named.insert(header).inserted else { return }
        fields.setIndexing(at: field, .indexed)
        introduced.append(field)
    }
}

extension HTTP2Fields {
    /// Adds a field of the provider API, indexed if its value repeats.
    @discardableResult
    fileprivate mutating func append(_ header: ProviderHeader, _ value: String = "") -> Int {
        append("\(header.name)", value, indexing: header.isIndexed ? .indexed : .never)
    }
}
