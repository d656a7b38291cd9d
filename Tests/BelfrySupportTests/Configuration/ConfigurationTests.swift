import PipelineCore
import PushTopics
import RedisClient
import Testing

@testable import BelfrySupport

@Suite("Configuration")
struct ConfigurationTests {
    @Test("The design's example is read as it stands")
    func example() throws {
        let configuration = try load(
            """
            kafka:
              brokers: 127.0.0.1:9092
              properties: {}                   # handed to librdkafka as they are
            redis:
              url: redis://127.0.0.1:6379
            environments:
              sandbox:
                transport: binary
                gateways: [127.0.0.1:2195]
                feedback: 127.0.0.1:2196
                trust: pki/ca.pem
            certificates: {directory: certificates}
            worker: {shards: 2, connections-per-topic: 2, confirmation-window: 2s, unknown-fate: resend,
                     max-uncommitted: 500000}
            apps: {com.example.news: {unknown-fate: presume}}
            outcomes: failures
            operations: {listen: 127.0.0.1:9464}
            """,
            directory: "/etc/belfry"
        )
        #expect(configuration.kafka.brokers == "127.0.0.1:9092")
        #expect(configuration.redis.endpoint == RedisEndpoint(host: "127.0.0.1", port: 6379))
        let sandbox = try #require(configuration.environment(named: "sandbox"))
        #expect(sandbox.gateways == [HostPort(host: "127.0.0.1", port: 2195)])
        #expect(sandbox.feedback == HostPort(host: "127.0.0.1", port: 2196))
        #expect(sandbox.trustFile == "/etc/belfry/pki/ca.pem")
        #expect(configuration.certificates.directory == "/etc/belfry/certificates")
        #expect(configuration.worker == WorkerSettings())
        #expect(configuration.topic("com.example.news", in: sandbox).unknownFate == .presume)
        #expect(configuration.topic("com.example.other", in: sandbox).unknownFate == .resend)
        #expect(configuration.outcomes == .failures)
        #expect(configuration.operations.listen == HostPort(host: "127.0.0.1", port: 9464))
    }

    @Test("What is not said has its default")
    func defaults() throws {
        let configuration = try load("environments: {sandbox: {gateways: localhost}}")
        var expected = BelfryConfiguration()
        expected.environments = [
            EnvironmentSettings(name: "sandbox", gateways: [HostPort(host: "localhost", port: 2195)])
        ]
        #expect(configuration == expected)
        #expect(configuration.worker.confirmationWindow == .seconds(2))
        #expect(configuration.worker.stopTimeout == .seconds(30))
        #expect(configuration.worker.peerTimeout == .seconds(10))
        #expect(configuration.worker.requestTimeout == .seconds(10))
        #expect(configuration.worker.commitPatience == .seconds(15), "a third of the session time-out")
        #expect(configuration.worker.shardMemoryBytes == 1_073_741_824)
        #expect(configuration.worker.topicMemoryBytes == 536_870_912)
        #expect(configuration.worker.invalidTokenSample == 100)
        #expect(configuration.environments[0].payloadLimitBytes == 256)
    }

    @Test("An environment names its oldest TLS version and its revocation list, in the file and in variables")
    func transportSecurity() throws {
        let file = try load(
            "environments: {sandbox: {gateways: a, trust: ca.pem, tls-minimum: 1.3, gateway-crl: lists/crl.pem}}",
            directory: "/etc/belfry"
        ).environments[0]
        #expect(file.minimumTLS == .tls13 && file.revocationFile == "/etc/belfry/lists/crl.pem")
        #expect(try load("environments: {sandbox: {gateways: a}}").environments[0].minimumTLS == .tls12)
        let variables = try BelfryConfiguration.load(
            yaml: nil,
            file: nil,
            directory: nil,
            variables: [
                "BELFRY_ENVIRONMENTS_SANDBOX_GATEWAYS": "a",
                "BELFRY_ENVIRONMENTS_SANDBOX_TRUST": "ca.pem",
                "BELFRY_ENVIRONMENTS_SANDBOX_TLS_MINIMUM": "1.3",
                "BELFRY_ENVIRONMENTS_SANDBOX_GATEWAY_CRL": "crl.pem",
            ]
        ).environments
        #expect(variables.count == 1 && variables[0].minimumTLS == .tls13 && variables[0].revocationFile == "crl.pem")
    }

