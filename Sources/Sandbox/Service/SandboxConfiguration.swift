import APNsProtocol

/// Settings that a sandbox is started with.
public struct SandboxConfiguration: Sendable {
    /// The directory with `server.pem`, `ca.pem` and `token.key` (in production `token.production.key`), and, for
    /// provider tokens, `keys.json`.
    public var pkiDirectory: String
    /// Bundle IDs. A provider whose certificate is for another one is turned away.
    public var topics: [String]
    /// Virtual devices per topic, 1...16,777,215: device I has the app of every topic.
    public var devices: Int
    /// The address that providers connect to. The control port is always on 127.0.0.1: a client that reaches it can
    /// change everything.
    public var listenHost = "127.0.0.1"
    /// 0 picks a free one; so with the other ports.
    public var gatewayPort = 2195
    /// See ``gatewayPort``.
    public var feedbackPort = 2196
    /// See ``gatewayPort``.
    public var controlPort = 2190
    /// The courier's, for devices. See ``gatewayPort``.
    public var devicePort = 5223
    /// The provider API's. See ``gatewayPort``.
    public var apiPort = 2197
    /// A port of its own for the management of channels, which the provider API's port serves as well, as this one
    /// serves the provider API. Nil: none.
    public var channelsPort: Int?
    /// Event-loop threads for gateway, provider API and feedback, at least 1.
    public var threads = 1
    /// The environment it plays. Certificates of the other one are turned away, tokens of the other one are invalid.
    public var environment = PushEnvironment.development
    /// Formats that the gateway accepts; see ``setFormats(payloadLimitBytes:tokenLimitBytes:protocolErrorStatus:)``.
    public var gatewayLimits = GatewayLimits()
    /// Initial state of the topics, and the size of their memory.
    public var ledger = LedgerConfiguration()
    /// A file that says which faults come and go, and when; `nil` = none do by themselves.
    public var faultScript: String?
    /// The list of revoked certificates, a PEM file, which has to be there; it is read again whenever it changes.
    /// `nil`: `crl.pem` in the PKI directory, when there is one.
    public var revocationFile: String?

    /// The ports of the real service.
    public init(pkiDirectory: String, topics: [String], devices: Int) {
        self.pkiDirectory = pkiDirectory
        self.topics = topics
        self.devices = devices
    }
}

/// Ports on which a running sandbox listens.
public struct SandboxPorts: Sendable, Hashable {
    /// The binary interface of providers.
    public let gateway: Int
    /// The feedback service.
    public let feedback: Int
    /// The courier, for devices.
    public let device: Int
    /// The HTTP/2 interface of providers.
    public let api: Int
    /// Statistics and commands.
    public let control: Int
    /// The management of channels; nil: it has no port of its own.
    public internal(set) var channels: Int?

    /// One line of JSON, for the starter of the process with port 0.
    public var json: String {
        "{\"gateway\":\(gateway),\"feedback\":\(feedback),\"device\":\(device),\"api\":\(api),"
            + "\"control\":\(control)" + (channels.map { ",\"channels\":\($0)" } ?? "") + "}"
    }
}
