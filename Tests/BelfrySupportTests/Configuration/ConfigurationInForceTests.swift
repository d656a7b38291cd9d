import Testing

@testable import BelfrySupport

/// A configuration that is read again while a role works by an older one.
@Suite("A configuration in force") struct ConfigurationInForceTests {
    /// Has every key, of which none needs another one to be there.
    private static let yaml = """
        environments:
          e: {gateways: a, proxy: 'http://p:1', trust: ca.pem, gateway-crl: crl.pem}
          h: {gateways: a, transport: http2, channels: c, trust: ca.pem}
        redis: {url: 'rediss://r', tls: {trust: ca.pem, certificate: c.pem, key: c.key, server-name: r}}
        keys: {directory: keys, team: TEAM123456}
        apps:
          com.example.news:
            {unknown-fate: resend, spread: 2, payload-limit: 300, coalescing-window: 1s, sensitive-data: warn,
             urgent-warm: true, urgent-quota: 9, ttl: 1h, team: TEAM123456, key: KEY}
        operations: {listen: '127.0.0.1:1', bearer-token-file: token, certificate: c.pem}
        """
    private static let worker = ConfigurationKeys.commonSections.union([
        "worker", "apps", "outcomes", "certificates", "keys",
    ])
    private static let roles = [
        ("worker", worker), ("registrar", ConfigurationKeys.commonSections.union(["registrar", "retention"])),
        ("harvester", ConfigurationKeys.commonSections.union(["harvester", "certificates"])),
    ]

    private static func inspect(
        _ yaml: String = yaml,
        _ variables: [String: String] = [:]
    ) throws
        -> ConfigurationInspection
    {
        try BelfryConfiguration.inspect(yaml: yaml, file: "belfry.yaml", directory: "/none", variables: variables)
    }

    private func changes(
        from old: String,
        to new: String,
        sections: Set<String> = worker
    ) throws -> (inForce: ConfigurationInForce, changes: [ConfigurationChange]) {
        let environment = "environments: {e: {gateways: a}}\n"
        var inForce = ConfigurationInForce(try Self.inspect(environment + old), sections: sections)
        let inspection = try Self.inspect(environment + new)
        _ = try inspection.sound()
        let changes = inForce.take(inspection)
        return (inForce, changes)
    }

    /// The keys that a running role applies.
    private static let running = ConfigurationKeys.all.filter { $0.counts != nil }

    // MARK: Each key

    /// Some of these is another value for any key.
    private static let values = [
        "2", "3", "40", "400", "70000", "20000000", "2s", "3s", "2m", "2h", "3h", "0.25", "false", "true", "http2",
        "binary",
        "presume", "refuse", "warn", "send", "all", "debug", "1.3", "end", "other", "bulk", "b:5", "redis://s",
        "http://p:2",
    ]

    /// A configuration that differs in one key, and its value.
    private static func alone(
        _ key: String,
        besides base: ConfigurationInspection
    ) throws -> (ConfigurationInspection, ConfigurationSetting.Value)? {
        let present = base.settings.first { $0.key == key }?.value
        let variable = ConfigurationReader.variableName(of: key.split(separator: ".").map(String.init))
        for value in values {
            let other = try inspect(yaml, [variable: value])
            guard other.problems.isEmpty, let found = other.settings.first(where: { $0.key == key }),
                found.value != present
            else { continue }
            return (other, found.value)
        }
        return nil
    }

    /// Keys that cannot change alone: others would be wrong, or they are.
    private static let tiedKeys: Set = [
        "keys.directory", "redis.url", "redis.sentinel.user", "redis.sentinel.password", "environments.h.transport",
        "environments.h.payload-limit", "environments.e.channels",
    ]

    /// A key as the document writes it.
    private static func pattern(_ key: String) -> String {
        key.replacing("com.example.news", with: "<bundle>")
    }

    @Test("Each key that changes alone is told with both values, and is taken over by the roles that the table names")
    func everyKey() throws {
        let base = try Self.inspect()
        #expect(base.problems == [])
        var applied: Set<String> = []
        var pending: Set<String> = []
        for setting in base.settings where setting.key != "kafka.properties" {
            guard !Self.tiedKeys.contains(setting.key) else { continue }
            let (changed, value) = try #require(try Self.alone(setting.key, besides: base), "\(setting.key)")
            for (role, sections) in Self.roles {
                var inForce = ConfigurationInForce(base, sections: sections)
                let changes = inForce.take(changed).filter { $0.key == setting.key }
                guard sections.contains(String(setting.key.prefix { $0 != "." })) else {
                    #expect(changes == [] && inForce.configuration == base.configuration, "\(role): \(setting.key)")
                    continue
                }
                let isApplied = Self.running.contains {
                    $0.path == Self.pattern(setting.key) && $0.roles.contains(role)
                }
                let expected = ConfigurationChange(
                    key: setting.key,
                    old: setting.value,
                    new: value,
                    isApplied: isApplied
                )
                #expect(changes == [expected], "\(role)")
                #expect(inForce.configuration == (isApplied ? changed : base).configuration, "\(role): \(setting.key)")
                #expect(inForce.restartNeeded.contains(expected) == !isApplied)
                if isApplied { applied.insert(Self.pattern(setting.key)) } else { pending.insert(setting.key) }
                #expect(inForce.take(changed).contains(expected) == !isApplied, "told again if it is not applied")
            }
        }
        #expect(applied == Set(Self.running.map(\.path)))
        #expect(pending.count > 50 && pending.contains("worker.shards") && pending.contains("kafka.brokers"))
    }

