/// The rule for the longest payload of a topic, after insignificant white space is stripped.
public enum PayloadSizeRule: Sendable, Equatable {
    /// As configured: the binary interface knows no push types.
    case limit(bytes: Int)
    /// The limits of the provider API. [later]
    case byPushType

    /// The longest payload of a request, in bytes.
    ///
    /// - Parameter pushType: as the request names it; nil: to be inferred from the payload. No push type that can be
    ///   inferred has a limit of its own.
    public func limitBytes(of pushType: PushType?) -> Int {
        switch self {
        case .limit(let bytes): bytes
        case .byPushType: pushType?.payloadLimitBytes ?? PayloadLimit.http2
        }
    }

    /// The longest payload of any request, in bytes.
    public var mostBytes: Int {
        switch self {
        case .limit(let bytes): bytes
        case .byPushType: PayloadLimit.voip
        }
    }
}
