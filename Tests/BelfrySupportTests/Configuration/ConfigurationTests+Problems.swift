import Foundation
import Testing

@testable import BelfrySupport

private let redisURLRule =
    "allowed: redis://[user:password@]host[:port][/db], or rediss:// for TLS; several, comma-separated: "
    + "nodes of a cluster, all with the same scheme, user and password; "
    + "redis+sentinel://[user:password@]host[:port],host[:port]/name[/db], or rediss+sentinel://: "
    + "sentinels of the master of that name"

@Suite("Configuration that is wrong")
struct ConfigurationProblemTests {
    /// Each stands on line 2 of a file that is right otherwise.
    @Test(
        "A value that is wrong names its key, the file and line, what was found and what is allowed",
        arguments: [
            ("worker: {shards: 0}", "worker.shards: found \"0\"; allowed: a whole number, 1...256"),
            ("worker: {shards: 257}", "worker.shards: found \"257\"; allowed: a whole number, 1...256"),
            ("worker: {shards: two}", "worker.shards: found \"two\"; allowed: a whole number, 1...256"),
            ("worker: {shards: 1.5}", "worker.shards: found \"1.5\"; allowed: a whole number, 1...256"),
            ("worker: {shards: [1]}", "worker.shards: found a list; allowed: a single value"),
            ("worker: {shards: {a: 1}}", "worker.shards: found a mapping; allowed: a single value"),
            ("worker: 3", "worker: found a single value; allowed: a mapping of keys to values"),
            ("worker: [shards]", "worker: found a list; allowed: a mapping of keys to values"),
            (
                "worker: {confirmation-window: 2}",
                "worker.confirmation-window: found \"2\"; allowed: a duration such as 500ms, 2s, 1m or 6h, 100ms...5m"
            ),
            (
                "worker: {confirmation-window: 1ms}",
                "worker.confirmation-window: found \"1ms\"; allowed: a duration such as 500ms, 2s, 1m or 6h, 100ms...5m"
            ),
            (
                "worker: {unknown-fate: again}",
                "worker.unknown-fate: found \"again\"; allowed: resend, presume, give-up"
            ),
            ("worker: {token-state: yes}", "worker.token-state: found \"yes\"; allowed: true or false"),
            ("worker: {group-id: ''}", "worker.group-id: found \"\"; allowed: a text that is not empty"),
            (
                "worker: {invalid-token-share: 2}",
                "worker.invalid-token-share: found \"2\"; allowed: a number, 0.01...1.0"
            ),
            (
                "worker: {invalid-token-share: nan}",
                "worker.invalid-token-share: found \"nan\"; allowed: a number, 0.01...1.0"
            ),
            (
                "worker: {park-probe-base: 5m, park-probe-cap: 1m}",
                "worker.park-probe-base: found 5m; allowed: at most worker.park-probe-cap, 1m"
            ),
            (
                "worker: {backoff-base: 5s, backoff-cap: 1s}",
                "worker.backoff-base: found 5s; allowed: at most worker.backoff-cap, 1s"
            ),
            (
                "worker: {peer-timeout: 999ms}",
                "worker.peer-timeout: found \"999ms\"; allowed: a duration such as 500ms, 2s, 1m or 6h, 1s...5m"
            ),
            (
                "worker: {commit-patience: 0s}",
                "worker.commit-patience: found \"0s\"; allowed: a duration such as 500ms, 2s, 1m or 6h, 1s...5m"
            ),
            (
                "worker: {commit-patience: 45s}",
                "worker.commit-patience: found 45s; allowed: less than session.timeout.ms of kafka.properties, 45s"
            ),
            (
                "worker: {shard-memory: 16777215}",
                "worker.shard-memory: found \"16777215\"; allowed: a whole number, 16777216...1099511627776"
            ),
            (
                "worker: {topic-memory: 16777215}",
                "worker.topic-memory: found \"16777215\"; allowed: a whole number, 16777216...1099511627776"
            ),
            ("kafka: {brokers: localhost}", "kafka.brokers: found \"localhost\"; allowed: host:port, comma-separated"),
            ("kafka: {brokers: 'a:1,'}", "kafka.brokers: found \"a:1,\"; allowed: host:port, comma-separated"),
            (
                "kafka: {commit-metadata: 31}",
                "kafka.commit-metadata: found \"31\"; allowed: a whole number, 32...32767"
            ),
            (
                "kafka: {properties: {group.id: x}}",
                "kafka.properties.group.id: found a property that belfry sets itself; allowed: librdkafka's others; "
                    + "the brokers are kafka.brokers, the group is <role>.group-id"
            ),
            (
                "kafka: {properties: {acks: 1}}",
                "kafka.properties.acks: found \"1\"; "
                    + "allowed: all, -1: a record is published when all in-sync replicas have it"
            ),
            (
                "redis: {url: http://localhost}",
                "redis.url: found a URL that is wrong in its scheme: must be one of redis://, rediss://, "
                    + "redis+sentinel://, rediss+sentinel://; " + redisURLRule
            ),
            (
                "redis: {url: 'redis://a,rediss://b'}",
                "redis.url: found a URL that is wrong in its scheme: all URLs must have the same; " + redisURLRule
            ),
            (
                "redis: {url: 'redis://a,redis://b/1'}",
                "redis.url: found database 1 of a cluster; allowed: database 0: a cluster has no other"
            ),
            (
                "redis: {url: 'redis://a/2', cluster: true}",
                "redis.url: found database 2 of a cluster; allowed: database 0: a cluster has no other"
            ),
            (
                "redis: {url: 'redis://a,redis://b', cluster: false}",
                "redis.cluster: found false beside 2 URLs; allowed: auto or true, or one URL"
            ),
            ("redis: {cluster: maybe}", "redis.cluster: found \"maybe\"; allowed: auto, true, false"),
            (
                "redis: {url: 'rediss://a', tls: {key: k.pem}}",
                "redis.tls.key: found a key without redis.tls.certificate; "
                    + "allowed: both, or a certificate whose file holds its key"
            ),
            (
                "redis: {tls: {trust: ca.pem}}",
                "redis.tls.trust: found a setting for TLS; "
                    + "allowed: only with a URL that begins with rediss:// or rediss+sentinel://"
            ),
            ("redis: {durability: hope}", "redis.durability: found \"hope\"; allowed: warn, refuse"),
            (
                "redis: {replay: 2d}",
                "redis.replay: found \"2d\"; allowed: a duration such as 500ms, 2s, 1m or 6h, 0ms...1d"
            ),
            ("redis: {when-away: stop}", "redis.when-away: found \"stop\"; allowed: wait, send"),
            (
                "redis: {away-after: 2m}",
                "redis.away-after: found \"2m\"; allowed: a duration such as 500ms, 2s, 1m or 6h, 10ms...1m"
            ),
            (
                "worker: {dedupe-window: 25h}",
                "worker.dedupe-window: found \"25h\"; allowed: a duration such as 500ms, 2s, 1m or 6h, 0ms...1d"
            ),
            (
                "worker: {coalescing-window: 31s}",
                "worker.coalescing-window: found \"31s\"; allowed: a duration such as 500ms, 2s, 1m or 6h, 0ms...30s"
            ),
            (
                "apps: {a.b: {coalescing-window: soon}}",
                "apps.a.b.coalescing-window: found \"soon\"; "
                    + "allowed: a duration such as 500ms, 2s, 1m or 6h, 0ms...30s"
            ),
            (
                "worker: {dedupe-window: 1h, token-state: false}",
                "worker.dedupe-window: found 1h; "
                    + "allowed: nothing but 0s while worker.token-state is false: Redis remembers the requests"
            ),
            ("outcomes: some", "outcomes: found \"some\"; allowed: failures, all, none"),
            ("operations: {listen: '9464'}", "operations.listen: found \"9464\"; allowed: host:port"),
            (
                "apps: {'a b': {}}",
                "apps.a b: found the bundle ID has a character other than letters, digits, '.', '-' and '_': "
                    + "a space at byte 1; allowed: a bundle ID"
            ),
            ("apps: {a.b: {spread: 0}}", "apps.a.b.spread: found \"0\"; allowed: a whole number, 1...65536"),
            (
                "apps: {a.b: {payload-limit: 255}}",
                "apps.a.b.payload-limit: found \"255\"; allowed: a whole number, 256...2048"
            ),
            (
                "apps: {a.b: {ttl: 31d}}",
                "apps.a.b.ttl: found \"31d\"; allowed: a duration such as 500ms, 2s, 1m or 6h, 0ms...30d"
            ),
            (
                "apps: {a.b: {urgent-quota: -1}}",
                "apps.a.b.urgent-quota: found \"-1\"; allowed: a whole number, 0...100000000"
            ),
            (
                "apps: {a.b: {sensitive-data: reject}}",
                "apps.a.b.sensitive-data: found \"reject\"; allowed: off, warn, refuse"
            ),
            (
                "keys: {directory: keys, team: DEF-123}",
                "keys.team: found \"DEF-123\"; allowed: 1 to 32 letters and digits"
            ),
            (
                "keys: {team: DEF123GHIJ}",
                "keys.team: found a team without keys.directory; allowed: a team beside keys.directory"
            ),
            (
                "apps: {a.b: {team: DEF123GHIJ}}",
                "apps.a.b.team: found a team without keys.directory; allowed: a team beside keys.directory"
            ),
            (
                "apps: {a.b: {key: ABC123DEFG}}",
                "apps.a.b.key: found a key without keys.directory; allowed: a key beside keys.directory"
            ),
            (
                "apps: {a.b: {key: ABC123DEFG}}\nkeys: {directory: keys}",
                "apps.a.b.key: found a key without its team; allowed: a key beside team, or beside keys.team"
            ),
            (
                "worker: {request-timeout: 500ms}",
                "worker.request-timeout: found \"500ms\"; allowed: a duration such as 500ms, 2s, 1m or 6h, 1s...5m"
            ),
            (
                "log: {level: loud}",
                "log.level: found \"loud\"; allowed: trace, debug, info, notice, warning, error, critical"
            ),
            (
                "workers: {}",
                "workers: found an unknown key; allowed: worker, apps, certificates, environments, harvester, "
                    + "kafka, keys, log, operations, outcomes, redis, registrar, retention"
            ),
            (
                "harvester: {intervall: 1h}",
                "harvester.intervall: found an unknown key; allowed: interval, connect-timeout, lease"
            ),
            (
                "retention: {tombstones: 90s}",
                "retention.tombstones: found \"90s\"; allowed: 0s (keep), or a duration of 1h...36500d"
            ),
        ] as [(String, String)]
    )
    func wrongValue(line: String, expected: String) {
        let problems = problems(in: "environments: {sandbox: {gateways: localhost}}\n\(line)\n")
        #expect(problems == ["belfry.yaml:2: \(expected)"])
    }