    @Test("No key stands in the table twice, and each is explained and read by a role")
    func table() {
        let keys = ConfigurationKeys.all.map(\.path)
        #expect(Set(keys).count == keys.count)
        #expect(ConfigurationKeys.all.allSatisfy { !$0.roles.isEmpty && !$0.meaning.isEmpty })
        for (role, sections) in Self.roles { #expect(ConfigurationKeys.sections(of: role) == sections) }
    }

    // MARK: Several keys

    @Test("What needs a restart stays so until the configuration says again what is in force; the rest is applied")
    func pending() throws {
        let base = try Self.inspect()
        var inForce = ConfigurationInForce(base, sections: Self.worker)
        let first = try Self.inspect(Self.yaml + "\nworker: {shards: 5, max-uncommitted: 7, batch: 9}")
        #expect(inForce.take(first).map(\.key) == ["worker.shards", "worker.batch", "worker.max-uncommitted"])
        #expect(inForce.restartNeeded.map(\.key) == ["worker.shards", "worker.batch"])
        #expect(inForce.configuration.worker.maxUncommitted == 7 && inForce.configuration.worker.shards == 2)
        let second = try Self.inspect(Self.yaml + "\nworker: {shards: 5, max-uncommitted: 7}")
        #expect(inForce.take(second).map(\.key) == ["worker.shards"] && inForce.restartNeeded.count == 1)
        #expect(inForce.take(base).map(\.key) == ["worker.max-uncommitted"] && inForce.restartNeeded == [])
        #expect(inForce.configuration == base.configuration)
    }

    @Test("An environment that comes, changes or goes is told, and needs a restart")
    func environments() throws {
        let base = try Self.inspect("environments: {a: {gateways: x}}")
        var inForce = ConfigurationInForce(base, sections: Self.worker)
        let changes = inForce.take(try Self.inspect("environments: {b: {gateways: x}}"))
        #expect(changes.allSatisfy { !$0.isApplied })
        let gateways = changes.filter { $0.key.hasSuffix("gateways") }
        #expect(gateways.map(\.key) == ["environments.b.gateways", "environments.a.gateways"])
        #expect(gateways.map(\.new) == [.shown("x:2195"), .shown(nil)])
        #expect(inForce.configuration == base.configuration)
    }

    // MARK: Topics

    @Test("A bundle's new entry is taken over, and a removed one is gone")
    func topicEntries() throws {
        let (added, changes) = try changes(from: "", to: "apps: {a.b: {coalescing-window: 3s}}")
        #expect(
            changes == [
                ConfigurationChange(
                    key: "apps.a.b.coalescing-window",
                    old: .shown(nil),
                    new: .shown("3s"),
                    isApplied: true
                )
            ]
        )
        #expect(added.configuration.apps["a.b"]?.coalescingWindow == .seconds(3))
        let (removed, _) = try self.changes(from: "apps: {a.b: {spread: 3}}", to: "")
        #expect(removed.configuration.apps == [:])
    }

    @Test("An entry that says nothing names its bundle, which is told too")
    func emptyEntry() throws {
        let (inForce, changes) = try changes(from: "apps: {x: {spread: 1}}", to: "apps: {x: {spread: 1}, a.b: {}}")
        #expect(
            changes == [
                ConfigurationChange(key: "apps.a.b", old: .shown(nil), new: .shown("an entry"), isApplied: true)
            ]
        )
        #expect(Set(inForce.configuration.apps.keys) == ["x", "a.b"])
    }

    @Test("The provider key of a topic needs a restart; what stands beside it does not")
    func topicKeys() throws {
        let keys = "keys: {directory: k, team: TEAM123456}\n"
        let (inForce, changes) = try changes(
            from: keys + "apps: {a.b: {key: OLD, spread: 2}}",
            to: keys + "apps: {a.b: {key: NEW, spread: 3}, a.c: {team: OTHER, spread: 4}}"
        )
        #expect(Set(changes.filter { !$0.isApplied }.map(\.key)) == ["apps.a.b.key", "apps.a.c.team"])
        #expect(inForce.configuration.apps["a.b"]?.key == "OLD" && inForce.configuration.apps["a.b"]?.spread == 3)
        #expect(inForce.configuration.apps["a.c"]?.team == nil && inForce.configuration.apps["a.c"]?.spread == 4)
        let (without, _) = try self.changes(from: keys + "apps: {a.b: {key: OLD, spread: 2}}", to: keys)
        #expect(without.configuration.apps["a.b"]?.key == "OLD" && without.configuration.apps["a.b"]?.spread == nil)
    }

    // MARK: Secrets

    @Test(
        "A secret that changes is told without either value",
        arguments: [
            ("kafka: {properties: {sasl.password: sesame}}", "kafka: {properties: {sasl.password: hush}}"),
            ("kafka: {properties: {sasl.password: sesame}}", ""),
            ("redis: {url: 'redis://me:sesame@cache'}", "redis: {url: 'redis://me:hush@cache'}"),
            (
                "redis: {url: 'redis+sentinel://a/news', sentinel: {password: sesame}}",
                "redis: {url: 'redis+sentinel://a/news', sentinel: {password: hush}}"
            ),
        ]
    )
    func secrets(old: String, new: String) throws {
        let (inForce, changes) = try changes(from: old, to: new)
        #expect(changes.count == 1 && changes.allSatisfy { !$0.isApplied && $0.old.text != "not set" })
        let told = changes.map { "\($0.key) \($0.old.text) \($0.new.text)" }.joined()
        #expect(!told.contains("sesame") && !told.contains("hush"))
        #expect(inForce.restartNeeded == changes)
        let (_, same) = try self.changes(from: old, to: old)
        #expect(same == [])
    }
}
