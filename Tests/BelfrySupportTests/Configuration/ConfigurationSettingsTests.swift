import Testing

@testable import BelfrySupport

/// The values in force, as operators who look at a configuration see them.
@Suite struct ConfigurationSettingsTests {
    private static let yaml = """
        environments:
          sandbox: {gateways: "a, b:7", trust: pki/ca.pem, transport: http2}
        worker: {shards: 4, connection-max-age: 12h, token-state: false, invalid-token-share: 0.25}
        redis: {url: 'redis://me:sesame@cache/2'}
        kafka:
          properties: {session.timeout.ms: 6000, ssl.key.location: /keys/k.pem, sasl.password: sesame, linger.ms: 5}
        apps: {a.b: {spread: 16}}
        """

    private func inspect(_ yaml: String = yaml, _ variables: [String: String] = [:]) throws -> ConfigurationInspection {
        try BelfryConfiguration.inspect(
            yaml: yaml,
            file: "belfry.yaml",
            directory: "/etc/belfry",
            variables: variables,
            readFile: { $0 == "/run/secret" ? "hush\n" : nil }
        )
    }

    private func setting(_ key: String, in inspection: ConfigurationInspection) -> ConfigurationSetting? {
        inspection.settings.first { $0.key == key }
    }

    @Test("Every setting has its value in force and the place that gave it: file, variable or default")
    func origins() throws {
        let inspection = try inspect(Self.yaml, ["BELFRY_WORKER_SHARDS": "7"])
        let expected: [(String, String?, ConfigurationOrigin?)] = [
            ("worker.shards", "7", .variable("BELFRY_WORKER_SHARDS")),
            ("worker.connection-max-age", "12h", .file("belfry.yaml", line: 3)),
            ("worker.token-state", "false", .file("belfry.yaml", line: 3)),
            ("worker.invalid-token-share", "0.25", .file("belfry.yaml", line: 3)),
            ("worker.unknown-fate", "resend", nil),
            ("worker.dedupe-window", "0s", nil),
            ("worker.commit-patience", "2s", nil),
            ("retention.tombstones", "90d", nil),
            ("harvester.interval", "1h", nil),
            ("operations.listen", nil, nil),
            ("keys.directory", nil, nil),
            ("kafka.brokers", "127.0.0.1:9092", nil),
            ("environments.sandbox.gateways", "a:443, b:7", .file("belfry.yaml", line: 2)),
            ("environments.sandbox.token-limit", "100", nil),
            ("environments.sandbox.payload-limit", nil, nil),
            ("apps.a.b.spread", "16", .file("belfry.yaml", line: 7)),
        ]
        for (key, value, origin) in expected {
            let found = try #require(setting(key, in: inspection), "\(key)")
            #expect(found.value == .shown(value) && found.origin == origin, "\(found)")
        }
        #expect(inspection.problems.isEmpty && inspection.configuration.worker.shards == 7)
        #expect(Set(inspection.settings.map(\.key)).count == inspection.settings.count, "each key once")
    }

    @Test("A secret is never shown, wherever it comes from; a file's place and the rest of a URL are")
    func secrets() throws {
        let inspection = try inspect(
            Self.yaml,
            [
                "BELFRY_KAFKA_PROPERTIES_SASL_JAAS_CONFIG": "sesame",
                "BELFRY_KAFKA_PROPERTIES_SSL_KEY_PASSWORD_FILE": "/run/secret",
            ]
        )
        for name in ["sasl.password", "sasl.jaas.config", "ssl.key.password"] {
            #expect(setting("kafka.properties.\(name)", in: inspection)?.value == .hidden, "\(name)")
        }
        #expect(setting("redis.url", in: inspection)?.value == .shown("redis://me:***@cache:6379/2"))
        #expect(setting("kafka.properties.ssl.key.location", in: inspection)?.value == .shown("/keys/k.pem"))
        #expect(setting("kafka.properties.linger.ms", in: inspection)?.value == .shown("5"))
        let all = "\(inspection.settings)"
        #expect(!all.contains("sesame") && !all.contains("hush"))
    }

    @Test("A path is shown as it is opened, from the directory of the file")
    func paths() throws {
        let inspection = try inspect()
        #expect(setting("environments.sandbox.trust", in: inspection)?.value == .shown("/etc/belfry/pki/ca.pem"))
        #expect(setting("certificates.directory", in: inspection)?.value == .shown("/etc/belfry/certificates"))
    }

    @Test("Keys of a topic that are not set are left out: the worker's values hold")
    func topics() throws {
        let keys = try inspect().settings.map(\.key).filter { $0.hasPrefix("apps.") }
        #expect(keys == ["apps.a.b.spread"])
    }

    @Test("A configuration that is wrong is handed over with all its problems, its other values in force")
    func problems() throws {
        let inspection = try inspect("worker: {shards: 0, batch: 5}\noutcomes: some\n")
        #expect(inspection.problems.map(\.key) == ["worker.shards", "outcomes", "environments"])
        #expect(inspection.configuration.worker.batch == 5 && inspection.configuration.worker.shards == 2)
        #expect(throws: ConfigurationError(inspection.problems)) { try inspection.sound() }
    }
}
