import APNsProtocol
import PipelineCore
import PushSchemas
import RedisClient

// Values follow from the rows of `keys`; here stands what several keys decide together.

extension BelfryConfiguration {
    init(reading root: ConfigurationSection) {
        self.init()
        read("kafka", of: root)
        read("redis", of: root) { $0.redis.check($1) }
        environments = Self.environments(in: root.section("environments"))
        certificates.directory = root.reader.resolve(certificates.directory)
        read("certificates", of: root)
        read("keys", of: root) { configuration, section in
            let keys = configuration.keys
            if keys.directory == nil, keys.team != nil { section.refuseKeyless("team") }
        }
        certificates.isOptional = keys.directory != nil && !root.section("certificates").isSet("directory")
        worker.commitPatience = WorkerSettings.commitPatience(session: kafka.sessionTimeout)
        read("worker", of: root) { $0.worker.check($1, session: $0.kafka.sessionTimeout) }
        for section in ["registrar", "harvester", "retention"] { read(section, of: root) }
        apps = Self.apps(in: root.section("apps"), keys: keys)
        for key in Self.keys where key.path == "outcomes" { key.read(root, &self) }
        for section in ["operations", "log"] { read(section, of: root) }
    }

    /// - Parameter check: reports what is wrong with several values together.
    private mutating func read(
        _ name: String,
        of root: ConfigurationSection,
        check: (BelfryConfiguration, ConfigurationSection) -> Void = { _, _ in }
    ) {
        for key in Self.keys where key.section == name { key.read(root, &self) }
        let section = root.section(name)
        check(self, section)
        section.reportUnknownKeys()
    }

    private static func environments(in section: ConfigurationSection) -> [EnvironmentSettings] {
        // A variable may add an environment: BELFRY_ENVIRONMENTS_SANDBOX_GATEWAYS, the name in one word.
        let known = Set(section.names.map(ConfigurationReader.variableSegment))
        let endings = EnvironmentSettings.keys.map { "_" + ConfigurationReader.variableSegment($0.path) }
        let added = section.reader.variableSuffixes(below: section.path).compactMap { suffix -> String? in
            guard let ending = endings.first(where: suffix.hasSuffix) else { return nil }
            let name = suffix.dropLast(ending.count)
            return known.contains(String(name)) || name.contains("_") ? nil : name.lowercased()
        }
        return (section.names + Set(added)).sorted().map { name in
            if !EnvironmentSettings.isName(name) {
                section.refuse(name, found: "the name \"\(name)\"", allowed: EnvironmentSettings.nameRule)
            }
            return EnvironmentSettings(name: name, reading: section.section(name))
        }
    }

    private static func apps(in section: ConfigurationSection, keys: KeySettings) -> [String: AppOverrides] {
        var apps: [String: AppOverrides] = [:]
        for bundleID in section.names {
            if let error = RecordKey.problem(inBundleID: bundleID) {
                section.refuse(bundleID, found: error, allowed: "a bundle ID")
            }
            apps[bundleID] = AppOverrides(reading: section.section(bundleID), keys: keys)
        }
        return apps
    }

    static func readLanes(_ section: ConfigurationSection, _ settings: inout BelfryConfiguration) {
        settings.worker.lanes = section.choices("lanes")
    }

    static func readKafkaProperties(_ section: ConfigurationSection, _ settings: inout BelfryConfiguration) {
        let named = section.section("properties")
        // BELFRY_KAFKA_PROPERTIES_SASL_PASSWORD: librdkafka's names have dots where a variable cannot.
        let known = Set(named.names.map(ConfigurationReader.variableSegment))
        let added = named.reader.variableSuffixes(below: named.path).filter { !known.contains($0) }
            .map { $0.lowercased().replacing("_", with: ".") }
        settings.kafka.properties = (named.names + added).sorted().compactMap { name in
            guard let (text, origin) = named.text(name) else { return nil }
            if let promise = KafkaPromise.broken(by: name, text) {
                named.report(name, origin, found: promise.found(text), allowed: promise.rule)
                return nil
            }
            named.noteValue(name, text, from: origin, isSecret: KafkaSettings.mayBeSecret(name))
            return KafkaSettings.Property(name: name, value: text)
        }
        if settings.kafka.properties.isEmpty { section.noteValue("properties", nil, from: nil) }
    }

    static func readRedisURL(_ section: ConfigurationSection, _ settings: inout BelfryConfiguration) {
        let url = section.text("url")
        if let (text, origin) = url {
            do throws(RedisEndpointError) {
                settings.redis.endpoints = try RedisEndpoint.list(urls: text)
            } catch {
                let part = error.part.rawValue
                section.report(
                    "url",
                    origin,
                    found: "a URL that is wrong in its \(part): \(error.message)",
                    allowed: RedisSettings.urlRule.form.allowed
                )
            }
        }
        section.noteValue("url", RedisSettings.urlRule.shown(settings.redis.endpoints), from: url?.origin)
    }

