import BelfryTools
import PushTopics
import Testing

@testable import BelfrySupport

@Suite("Properties of Kafka's client on which promises rest")
struct KafkaPromiseTests {
    private func properties(_ yaml: String) throws(ConfigurationError) -> [KafkaSettings.Property] {
        try BelfryConfiguration.load(
            yaml: "environments: {sandbox: {gateways: localhost}}\nkafka: {properties: {\(yaml)}}",
            file: "b.yaml",
            directory: nil,
            variables: [:]
        ).kafka.properties
    }

    @Test(
        "A value that breaks a promise is wrong configuration, under every name of the property",
        arguments: [
            "bootstrap.servers: 'a:1'", "metadata.broker.list: 'a:1'", "group.id: g", "test.mock.num.brokers: 3",
            "transactional.id: t", "enable.auto.commit: true", "auto.commit.enable: 1",
            "enable.auto.offset.store: T", "auto.offset.reset: latest", "auto.offset.reset: earliest",
            "enable.partition.eof: false", "isolation.level: read_uncommitted", "acks: 1", "acks: 0",
            "request.required.acks: 1", "enable.idempotence: false", "enable.idempotence: f",
            "max.in.flight.requests.per.connection: 6", "max.in.flight: many", "max.in.flight: 0",
            "queuing.strategy: lifo", "message.timeout.ms: 300000", "delivery.timeout.ms: 1", "retries: 3",
            "message.send.max.retries: 0", "delivery.report.only.error: true", "partitioner: consistent_random",
            "topic.acks: 1",
        ]
    )
    func refused(property: String) throws {
        let name = try #require(property.split(separator: ":").first)
        let error = #expect(throws: ConfigurationError.self) { try properties(property) }
        #expect(error?.problems.map(\.key) == ["kafka.properties.\(name)"])
        #expect(error.map { ExitStatus(for: $0) } == .configuration)
        let ofTopic = name.replacing("topic.", with: "")
        let promise = try #require(KafkaPromise.all.first { $0.names.contains(String(ofTopic)) })
        #expect(error?.description.contains(promise.reason) == true, "the reason is told")
    }

    @Test(
        "The value that the roles use may be set, in every spelling that the client knows",
        arguments: [
            "enable.auto.commit: false", "enable.auto.offset.store: 0", "auto.offset.reset: error",
            "isolation.level: READ_COMMITTED", "acks: all", "acks: -1", "request.required.acks: -1",
            "enable.idempotence: true", "enable.idempotence: t", "max.in.flight: 1", "max.in.flight: 5",
            "queuing.strategy: fifo", "message.timeout.ms: 0", "retries: 2147483647", "partitioner: murmur2_random",
            "delivery.report.only.error: F",
        ]
    )
    func kept(property: String) throws {
        #expect(try properties(property).count == 1)
    }

    @Test(
        "Tuning, security and the group's manners are the operator's",
        arguments: [
            "compression.codec: lz4", "linger.ms: 50", "batch.size: 100000", "batch.num.messages: 5",
            "queue.buffering.max.kbytes: 1024", "message.max.bytes: 300000", "receive.message.max.bytes: 1000000000",
            "fetch.wait.max.ms: 10", "security.protocol: SASL_SSL", "sasl.mechanism: SCRAM-SHA-256",
            "sasl.password: secret", "ssl.ca.location: /ca.pem", "session.timeout.ms: 6000",
            "heartbeat.interval.ms: 1000", "max.poll.interval.ms: 60000", "group.instance.id: pod-3",
            "partition.assignment.strategy: cooperative-sticky", "client.id: me", "client.rack: a", "debug: cgrp",
        ]
    )
    func tuning(property: String) throws {
        #expect(try properties(property).count == 1)
    }

    @Test("Every promise broken is told at once")
    func allAtOnce() {
        let error = #expect(throws: ConfigurationError.self) {
            try properties("acks: 1, enable.idempotence: false, linger.ms: 5, auto.offset.reset: latest")
        }
        #expect(error?.problems.count == 3)
    }

    @Test("A variable that breaks a promise is named")
    func variable() {
        let error = #expect(throws: ConfigurationError.self) {
            try BelfryConfiguration.load(
                yaml: nil,
                file: nil,
                directory: nil,
                variables: ["BELFRY_KAFKA_PROPERTIES_ENABLE_IDEMPOTENCE": "false"],
                requiresEnvironments: false
            )
        }
        #expect(
            error?.description.hasPrefix(
                "BELFRY_KAFKA_PROPERTIES_ENABLE_IDEMPOTENCE: kafka.properties.enable.idempotence: found \"false\"; "
                    + "allowed: true: "
            ) == true
        )
    }

    @Test("The roles keep the promises themselves")
    func roles() {
        let settings = KafkaSettings()
        let roles = [
            settings.consumerProperties(clientID: "c"), settings.readerProperties(clientID: "c", waitMilliseconds: 20),
            settings.producerProperties(clientID: "c"), settings.feedbackProducerProperties(clientID: "c"),
        ]
        var checked = 0
        for properties in roles {
            for property in properties.all where property.name != "bootstrap.servers" {
                #expect(KafkaPromise.broken(by: property.name, property.value) == nil, "\(property.name)")
                checked += 1
            }
        }
        #expect(checked > 20)
        #expect(roles[0]["isolation.level"] == "read_committed")
        #expect(roles[1]["isolation.level"] == "read_committed", "the catch-up reader sees the same records")
    }

    @Test("No property has two rules")
    func unique() {
        let names = KafkaPromise.all.flatMap(\.names)
        #expect(Set(names).count == names.count)
    }
}
