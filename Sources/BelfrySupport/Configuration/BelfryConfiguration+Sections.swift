import APNsProtocol
import PipelineCore
import PushSchemas

// Name and range of each key, and nothing else: the defaults are those of the settings.

extension BelfryConfiguration {
    init(reading root: ConfigurationSection, resolve: (String) -> String) {
        self.init()
        kafka = KafkaSettings(reading: root.section("kafka"))
        redis = RedisSettings(reading: root.section("redis"), resolve: resolve)
        environments = Self.environments(in: root.section("environments"), resolve: resolve)
        let certificates = root.section("certificates")
        self.certificates.directory = resolve(
            certificates.string("directory", default: self.certificates.directory, resolve: resolve)
        )
        let namesCertificates = certificates.text("directory") != nil
        certificates.reportUnknownKeys()
        keys = KeySettings(reading: root.section("keys"), resolve: resolve)
        self.certificates.isOptional = keys.directory != nil && !namesCertificates
        worker = WorkerSettings(reading: root.section("worker"), session: kafka.sessionTimeout)
        registrar = RegistrarSettings(reading: root.section("registrar"))
        harvester = HarvesterSettings(reading: root.section("harvester"))
        retention = RetentionSettings(reading: root.section("retention"))
        topics = Self.topics(in: root.section("topics"), keys: keys)
        outcomes = root.choice("outcomes", default: outcomes)
        operations = OperationsSettings(reading: root.section("operations"), resolve: resolve)
        let log = root.section("log")
        logLevel = log.choice("level", default: logLevel)
        log.reportUnknownKeys()
    }

    private static func environments(
        in section: ConfigurationSection,
        resolve: (String) -> String
    ) -> [EnvironmentSettings] {
        // A variable may add an environment: BELFRY_ENVIRONMENTS_SANDBOX_GATEWAYS, the name in one word.
        let known = Set(section.names.map(ConfigurationReader.variableSegment))
        let keys = [
            "TRANSPORT", "GATEWAYS", "FEEDBACK", "CHANNELS", "TRUST", "TLS_MINIMUM", "GATEWAY_CRL", "PAYLOAD_LIMIT",
            "TOKEN_LIMIT",
        ]
        let added = section.reader.variableSuffixes(below: section.path).compactMap { suffix -> String? in
            guard let key = keys.first(where: { suffix.hasSuffix("_" + $0) }) else { return nil }
            let name = suffix.dropLast(key.count + 1)
            return known.contains(String(name)) || name.contains("_") ? nil : name.lowercased()
        }
        return (section.names + Set(added)).sorted().compactMap { name in
            EnvironmentSettings(name: name, in: section, resolve: resolve)
        }
    }

    private static func topics(in section: ConfigurationSection, keys: KeySettings) -> [String: TopicOverrides] {
        var topics: [String: TopicOverrides] = [:]
        for bundleID in section.names {
            if let error = RecordKey.problem(inBundleID: bundleID) {
                section.report(bundleID, section.origin(of: bundleID), found: error, allowed: "a bundle ID")
            }
            topics[bundleID] = TopicOverrides(reading: section.section(bundleID), keys: keys)
        }
        return topics
    }
}

extension RecordKey {
    fileprivate static func problem(inBundleID bundleID: String) -> String? {
        do throws(RecordError) {
            _ = try RecordKey(bundleID: bundleID)
            return nil
        } catch {
            return error.message
        }
    }
}

extension KafkaSettings {
    fileprivate init(reading section: ConfigurationSection) {
        self.init()
        brokers = section.value(
            "brokers",
            default: brokers,
            allowed: Self.brokersRule,
            shown: { $0 },
            parse: Self.addresses
        )
        prefix = section.string("prefix", default: prefix, allowed: Self.prefixRule, isValid: Self.isPrefix)
        let named = section.section("properties")
        // BELFRY_KAFKA_PROPERTIES_SASL_PASSWORD: librdkafka's names have dots where a variable cannot.
        let known = Set(named.names.map(ConfigurationReader.variableSegment))
        let added = named.reader.variableSuffixes(below: named.path).filter { !known.contains($0) }
            .map { $0.lowercased().replacing("_", with: ".") }
        properties = (named.names + added).sorted().compactMap { name in
            guard let (text, origin) = named.text(name) else { return nil }
            if let promise = KafkaPromise.broken(by: name, text) {
                named.report(name, origin, found: promise.found(text), allowed: promise.rule)
                return nil
            }
            named.noteValue(name, text, from: origin, isSecret: Self.mayBeSecret(name))
            return Property(name: name, value: text)
        }
        if properties.isEmpty { section.noteValue("properties", nil, from: nil) }
        commitMetadataBytes = section.integer(
            "commit-metadata",
            in: Self.commitMetadataRange,
            default: commitMetadataBytes
        )
        section.reportUnknownKeys()
    }

    /// Brokers that a command line names. Throws `ToolError.invalidInput`.
    public static func brokers(parsing text: String) throws(ToolError) -> String {
        guard let brokers = addresses(text) else {
            throw .invalidInput(["brokers: found \"\(text)\"; allowed: \(brokersRule)"])
        }
        return brokers
    }

