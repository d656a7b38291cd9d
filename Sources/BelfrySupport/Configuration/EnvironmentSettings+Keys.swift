import APNsProtocol

extension EnvironmentSettings {
    typealias Key = ConfigurationKey<EnvironmentSettings>

    static let keys: [Key] = [
        Key("transport", \.transport, .choice) {
            "`binary`: the binary interface; `http2`: the provider API over HTTP/2"
        },
        Key(
            "gateways",
            \.gateways,
            .addresses(defaultPort: Transport.binary.gatewayPort),
            standard: "required",
            read: readGateways
        ) {
            """
            addresses; port \(Transport.binary.gatewayPort) if none is given, \(Transport.http2.gatewayPort) with \
            `transport: http2`; connections are spread over them
            """
        },
        Key("feedback", \.feedback, .optional(.address(defaultPort: feedbackPort))) {
            "the feedback service; port \(feedbackPort) if none is given. Without it nothing is harvested"
        },
        Key(
            "channels",
            \.channels,
            .optional(.address(defaultPort: channelsPort)),
            standard: "Apple's, beside Apple's gateways"
        ) { "manages [channels](RUN.md#channels), with `transport: http2`; port \(channelsPort) if none is given" },
        Key("proxy", \.proxy, .optional(proxyRule), read: readProxy) {
            """
            HTTP proxy that connects to gateways, feedback service and channels (CONNECT) and resolves their names, \
            see [A proxy](#a-proxy). A URL with a password belongs in a file, as that of Redis does
            """
        },
        Key("trust", \.trustFile, .optional(.path), standard: "the system's roots") {
            "PEM file of the roots in which the chains of gateway and feedback service must end"
        },
        Key("tls-minimum", \.minimumTLS, .choice) {
            "the oldest TLS version that gateway and feedback service may speak"
        },
        Key("gateway-crl", \.revocationFile, .optional(.path)) {
            """
            PEM file of the revocation list of the authority that issued the certificates of gateway and feedback \
            service; a revoked one is refused. Needs `trust` to hold that authority's certificate. An overdue list \
            stays in force; a worker or harvester reads it again when it has changed, as it does `trust`
            """
        },
        Key("payload-limit", \.payloadLimitBytes, .integer(payloadLimits)) {
            """
            bytes, judged after white space is stripped. Not with `transport: http2`, which takes \
            \(PayloadLimit.http2), and \(PayloadLimit.voip) of the push type `voip`
            """
        },
        Key("token-limit", \.tokenLimitBytes, .integer(32...100), standard: "with `transport: http2` `100`") {
            "bytes of the longest token"
        },
        Key("ttl", \.ttl, .optional(.duration(ttls)), standard: "as long as the service stores, up to 30 days") {
            """
            for how long, from the time when a worker hands it over, the service may store a notification for a device \
            that is offline, if its request says no [`expiration`](../Schemas/README.md#limits); `0s`: not at all
            """
        },
    ]

    /// Of an environment, and of one topic.
    static let payloadLimits = 256...2048
    static let ttls = Duration.zero...StorageTime.limit

    private static func readGateways(_ section: ConfigurationSection, _ settings: inout EnvironmentSettings) {
        settings.gateways = section.addresses("gateways", defaultPort: settings.transport.gatewayPort)
    }

    /// Shows no password.
    private static let proxyRule = ValueRule<ProxySettings>(
        form: .text(rule: "http://[user:password@]host:port", pattern: "^http://"),
        shown: { $0.description },
        parse: { try? ProxySettings(url: $0) }
    )

    private static func readProxy(_ section: ConfigurationSection, _ settings: inout EnvironmentSettings) {
        let url = section.text("proxy")
        if let (text, origin) = url {
            do throws(ProxyURLError) {
                settings.proxy = try ProxySettings(url: text)
            } catch {
                section.report(
                    "proxy",
                    origin,
                    found: "a URL that is wrong: \(error.message)",
                    allowed: proxyRule.form.allowed
                )
            }
        }
        section.noteValue("proxy", settings.proxy?.description, from: url?.origin)
    }

    init(name: String, reading section: ConfigurationSection) {
        // The transport decides about defaults of the others.
        let transport = section.value("transport", .choice, default: Transport.binary)
        self.init(name: name, gateways: [], transport: transport)
        for key in Self.keys {
            // No limit of ours counts there.
            if transport == .http2, key.path == "payload-limit" { section.noteValue(key.path, nil, from: nil) }
            key.read(section, &self)
        }
        if transport == .binary, section.isSet("channels") {
            section.refuse(
                "channels",
                found: "a host of channels without transport http2",
                allowed: "a host beside transport: http2; the binary interface knows no channels"
            )
        }
        if revocationFile != nil, trustFile == nil {
            section.refuse(
                "gateway-crl",
                found: "a revocation list without trust",
                allowed: "a list beside trust, which holds the certificate of the authority that signs it"
            )
        }
        if transport == .http2, section.isSet("payload-limit") {
            section.refuse(
                "payload-limit",
                found: "a limit with transport http2",
                allowed: "none: \(PayloadLimit.http2) bytes, and \(PayloadLimit.voip) for the push type voip"
            )
        }
        section.reportUnknownKeys()
    }
}