    @Test("A worker's patience with commits follows the session time-out of its group")
    func commitPatience() throws {
        for (milliseconds, patience) in [("6000", Duration.seconds(2)), ("1500", .seconds(1))] {
            let configuration = try load(
                """
                environments: {sandbox: {gateways: localhost}}
                kafka: {properties: {session.timeout.ms: "\(milliseconds)"}}
                """
            )
            #expect(configuration.worker.commitPatience == patience)
        }
    }

    @Test("The room for metadata beside an offset is 4096 bytes unless it is set")
    func commitMetadata() throws {
        #expect(KafkaSettings().commitMetadataBytes == 4096)
        let configuration = try load("{environments: {sandbox: {gateways: a}}, kafka: {commit-metadata: 32767}}")
        #expect(configuration.kafka.commitMetadataBytes == 32_767)
    }

    @Test("Every key of the worker is read into the setting of its name")
    func workerKeys() throws {
        let worker = try load(
            """
            environments: {sandbox: {gateways: localhost}}
            worker:
              shards: 7
              group-id: g
              batch: 11
              connections-per-topic: 3
              confirmation-window: 1500ms
              unknown-fate: give-up
              max-uncommitted: 13
              in-flight-per-connection: 17
              in-flight-bytes: 65537
              sentinel-timeout: 9s
              connection-max-age: 12h
              idle-timeout: 20m
              processing-attempts: 2
              retry-for: 31s
              connect-timeout: 3s
              backoff-base: 200ms
              backoff-cap: 2m
              connections-per-minute: 19
              invalid-token-share: 0.25
              invalid-token-sample: 23
              park-after: 90s
              park-probe-base: 5s
              park-probe-cap: 4m
              certificate-grace: 2h
              token-state: true
              tombstone-filter: false
              filter-max-age: 45s
              filter-memory: 1048577
              dedupe-window: 6h
              coalescing-window: 3s
              peer-timeout: 7s
              request-timeout: 8s
              commit-patience: 12s
              shard-memory: 33554432
              topic-memory: 16777216
              stop-timeout: 1m
              revoke-deadline: 4s
            """
        ).worker
        var expected = WorkerSettings()
        expected.shards = 7
        expected.groupID = "g"
        expected.batch = 11
        expected.connectionsPerTopic = 3
        expected.confirmationWindow = .milliseconds(1500)
        expected.unknownFate = .giveUp
        expected.maxUncommitted = 13
        expected.inFlightPerConnection = 17
        expected.inFlightBytes = 65_537
        expected.sentinelTimeout = .seconds(9)
        expected.connectionMaxAge = .seconds(43_200)
        expected.idleTimeout = .seconds(1200)
        expected.processingAttempts = 2
        expected.retryFor = .seconds(31)
        expected.connectTimeout = .seconds(3)
        expected.backoffBase = .milliseconds(200)
        expected.backoffCap = .seconds(120)
        expected.connectionsPerMinute = 19
        expected.invalidTokenShare = 0.25
        expected.invalidTokenSample = 23
        expected.parkAfter = .seconds(90)
        expected.parkProbeBase = .seconds(5)
        expected.parkProbeCap = .seconds(240)
        expected.certificateGrace = .seconds(7200)
        expected.tombstoneFilter = false
        expected.filterMaxAge = .seconds(45)
        expected.filterMemoryBytes = 1_048_577
        expected.dedupeWindow = .seconds(21_600)
        expected.coalescingWindow = .seconds(3)
        expected.peerTimeout = .seconds(7)
        expected.requestTimeout = .seconds(8)
        expected.commitPatience = .seconds(12)
        expected.shardMemoryBytes = 33_554_432
        expected.topicMemoryBytes = 16_777_216
        expected.stopTimeout = .seconds(60)
        expected.revokeDeadline = .seconds(4)
        #expect(worker == expected)
    }

    @Test("Every key of Redis is read into the setting of its name; file names count from the file's directory")
    func redisKeys() throws {
        let redis = try load(
            """
            environments: {sandbox: {gateways: localhost}}
            redis:
              url: rediss://u:p@a:1, rediss://u:p@b:2
              cluster: true
              tls: {trust: ca.pem, certificate: /etc/client.pem, key: client.key, server-name: redis.example.com}
              command-timeout: 3s
              connect-timeout: 2s
              durability: refuse
              replay: 30m
            """,
            directory: "/etc/belfry"
        ).redis
        #expect(redis.endpoints.map(\.address) == ["a:1", "b:2"])
        #expect(redis.cluster == .yes)
        #expect(redis.tls.trustFile == "/etc/belfry/ca.pem" && redis.tls.certificateFile == "/etc/client.pem")
        #expect(redis.tls.keyFile == "/etc/belfry/client.key" && redis.tls.serverName == "redis.example.com")
        #expect(redis.commandTimeout == .seconds(3) && redis.connectTimeout == .seconds(2))
        #expect(redis.durability == .refuse && redis.replay == .seconds(1800))
        let standard = try load("environments: {sandbox: {gateways: localhost}}").redis
        #expect(standard == RedisSettings())
    }