    static func readSentinelPassword(_ section: ConfigurationSection, _ settings: inout BelfryConfiguration) {
        let password = section.text("password")
        if let (text, origin) = password {
            settings.redis.sentinel.password = text.isEmpty ? nil : text
            if text.isEmpty { section.report("password", origin, found: "\"\"", allowed: "a text that is not empty") }
        }
        section.noteValue("password", nil, from: password?.origin, isSecret: password != nil)
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
    static let brokersRule = ValueRule<String>.text(
        "host:port, comma-separated",
        pattern: #"^\s*[^\s,]+:[0-9]+(\s*,\s*[^\s,]+:[0-9]+)*\s*$"#
    ) { text in
        let addresses = text.split(separator: ",", omittingEmptySubsequences: false).map {
            HostPort(String($0).trimmed)
        }
        let valid = addresses.compactMap { $0?.description }
        return valid.count == addresses.count && !valid.isEmpty ? valid.joined(separator: ",") : nil
    }

    static let prefixRule = ValueRule<String>.text(
        "at most \(prefixLimit) letters, digits, dots, - and _, as Kafka's names have them",
        pattern: "^[A-Za-z0-9._-]{0,\(prefixLimit)}$"
    ) { text in
        let isName = text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
                true
            default: false
            }
        }
        return isName && text.utf8.count <= prefixLimit ? text : nil
    }

    /// For ``BelfryConfiguration/readKafkaProperties(_:_:)``, which reads them.
    static let propertiesRule = ValueRule<[Property]>(form: .properties, shown: { _ in nil }, parse: { _ in nil })

    /// Brokers that a command line names. Throws `ToolError.invalidInput`.
    public static func brokers(parsing text: String) throws(ToolError) -> String {
        guard let brokers = brokersRule.parse(text) else {
            throw .invalidInput(["brokers: found \"\(text)\"; allowed: \(brokersRule.form.allowed)"])
        }
        return brokers
    }

    /// A property whose value is secret, as its name suggests. A file's place is none.
    fileprivate static func mayBeSecret(_ name: String) -> Bool {
        !name.hasSuffix(".location")
            && ["password", "secret", "key", "jaas", "token", "oauth", "credential", "kinit"]
                .contains { name.lowercased().contains($0) }
    }
}

extension RedisSettings {
    static let timeouts = Duration.milliseconds(100)...(.seconds(300))

    /// Shows no passwords.
    static let urlRule = ValueRule<[RedisEndpoint]>(
        form: .text(
            rule: "redis://[user:password@]host[:port][/db], or rediss:// for TLS; several, comma-separated: "
                + "nodes of a cluster, all with the same scheme, user and password; "
                + "redis+sentinel://[user:password@]host[:port],host[:port]/name[/db], or rediss+sentinel://: "
                + "sentinels of the master of that name",
            pattern: #"^\s*rediss?(\+sentinel)?://"#
        ),
        shown: { $0.map(\.description).joined(separator: ", ") },
        parse: { try? RedisEndpoint.list(urls: $0) }
    )

    fileprivate func check(_ section: ConfigurationSection) {
        let isOfSentinels = endpoint.master != nil
        if isOfSentinels, cluster == .yes {
            section.refuse(
                "cluster",
                found: "true beside sentinels",
                allowed: "auto or false: sentinels name a single server"
            )
        }
        let isCluster = !isOfSentinels && (cluster == .yes || endpoints.count > 1)
        if isCluster, let endpoint = endpoints.first(where: { $0.database != 0 }) {
            section.refuse(
                "url",
                found: "database \(endpoint.database) of a cluster",
                allowed: "database 0: a cluster has no other"
            )
        }
        if cluster == .no, isCluster {
            section.refuse(
                "cluster",
                found: "false beside \(endpoints.count) URLs",
                allowed: "auto or true, or one URL"
            )
        }
        let inside = section.section("tls")
        if tls.keyFile != nil, tls.certificateFile == nil {
            inside.refuse(
                "key",
                found: "a key without redis.tls.certificate",
                allowed: "both, or a certificate whose file holds its key"
            )
        }
        if !endpoint.tls, tls != RedisTLSSettings() {
            // The operator believes that the connection is encrypted.
            inside.refuse(
                inside.names.first ?? "trust",
                found: "a setting for TLS",
                allowed: "only with a URL that begins with rediss:// or rediss+sentinel://"
            )
        }
        inside.reportUnknownKeys()
        sentinel.check(section.section("sentinel"), isOfSentinels: isOfSentinels)
    }
}

extension RedisSentinelSettings {
    fileprivate func check(_ section: ConfigurationSection, isOfSentinels: Bool) {
        if !isOfSentinels, self != RedisSentinelSettings() {
            section.refuse(
                password == nil ? "user" : "password",
                found: "a login for sentinels",
                allowed: "only with a URL that begins with redis+sentinel:// or rediss+sentinel://"
            )
        } else if user != nil, password == nil {
            section.refuse(
                "user",
                found: "a user without redis.sentinel.password",
                allowed: "both, or a password alone for the default user"
            )
        }
        section.reportUnknownKeys()
    }
}

extension WorkerSettings {
    /// - Parameter session: the consumer group's session time-out.
    fileprivate func check(_ section: ConfigurationSection, session: Duration) {
        if dedupeWindow > .zero, !tokenState {
            section.refuse(
                "dedupe-window",
                found: DurationText.format(dedupeWindow),
                allowed: "nothing but 0s while worker.token-state is false: Redis remembers the requests"
            )
        }
        if section.isSet("commit-patience"), commitPatience >= session {
            section.refuse(
                "commit-patience",
                found: DurationText.format(commitPatience),
                allowed: "less than session.timeout.ms of kafka.properties, \(DurationText.format(session))"
            )
        }
        for (key, base, cap) in [("backoff", backoffBase, backoffCap), ("park-probe", parkProbeBase, parkProbeCap)]
        where base > cap {
            section.refuse(
                "\(key)-base",
                found: DurationText.format(base),
                allowed: "at most worker.\(key)-cap, \(DurationText.format(cap))"
            )
        }
    }
}