    @Test("A section with its present and its former name is one too many")
    func bothNames() {
        #expect(
            problems(in: "environments: {sandbox: {gateways: a}}\napps: {a.b: {}}\ntopics: {a.c: {}}\n")
                == ["belfry.yaml:3: apps: found both apps and topics, which is the same section; allowed: one of them"]
        )
    }

    /// Each is the whole file.
    @Test(
        "An environment that is wrong is named the same way",
        arguments: [
            (
                "environments:\n  sandbox:\n    transport: http3\n    gateways: a",
                "belfry.yaml:3: environments.sandbox.transport: found \"http3\"; allowed: binary, http2"
            ),
            (
                "environments:\n  sandbox:\n    transport: http2\n    gateways: a\n    payload-limit: 2048",
                "belfry.yaml:5: environments.sandbox.payload-limit: found a limit with transport http2; "
                    + "allowed: none: 4096 bytes, and 5120 for the push type voip"
            ),
            (
                "environments:\n  sandbox: {transport: http2}",
                "belfry.yaml: environments.sandbox.gateways: found nothing; "
                    + "allowed: a list of addresses, each host or host:port (port 443 if none is given)"
            ),
            (
                "environments:\n  sandbox:\n    gateways:\n      - a:1\n      - a:x",
                "belfry.yaml:5: environments.sandbox.gateways: found \"a:x\"; "
                    + "allowed: a list of addresses, each host or host:port (port 2195 if none is given)"
            ),
            (
                "environments:\n  sandbox:\n    gateways: a\n    tls-minimum: 1.1",
                "belfry.yaml:4: environments.sandbox.tls-minimum: found \"1.1\"; allowed: 1.2, 1.3"
            ),
            (
                "environments:\n  sandbox:\n    gateways: a\n    gateway-crl: crl.pem",
                "belfry.yaml:4: environments.sandbox.gateway-crl: found a revocation list without trust; "
                    + "allowed: a list beside trust, which holds the certificate of the authority that signs it"
            ),
            (
                "environments:\n  sandbox: {feedback: a}",
                "belfry.yaml: environments.sandbox.gateways: found nothing; "
                    + "allowed: a list of addresses, each host or host:port (port 2195 if none is given)"
            ),
            (
                "environments:\n  sandbox: {gateways: []}",
                "belfry.yaml: environments.sandbox.gateways: found nothing; "
                    + "allowed: a list of addresses, each host or host:port (port 2195 if none is given)"
            ),
            (
                "environments:\n  Sand box: {gateways: a}",
                "belfry.yaml:2: environments.Sand box: found the name \"Sand box\"; "
                    + "allowed: a name of 1...32 letters a-z, digits and hyphens"
            ),
            (
                "kafka: {}",
                "belfry.yaml: environments: found nothing; allowed: at least one environment with its gateways"
            ),
        ] as [(String, String)]
    )
    func wrongEnvironment(yaml: String, expected: String) {
        #expect(problems(in: yaml) == [expected])
    }

    @Test("Where no file was given, what is missing is told with the option that gives one")
    func noFile() {
        let error = #expect(throws: ConfigurationError.self) {
            try BelfryConfiguration.load(path: nil, variables: [:])
        }
        #expect(
            error?.description
                == "no configuration file was given (--config FILE): environments: found nothing; "
                + "allowed: at least one environment with its gateways"
        )
    }

    @Test("All problems are told at once, in the order of the keys")
    func allAtOnce() {
        let problems = problems(
            in: """
                worker:
                  shards: 0
                  batch: x
                outcomes: some
                environments: {sandbox: {gateways: "a:b"}}
                typo: 1
                """
        )
        #expect(
            problems.map { $0.split(separator: ": ")[0] } == [
                "belfry.yaml:5", "belfry.yaml:2", "belfry.yaml:3", "belfry.yaml:4", "belfry.yaml:6",
            ]
        )
    }

    @Test("The roles that need no environment may go without")
    func withoutEnvironments() throws {
        let configuration = try BelfryConfiguration.load(
            yaml: "kafka: {brokers: 'a:1'}",
            file: "belfry.yaml",
            directory: nil,
            variables: [:],
            requiresEnvironments: false
        )
        #expect(configuration.environments.isEmpty)
    }

    @Test(
        "Text that is not YAML, and a key that stands twice, name the line",
        arguments: [
            ("a: 1\nb: [", 3), ("a: 1\n\tb: 2", 2), ("worker:\n  shards: 1\n  shards: 2", 2), ("a: *b", 1),
        ] as [(String, Int)]
    )
    func notYAML(yaml: String, line: Int) {
        let problems = problems(in: yaml)
        #expect(problems.count == 1)
        #expect(problems[0].hasPrefix("belfry.yaml:\(line): found "), "\(problems)")
        #expect(problems[0].hasSuffix("; allowed: YAML"))
    }

    @Test("A password never gets into a message")
    func secrets() {
        let cases = [
            "redis: {url: 'redis://u:hunter2@host:x'}", "redis: {url: ['redis://u:hunter2@host']}",
            "redis: {url: 'redis://hunter2'}\nworker: {shards: 0}",
            "redis: {url: 'redis+sentinel://u:hunter2@a,b'}", "redis: {sentinel: {password: hunter2}}",
            "kafka: {properties: {sasl.password: [hunter2]}}",
        ]
        for yaml in cases {
            let text = problems(in: "environments: {sandbox: {gateways: localhost}}\n" + yaml).joined()
            #expect(!text.isEmpty, "\(yaml)")
            #expect(!text.contains("hunter2"), "\(text)")
        }
    }

    @Test("A file that cannot be read is a problem of its own")
    func unreadable() throws {
        let missing = FileManager.default.temporaryDirectory.appendingPathComponent("belfry-\(UUID().uuidString).yaml")
            .path
        let error = #expect(throws: ConfigurationError.self) {
            try BelfryConfiguration.load(path: missing, variables: [:])
        }
        #expect(error?.description == "\(missing): found no file that can be read; allowed: a readable YAML file")
        try Data([0xFF, 0xFE, 0x00]).write(to: URL(fileURLWithPath: missing))
        defer { try? FileManager.default.removeItem(atPath: missing) }
        let second = #expect(throws: ConfigurationError.self) {
            try BelfryConfiguration.load(path: missing, variables: [:])
        }
        #expect(second?.description.contains("bytes that are not UTF-8") == true)
    }

    @Test("A file is read from disk, and its paths start from its directory")
    func fromDisk() throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("belfry-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let file = directory.appendingPathComponent("b.yaml").path
        try Data("environments: {sandbox: {gateways: localhost, trust: ca.pem}}".utf8).write(
            to: URL(fileURLWithPath: file)
        )
        let configuration = try BelfryConfiguration.load(path: file, variables: [:])
        #expect(configuration.environments[0].trustFile == directory.path + "/ca.pem")
    }

    private func problems(in yaml: String) -> [String] {
        do throws(ConfigurationError) {
            _ = try BelfryConfiguration.load(yaml: yaml, file: "belfry.yaml", directory: nil, variables: [:])
            return []
        } catch {
            return error.problems.map(\.description)
        }
    }
}