    @Test("Token state can be left out, and requests need not be remembered")
    func withoutTokenState() throws {
        let worker = try load(
            "environments: {sandbox: {gateways: localhost}}\nworker: {token-state: false, dedupe-window: 0s}"
        ).worker
        #expect(!worker.tokenState && worker.dedupeWindow == .zero)
    }

    @Test("The section of the apps may have the name that it had in the version before, as variables may")
    func formerSection() throws {
        let yaml = "environments: {sandbox: {gateways: a}}\ntopics: {a.b: {spread: 16}}"
        #expect(try load(yaml).apps["a.b"]?.spread == 16)
        let variables = ["BELFRY_TOPICS_A_B_SPREAD": "8"]
        #expect(
            try BelfryConfiguration.load(yaml: yaml, file: "f", directory: nil, variables: variables).apps["a.b"]?
                .spread == 8
        )
    }

    @Test("Every key of the other roles is read into the setting of its name")
    func otherKeys() throws {
        let configuration = try load(
            """
            redis: {when-away: send, away-after: 250ms}
            environments:
              production: {gateways: ["a.example:1", "[::1]:2"], payload-limit: 2048, token-limit: 100, ttl: 6h}
            registrar: {group-id: r, batch: 3}
            harvester: {interval: 30m, lease: 10s, connect-timeout: 2s}
            retention: {tombstones: 720h, idle: 365d, rate: 77}
            apps:
              a.b: {spread: 16, payload-limit: 512, coalescing-window: 30s, sensitive-data: warn, ttl: 0s}
              a.c: {sensitive-data: off, urgent-quota: 60}
            outcomes: none
            log: {level: debug}
            """
        )
        #expect(configuration.redis.whenAway == .send)
        #expect(configuration.redis.awayAfter == .milliseconds(250))
        #expect(configuration.registrar.groupID == "r")
        #expect(configuration.registrar.batch == 3)
        #expect(configuration.retention.tombstones == .seconds(720 * 3600))
        #expect(configuration.retention.idle == .seconds(365 * 86_400))
        #expect(configuration.retention.rate == 77)
        #expect(configuration.harvester.interval == .seconds(1800))
        #expect(configuration.harvester.lease == .seconds(10))
        #expect(configuration.harvester.connectTimeout == .seconds(2))
        #expect(configuration.outcomes == .none)
        #expect(configuration.logLevel == .debug)
        let production = configuration.environments[0]
        #expect(production.gateways.map(\.description) == ["a.example:1", "[::1]:2"])
        #expect(production.tokenLimitBytes == 100)
        #expect(production.feedback == nil)
        let topic = configuration.topic("a.b", in: production)
        #expect(topic.spread == 16)
        #expect(topic.payload == .limit(bytes: 512))
        #expect(topic.coalescingWindow == .seconds(30))
        #expect(topic.sensitiveData == .warn && topic.ttl == .zero)
        #expect(configuration.topic("a.c", in: production).sensitiveData == .off)
        #expect(configuration.topic("a.d", in: production).sensitiveData == .off)
        let other = configuration.topic("a.c", in: production)
        #expect(other.spread == nil && other.urgentQuota == 60 && topic.urgentQuota == nil)
        #expect(other.payload == .limit(bytes: 2048))
        #expect(other.coalescingWindow == .zero && other.ttl == .seconds(6 * 3600))
    }

    @Test("An empty environment name means the only one, and nothing when there are two")
    func onlyEnvironment() throws {
        let one = try load("environments: {sandbox: {gateways: localhost}}")
        #expect(one.environment(named: "")?.name == "sandbox")
        #expect(one.environment(named: "production") == nil)
        let two = try load("environments: {sandbox: {gateways: a}, production: {gateways: b}}")
        #expect(two.environment(named: "") == nil)
        #expect(two.environment(named: "production")?.gateways[0].host == "b")
        #expect(two.environments.map(\.name) == ["production", "sandbox"], "sorted, whatever the file's order")
    }

    @Test("Properties reach librdkafka as they are, sorted by name")
    func properties() throws {
        let kafka = try load(
            """
            environments: {sandbox: {gateways: localhost}}
            kafka:
              brokers: "a:1, b:2"
              properties: {session.timeout.ms: 6000, enable.ssl.certificate.verification: true, client.id: ""}
            """
        ).kafka
        #expect(kafka.brokers == "a:1,b:2")
        #expect(
            kafka.properties.map(\.name) == ["client.id", "enable.ssl.certificate.verification", "session.timeout.ms"]
        )
        #expect(kafka.properties.map(\.value) == ["", "true", "6000"])
    }

    @Test("A process's name in its group becomes one for each of its members")
    func memberNames() throws {
        let kafka = try load(
            "environments: {sandbox: {gateways: localhost}}\nkafka: {properties: {group.instance.id: pod-3}}"
        ).kafka
        #expect(kafka.consumerProperties(clientID: "belfry-worker-0")["group.instance.id"] == "pod-3-belfry-worker-0")
        #expect(kafka.consumerProperties(clientID: "belfry-worker-1")["group.instance.id"] == "pod-3-belfry-worker-1")
        #expect(KafkaSettings().consumerProperties(clientID: "belfry-worker-0")["group.instance.id"] == nil)
    }

    @Test("Paths start from the directory of the file, absolute ones stay")
    func paths() throws {
        let configuration = try load(
            """
            environments: {sandbox: {gateways: localhost, trust: /somewhere/ca.pem}}
            certificates: {directory: ../certs}
            """,
            directory: "/etc/belfry"
        )
        #expect(configuration.environments[0].trustFile == "/somewhere/ca.pem")
        #expect(configuration.certificates.directory == "/etc/belfry/../certs")
    }

    @Test("A section without content is as if it were not there")
    func emptySections() throws {
        let configuration = try load("kafka:\nworker: ~\nenvironments: {sandbox: {gateways: localhost, trust: }}\n")
        #expect(configuration.kafka == KafkaSettings())
        #expect(configuration.environments[0].trustFile == nil)
    }

    @Test(
        "A duration is a whole number and a unit",
        arguments: [
            ("500ms", .milliseconds(500)), ("2s", .seconds(2)), ("1m", .seconds(60)), ("6h", .seconds(21_600)),
            ("1d", .seconds(86_400)), ("0s", .zero),
        ] as [(String, Duration)]
    )
    func durations(text: String, expected: Duration) {
        #expect(DurationText.parse(text) == expected)
        #expect(DurationText.parse(DurationText.format(expected)) == expected)
    }

    @Test(
        "Nothing else is a duration",
        arguments: [
            "", "2", "s", "2 s", "-2s", "1.5s", "2S", "2sec", "1h30m", "99999999999999999999s", "9223372036854775807d",
            "٢s",
        ]
    )
    func noDurations(text: String) {
        #expect(DurationText.parse(text) == nil)
    }

    @Test(
        "An address is a host and a port",
        arguments: [
            ("localhost:1", "localhost", 1), ("[::1]:65535", "::1", 65_535),
            ("gateway.push.apple.com", "gateway.push.apple.com", 9),
            ("[fe80::1%eth0]", "fe80::1%eth0", 9), ("10.0.0.1:2195", "10.0.0.1", 2195),
        ] as [(String, String, Int)]
    )
    func addresses(text: String, host: String, port: Int) throws {
        let address = try #require(HostPort(text, defaultPort: 9))
        #expect(address == HostPort(host: host, port: port))
        #expect(HostPort(address.description) == address)
    }

    @Test(
        "Nothing else is an address",
        arguments: [
            "", ":1", "a:", "a:0", "a:65536", "a:-1", "a:+1", "a:x", "a b:1", "::1:5", "[::1", "[a]:1", "[::1]5",
            "http://a:1", "a:1:2",
        ]
    )
    func noAddresses(text: String) {
        #expect(HostPort(text) == nil)
    }

    @Test("Port 0 is one only where one listens, and a port may be required")
    func ports() {
        #expect(HostPort("a:0", allowsPortZero: true)?.port == 0)
        #expect(HostPort("a") == nil)
    }

    private func load(_ yaml: String, directory: String? = nil) throws -> BelfryConfiguration {
        try BelfryConfiguration.load(yaml: yaml, file: "belfry.yaml", directory: directory, variables: [:])
    }
}
