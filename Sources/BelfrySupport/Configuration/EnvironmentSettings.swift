import APNsProtocol

/// One environment of the push service. A bundle has a certificate and tokens of its own in each.
public struct EnvironmentSettings: Sendable, Equatable {
    /// The interface that is spoken.
    public typealias Transport = APNsTransport

    /// The oldest TLS version that is accepted.
    public enum TLSMinimum: String, Sendable, CaseIterable {
        case tls12 = "1.2"
        case tls13 = "1.3"
    }

    /// The feedback service's port. [10]
    public static let feedbackPort = 2196

    /// The port of the management of channels in production. [later]
    public static let channelsPort = 2196

    /// 1...32 of `a-z 0-9 -`: part of Redis keys.
    public var name: String
    public internal(set) var transport: Transport
    /// At least one. Connections are spread over them, and over the addresses that each name has. [13]
    public var gateways: [HostPort]
    /// Nil: the environment has no feedback service to harvest.
    public var feedback: HostPort?
    /// The host that manages the channels of broadcasts, over HTTP/2; nil: not said, see ``channelsHost``.
    public var channels: HostPort?
    /// Leads to gateways, feedback service and channels; nil: connections go there by themselves.
    public var proxy: ProxySettings?
    /// The PEM file of the roots that the gateway's chain must end in; nil: the system's.
    public var trustFile: String?
    /// The oldest TLS version that gateway and feedback service may speak.
    public var minimumTLS = TLSMinimum.tls12
    /// The PEM file of the revocation list that must not name the certificates of gateway and feedback service, signed
    /// by one of the roots; nil: revocation is not checked. Needs `trustFile`.
    public var revocationFile: String?
    /// The largest payload of the binary interface: 256 [13], or up to 2048 where the gateway is of the time since
    /// iOS 8. [later] Over HTTP/2 the push type decides, see ``PayloadSizeRule``.
    public var payloadLimitBytes = PayloadLimit.binary2013
    /// The longest token: 32 over the binary interface [13], up to 100. [later]
    public var tokenLimitBytes: Int
    /// For how long the service may store a notification whose request says no expiration, up to
    /// ``StorageTime/limit``; zero: not at all. Nil: as long as the service stores.
    public var ttl: Duration?

    public init(name: String, gateways: [HostPort], transport: Transport = .binary) {
        self.name = name
        self.gateways = gateways
        self.transport = transport
        tokenLimitBytes = transport == .http2 ? 100 : 32
    }

    /// The host that manages channels: as configured, or the one that belongs to Apple's gateway. [later]
    public var channelsHost: HostPort? {
        channels ?? gateways.lazy.compactMap { Self.channelsHosts[$0.host] }.first
    }

    /// The hosts beside Apple's gateways. [later]
    private static let channelsHosts: [String: HostPort] = {
        let development = HostPort(host: "api-manage-broadcast.sandbox.push.apple.com", port: 2195)
        return [
            "api.sandbox.push.apple.com": development,
            "api.development.push.apple.com": development,
            "api.push.apple.com": HostPort(host: "api-manage-broadcast.push.apple.com", port: channelsPort),
        ]
    }()

    package static let nameRule = "a name of 1...32 letters a-z, digits and hyphens"

    /// The text is allowed as the name of an environment.
    package static func isName(_ text: String) -> Bool {
        (1...32).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || byte == UInt8(ascii: "-")
                    || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
            }
    }
}
