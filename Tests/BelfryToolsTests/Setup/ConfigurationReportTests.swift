import PushTopics
import RequestLanes
import Testing

@testable import BelfrySupport
@testable import BelfryTools

/// The reports of `belfry config`.
@Suite struct ConfigurationReportTests {
    private func inspect(_ yaml: String, _ variables: [String: String] = [:]) throws -> ConfigurationInspection {
        try BelfryConfiguration.inspect(yaml: yaml, file: "belfry.yaml", directory: "/none", variables: variables)
    }

    private func findings(_ yaml: String, _ variables: [String: String] = [:]) throws -> [ConfigurationFinding] {
        ConfigurationCheck.findings(of: try inspect(yaml, variables), now: 1_700_000_000)
    }

    @Test("Every key of the table in Deploy/CONFIGURATION.md is shown, and no other")
    func complete() throws {
        let topic =
            "unknown-fate: resend, spread: 2, payload-limit: 300, coalescing-window: 1s, sensitive-data: warn, "
            + "urgent-warm: true, urgent-quota: 9, ttl: 1h, team: TEAM123456, key: KEY"
        let inspection = try inspect(
            "environments: {e: {gateways: a}}\nkeys: {directory: keys}\ntopics: {t: {\(topic)}}\n"
        )
        #expect(inspection.problems == [])
        let shown = Set(
            inspection.settings.map {
                $0.key.replacing("environments.e.", with: "environments.<>.").replacing("apps.t.", with: "apps.<>.")
            }
        )
        let documented = try Document(path: "Deploy/CONFIGURATION.md").configurationKeys
        #expect(documented.subtracting(shown).sorted() == [], "documented, but not shown")
        #expect(shown.subtracting(documented).sorted() == [], "shown, but not documented")
    }

    @Test("A check judges token and certificate of the operations port, and notes a port that is open")
    func operations() throws {
        let found = try findings(
            "{environments: {e: {gateways: a}}, operations: {listen: '0.0.0.0:1', bearer-token-file: /none/token}}"
        )
        let fault = try #require(found.first { $0.key == "operations.bearer-token-file" })
        #expect(fault.verdict == .fault && fault.found == "/none/token: is not there")
        #expect(fault.cure == "put a token there, readable by the role's user, or leave the key out")
        let note = try #require(found.first { $0.key == "operations.certificate" })
        #expect(note.verdict == .note && note.found.contains("others than this machine reach operations.listen"))
        let closed = try findings("{environments: {e: {gateways: a}}, operations: {listen: '127.0.0.1:1'}}")
        #expect(!closed.contains { $0.key.hasPrefix("operations") })
    }

