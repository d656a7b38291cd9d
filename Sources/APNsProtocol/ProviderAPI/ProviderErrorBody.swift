/// The body of an error of the provider API: `{"reason":"…"}`, with a `timestamp` for status 410 [later].
public struct ProviderErrorBody: Hashable, Sendable {
    /// The longest body that is read, in bytes [ours].
    public static let limitBytes = 4096
    /// The longest reason, in bytes [ours].
    public static let reasonLimitBytes = 100

    /// The reason: printable ASCII.
    public let reason: ProviderReason
    /// The time of the token's death, UNIX milliseconds.
    public let timestampMilliseconds: Int64?

    public init(reason: ProviderReason, timestampMilliseconds: Int64? = nil) {
        self.reason = reason
        self.timestampMilliseconds = timestampMilliseconds
    }

    /// Reads a body from a peer. Other members are skipped.
    ///
    /// - Throws: the first fault; nothing of such a body counts.
    public init(parsing bytes: UnsafeRawBufferPointer) throws(ProviderErrorBodyFault) {
        guard !bytes.isEmpty else { throw .empty }
        guard bytes.count <= Self.limitBytes else { throw .tooLarge(bytes: bytes.count) }
        var reasons: [String] = []
        var timestamps: [Int64] = []
        do throws(JSONFault) {
            var reader = JSONReader(bytes)
            try reader.readObject { reader, key throws(JSONFault) in
                switch key {
                case "reason": reasons.append(try reader.readString())
                case "timestamp": timestamps.append(try reader.readWholeNumber())
                default: try reader.skipValue()
                }
            }
            try reader.readEnd()
        } catch {
            switch error {
            case .malformed(let offset): throw .malformed(offset: offset)
            case .tooDeep(let offset): throw .tooDeep(offset: offset)
            }
        }
        guard reasons.count <= 1 else { throw .duplicate("reason") }
        guard timestamps.count <= 1 else { throw .duplicate("timestamp") }
        guard let reason = reasons.first else { throw .reasonMissing }
        let isPrintable = reason.utf8.allSatisfy { (0x20...0x7E).contains($0) }
        guard isPrintable, (1...Self.reasonLimitBytes).contains(reason.utf8.count) else { throw .reasonInvalid }
        self.init(reason: ProviderReason(rawValue: reason), timestampMilliseconds: timestamps.first)
    }

    /// The same for an array.
    public init(parsing bytes: [UInt8]) throws(ProviderErrorBodyFault) {
        self = try bytes.span.withUnsafeBytes { bytes throws(ProviderErrorBodyFault) in
            try ProviderErrorBody(parsing: bytes)
        }
    }

    /// The body as the service sends it.
    ///
    /// The reason is written as it is: it has to be one of the service's own, see ``ProviderReason/table``.
    public var json: [UInt8] {
        let timestamp = timestampMilliseconds.map { ",\"timestamp\":\($0)" } ?? ""
        return Array("{\"reason\":\"\(reason)\"\(timestamp)}".utf8)
    }
}

/// The reason why the body of an error cannot be used.
public enum ProviderErrorBodyFault: Error, Hashable, Sendable {
    case empty
    case tooLarge(bytes: Int)
    /// The byte at this offset is not the expected JSON; the body's length if it ends too early.
    case malformed(offset: Int)
    /// Values are nested too deep.
    case tooDeep(offset: Int)
    /// This member is there twice: it would be unclear which of them counts.
    case duplicate(String)
    case reasonMissing
    /// The reason is empty, too long, or has characters other than printable ASCII.
    case reasonInvalid
}

extension ProviderErrorBodyFault: CustomStringConvertible {
    /// Fit for "the body of the error …".
    public var description: String {
        switch self {
        case .empty: "is empty"
        case .tooLarge(let bytes): "has \(bytes) bytes, \(ProviderErrorBody.limitBytes) are read"
        case .malformed(let offset): "is not the expected JSON, at byte \(offset)"
        case .tooDeep(let offset): "is nested too deep, at byte \(offset)"
        case .duplicate(let key): "has \"\(key)\" twice"
        case .reasonMissing: "has no \"reason\""
        case .reasonInvalid:
            "has a \"reason\" that is not 1 to \(ProviderErrorBody.reasonLimitBytes) characters of ASCII"
        }
    }
}
