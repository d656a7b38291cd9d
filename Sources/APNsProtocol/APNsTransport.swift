/// An interface of the push service, as its providers speak it.
public enum APNsTransport: String, Sendable, CaseIterable {
    /// The binary interface. [13]
    case binary
    /// The provider API over HTTP/2. [later]
    case http2

    /// The gateway's port. [10] [later]
    public var gatewayPort: Int {
        switch self {
        case .binary: 2195
        case .http2: 443
        }
    }
}