    @Test("A line tells key, value and origin, in words and in JSON")
    func lines() throws {
        let inspection = try inspect(
            "environments: {e: {gateways: a}}\nkafka: {properties: {sasl.password: x}}",
            ["BELFRY_WORKER_SHARDS": "3"]
        )
        let lines = SettingsReport(inspection.settings).lines
        let expected = [
            (
                "environments.e.gateways: a:2195 (belfry.yaml:1)",
                #"{"key":"environments.e.gateways","value":"a:2195","source":"file","file":"belfry.yaml","line":1}"#
            ),
            (
                "worker.shards: 3 (BELFRY_WORKER_SHARDS)",
                #"{"key":"worker.shards","value":"3","source":"variable","variable":"BELFRY_WORKER_SHARDS"}"#
            ),
            ("worker.batch: 512 (default)", #"{"key":"worker.batch","value":"512","source":"default"}"#),
            ("operations.listen: not set (default)", #"{"key":"operations.listen","source":"default"}"#),
            (
                "kafka.properties.sasl.password: a value that is not shown (belfry.yaml:2)",
                #"{"key":"kafka.properties.sasl.password","hidden":true,"source":"file","file":"belfry.yaml","line":2}"#
            ),
        ]
        for (text, json) in expected {
            let line = lines.first { $0.text == text }
            #expect(line?.json == json, "\(text)")
        }
    }

    @Test("A fault names key, place, what was found, what is allowed, and the cure")
    func cures() throws {
        let found = try findings(
            "worker: {shard: 3, batch: 0, zzzzzzz: 1}\nenvironments: {e: {gateways: []}}",
            ["BELFRY_OUTCOMES": "some"]
        ).map(\.text)
        let expected = [
            "FAULT: environments.e.gateways (belfry.yaml): found nothing; allowed: a list of addresses, each host or "
                + "host:port (port 2195 if none is given); cure: set environments.e.gateways in belfry.yaml",
            "FAULT: worker.batch (belfry.yaml:1): found \"0\"; allowed: a whole number, 1...10000; "
                + "cure: change line 1 of belfry.yaml",
            "FAULT: outcomes (BELFRY_OUTCOMES): found \"some\"; allowed: failures, all, none; "
                + "cure: change the variable BELFRY_OUTCOMES, or unset it",
        ]
        for text in expected { #expect(found.contains(text), "\(found)") }
        #expect(found.contains { $0.hasSuffix("cure: write shards for shard") })
        #expect(found.contains { $0.hasSuffix("cure: remove the key zzzzzzz, or put it where it belongs") })
        #expect(found.count { $0.hasPrefix("FAULT: ") } >= 6, "files are judged, too")
    }

    @Test("Every file that is named is looked at: roots, revocations, certificates, keys, those of Redis and of Kafka")
    func files() throws {
        let found = try findings(
            """
            environments:
              a: {gateways: g, trust: ca.pem}
              b: {gateways: g, trust: ca.pem, transport: http2}
            certificates: {directory: certificates}
            keys: {directory: keys, team: TEAM123456}
            redis: {url: 'rediss://r', tls: {certificate: client.pem, key: client.key}}
            kafka: {properties: {no.such.property: 1}}
            """
        )
        #expect(found.allSatisfy { $0.verdict == .fault && $0.cure != nil })
        #expect(
            found.map(\.key) == [
                "redis.tls.certificate", "kafka.properties", "environments.a.trust", "environments.b.trust",
                "certificates.directory", "keys.directory", "environments.a", "environments.b",
            ]
        )
        #expect(found[0].found.contains("/none/client.pem") && found[1].found.contains("no.such.property"))
        #expect(ConfigurationCheck.complaint(about: found) == "the configuration has 8 faults")
    }

    @Test("A file whose key is wrong itself is not judged as well")
    func onlyOnce() throws {
        let found = try findings("environments: {e: {gateways: a, gateway-crl: crl.pem}}\nkafka: {brokers: x}")
        #expect(found.count { $0.key == "environments.e.gateway-crl" } == 1)
        #expect(found.count { $0.key.hasPrefix("kafka") } == 1)
    }

    @Test("Variables that name no key are noted, and are no fault")
    func variables() throws {
        let found = try findings("worker: {}", ["BELFRY_WORKER_SHARD": "1"])
        #expect(found.contains { $0.verdict == .note && $0.found.hasSuffix(": BELFRY_WORKER_SHARD") })
    }

    @Test("A configuration that cannot be read is one fault")
    func unreadable() throws {
        let error = #expect(throws: ConfigurationError.self) {
            try BelfryConfiguration.inspect(path: "/none/belfry.yaml", variables: [:])
        }
        let found = ConfigurationCheck.findings(of: try #require(error))
        #expect(
            found.map(\.text) == [
                "FAULT: (/none/belfry.yaml): found no file that can be read; allowed: a readable YAML file; "
                    + "cure: name a file that is there: --config FILE"
            ]
        )
    }

    @Test("Brokers without a Kafka topic of the contract are a fault, with the command that makes it")
    func topics() throws {
        var partitions = Dictionary(uniqueKeysWithValues: TopicLayout(partitions: 3).topics.map { ($0.name, 3) })
        var settings = KafkaSettings()
        let good = ConfigurationTrial.kafkaFindings(settings, partitions: partitions)
        #expect(good.map(\.verdict) == [.good])
        partitions["push.outcomes"] = nil
        let bad = ConfigurationTrial.kafkaFindings(settings, partitions: partitions)
        #expect(bad.map(\.verdict) == [.fault] && bad[0].cure == "belfry topics create")
        #expect(bad[0].found.contains("push.outcomes"))
        settings.prefix = "a."
        let foreign = ConfigurationTrial.kafkaFindings(settings, partitions: partitions)
        #expect(foreign[0].found.contains("lack a.push.requests, "), "those without the prefix are not its own")
    }

    @Test("A lane without a Kafka topic is a fault only where workers wait for it: the normal lane's, or all they have")
    func lanes() {
        var partitions = Dictionary(uniqueKeysWithValues: TopicLayout(partitions: 3).topics.map { ($0.name, 3) })
        func findings(_ lanes: [RequestLane]) -> [ConfigurationFinding] {
            var worker = WorkerSettings()
            worker.lanes = lanes
            return ConfigurationTrial.kafkaFindings(KafkaSettings(), worker, partitions: partitions)
        }
        #expect(findings(RequestLane.allCases)[0].found.hasSuffix("and have all of 9 Kafka topics"))
        #expect(findings([.normal])[0].found.hasSuffix("and have all of 7 Kafka topics"))
        partitions["push.requests.urgent"] = nil
        #expect(findings(RequestLane.allCases).map(\.verdict) == [.good])
        #expect(findings([.bulk]).map(\.verdict) == [.good])
        let waiting = findings([.urgent, .bulk])
        #expect(waiting.map(\.verdict) == [.fault] && waiting[0].found.hasSuffix("lack push.requests.urgent"))
        partitions["push.requests"] = nil
        #expect(findings([.bulk]).map(\.verdict) == [.good])
        #expect(findings([.normal, .bulk]).first?.found.hasSuffix("lack push.requests") == true)
    }

    @Test("A topic whose records hold for good is to be compacted, as far as the brokers tell")
    func compaction() {
        let partitions = Dictionary(uniqueKeysWithValues: TopicLayout(partitions: 3).topics.map { ($0.name, 3) })
        func findings(_ policies: [String: String]) -> [ConfigurationFinding] {
            ConfigurationTrial.kafkaFindings(KafkaSettings(), partitions: partitions, policies: policies)
        }
        for policies in [
            [:], ["push.controls": "compact"], ["push.controls": "compact,delete", "push.tombstones": "compact"],
        ] {
            #expect(findings(policies).map(\.verdict) == [.good])
        }
        let bad = findings(["push.tombstones": "compact", "push.controls": "delete"])
        #expect(bad.map(\.verdict) == [.fault])
        #expect(bad[0].found.hasPrefix("push.controls is not compacted"))
        #expect(bad[0].cure?.hasSuffix("--entity-name push.controls --add-config cleanup.policy=compact") == true)
    }

    @Test("Commits that are forgotten before the records of push.requests are deleted are told, as far as brokers tell")
    func forgottenCommits() {
        func verdicts(_ retentions: String?..., minutes: String?) -> [String] {
            ConfigurationTrial.commitFindings(
                requests: retentions.map { retention in retention.map { ["retention.ms": $0] } ?? [:] },
                broker: minutes.map { ["offsets.retention.minutes": $0] } ?? [:]
            ).map(\.found)
        }
        for (retention, minutes) in [("604800000", "10080"), (nil, "1"), ("604800000", nil)] {
            #expect(verdicts(retention, minutes: minutes).isEmpty)
        }
        #expect(verdicts("604800000", minutes: "10079").count == 1)
        #expect(verdicts("-1", minutes: "10080").first?.contains("for ever") == true)
        // The lane that keeps its records longest is the first that outlives its commits.
        let several = verdicts("60000", "604800000", nil, "3600000", minutes: "10079")
        #expect(several.count == 1 && several[0].contains("keep requests for 10080 minutes"))
        #expect(verdicts("60000", "-1", minutes: "10080").first?.contains("for ever") == true)
    }

    @Test("A check tells the names of Kafka topics and groups that a prefix leads to")
    func prefix() throws {
        let note = try findings("{environments: {e: {gateways: a}}, kafka: {prefix: a.}, worker: {group-id: w}}")
            .first { $0.key == "kafka.prefix" }
        #expect(note?.verdict == .note)
        for name in ["a.push.requests", "a.push.dead-letters", "a.w", "a.belfry-registrar-tombstones"] {
            #expect(note?.found.contains(name) == true, "\(name)")
        }
        #expect(!(try findings("{environments: {e: {gateways: a}}}")).contains { $0.key == "kafka.prefix" })
    }

    @Test("No server is tried of which a key is wrong: the values that stand in would name others")
    func untried() async throws {
        let inspection = try inspect(
            """
            environments: {e: {gateways: [a], feedback: a, transport: http3}}
            redis: {ulr: r}
            kafka: {brokers: x}
            """
        )
        let found = await ConfigurationTrial(inspection).findings()
        let untried = ["kafka.brokers", "redis.url", "environments.e.gateways"]
        #expect(found == untried.map { ConfigurationFinding(note: "not tried: its keys are wrong", of: $0) })
    }
}