    /// A property whose value is secret, as its name suggests. A file's place is none.
    private static func mayBeSecret(_ name: String) -> Bool {
        !name.hasSuffix(".location")
            && ["password", "secret", "key", "jaas", "token", "oauth", "credential", "kinit"]
                .contains { name.lowercased().contains($0) }
    }

    private static let prefixRule = "at most \(prefixLimit) letters, digits, dots, - and _, as Kafka's names have them"

    private static func isPrefix(_ text: String) -> Bool {
        text.utf8.count <= prefixLimit
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }

    private static let brokersRule = "host:port, comma-separated"

    private static func addresses(_ text: String) -> String? {
        let addresses = text.split(separator: ",", omittingEmptySubsequences: false).map {
            HostPort(String($0).trimmed)
        }
        let valid = addresses.compactMap { $0?.description }
        return valid.count == addresses.count && !valid.isEmpty ? valid.joined(separator: ",") : nil
    }
}

extension EnvironmentSettings {
    fileprivate init?(name: String, in parent: ConfigurationSection, resolve: (String) -> String) {
        let section = parent.section(name)
        if !EnvironmentSettings.isName(name) {
            parent.report(
                name,
                parent.origin(of: name),
                found: "the name \"\(name)\"",
                allowed: EnvironmentSettings.nameRule
            )
        }
        let transport = section.choice("transport", default: Transport.binary)
        self.init(
            name: name,
            gateways: section.addresses("gateways", defaultPort: transport.gatewayPort),
            transport: transport
        )
        feedback = section.address("feedback", defaultPort: Self.feedbackPort)
        channels = section.address("channels", defaultPort: Self.channelsPort)
        if transport == .binary, section.text("channels") != nil {
            section.report(
                "channels",
                section.origin(of: "channels"),
                found: "a host of channels without transport http2",
                allowed: "a host beside transport: http2; the binary interface knows no channels"
            )
        }
        let trust = section.string("trust", default: "", resolve: resolve)
        trustFile = trust.isEmpty ? nil : resolve(trust)
        minimumTLS = section.choice("tls-minimum", default: minimumTLS)
        let revocations = section.string("gateway-crl", default: "", resolve: resolve)
        revocationFile = revocations.isEmpty ? nil : resolve(revocations)
        if revocationFile != nil, trustFile == nil {
            section.report(
                "gateway-crl",
                section.origin(of: "gateway-crl"),
                found: "a revocation list without trust",
                allowed: "a list beside trust, which holds the certificate of the authority that signs it"
            )
        }
        // No limit of ours counts there.
        if transport == .http2 { section.noteValue("payload-limit", nil, from: nil) }
        payloadLimitBytes = section.integer("payload-limit", in: 256...2048, default: payloadLimitBytes)
        if transport == .http2, section.text("payload-limit") != nil {
            section.report(
                "payload-limit",
                section.origin(of: "payload-limit"),
                found: "a limit with transport http2",
                allowed: "none: \(PayloadLimit.http2) bytes, and \(PayloadLimit.voip) for the push type voip"
            )
        }
        tokenLimitBytes = section.integer("token-limit", in: 32...100, default: tokenLimitBytes)
        section.reportUnknownKeys()
    }
}

extension KeySettings {
    fileprivate init(reading section: ConfigurationSection, resolve: (String) -> String) {
        self.init()
        let directory = section.string("directory", default: "", resolve: resolve)
        self.directory = directory.isEmpty ? nil : resolve(directory)
        team = section.providerID("team")
        if self.directory == nil, team != nil { section.reportKeyless("team") }
        section.reportUnknownKeys()
    }
}

extension TopicOverrides {
    fileprivate init(reading section: ConfigurationSection, keys: KeySettings) {
        self.init()
        unknownFate = section.optionalChoice("unknown-fate", of: UnknownFatePolicy.self)
        let spread = section.integer("spread", in: 1...65_536, default: 0)
        self.spread = spread == 0 ? nil : UInt32(spread)
        let limit = section.integer("payload-limit", in: 256...2048, default: 0)
        payloadLimitBytes = limit == 0 ? nil : limit
        coalescingWindow = section.optionalDuration("coalescing-window", in: coalescingWindows)
        sensitiveData = section.choice("sensitive-data", default: sensitiveData)
        team = section.providerID("team")
        key = section.providerID("key")
        if keys.directory == nil {
            if team != nil { section.reportKeyless("team") }
            if key != nil { section.reportKeyless("key") }
        } else if key != nil, team == nil, keys.team == nil {
            section.report(
                "key",
                section.origin(of: "key"),
                found: "a key without its team",
                allowed: "a key beside team, or beside keys.team"
            )
        }
        section.reportUnknownKeys()
    }
}

extension ConfigurationSection {
    /// The ID of a team or of a provider key, or nil if nothing is said.
    fileprivate func providerID(_ key: String) -> String? {
        let id = string(
            key,
            default: "",
            allowed: "1 to \(ProviderKeyID.limitBytes) letters and digits",
            isValid: ProviderKeyID.isID
        )
        return id.isEmpty ? nil : id
    }

    /// Reports a setting that means nothing without provider keys.
    fileprivate func reportKeyless(_ key: String) {
        report(
            key,
            origin(of: key),
            found: "a \(key) without keys.directory",
            allowed: "a \(key) beside keys.directory"
        )
    }
}
