import Testing

@testable import BelfryProducer
@testable import KafkaClient

@Suite("Settings of the producer")
struct ProducerConfigurationTests {
    private func error(_ fill: (inout ProducerConfiguration) -> Void) -> ProducerError? {
        var configuration = ProducerConfiguration(brokers: "nowhere:1")
        fill(&configuration)
        do throws(ProducerError) {
            _ = try configuration.kafkaProperties()
            return nil
        } catch {
            return error
        }
    }

    @Test("Records are acknowledged by all replicas, once, in Java's partitions, whatever else is set")
    func promises() throws {
        var configuration = ProducerConfiguration(brokers: "a:1,b:2")
        configuration.properties = ["linger.ms": "50", "security.protocol": "ssl"]
        configuration.deliveryTimeout = .milliseconds(1500)
        let properties = try configuration.kafkaProperties()
        let expected: [(String, String)] = [
            ("bootstrap.servers", "a:1,b:2"), ("enable.idempotence", "true"), ("acks", "all"),
            ("partitioner", "murmur2_random"), ("message.timeout.ms", "1500"), ("linger.ms", "50"),
            ("security.protocol", "ssl"), ("queue.buffering.max.messages", "100000"),
        ]
        for (name, value) in expected { #expect(properties[name] == value, "\(name)") }
    }

    @Test("The lane, and before it the prefix, decide the Kafka topic; without a lane it is the normal one")
    func lanes() {
        #expect(ProducerConfiguration(brokers: "a:1").topic == "push.requests")
        #expect(ProducerConfiguration(brokers: "a:1", prefix: "x.", lane: .normal).topic == "x.push.requests")
        #expect(ProducerConfiguration(brokers: "a:1", lane: .urgent).topic == "push.requests.urgent")
        #expect(ProducerConfiguration(brokers: "a:1", prefix: "x.", lane: .bulk).topic == "x.push.requests.bulk")
    }

    @Test("A Kafka topic that is missing is told as that, before its records time out, with the command that makes it")
    func missingTopic() throws {
        for (timeout, wait) in [(.seconds(30), "10000"), (.seconds(1), "500")] as [(Duration, String)] {
            var configuration = ProducerConfiguration(brokers: "a:1")
            configuration.deliveryTimeout = timeout
            #expect(try configuration.kafkaProperties()["topic.metadata.propagation.max.ms"] == wait)
        }
        func reason(_ code: Int32) -> String {
            let words = "message to push.requests.bulk[-1] not delivered: x"
            return DeliveryDesk.reason(
                KafkaError(code: code, name: "N", message: words, isRetriable: true, isFatal: false)
            )
        }
        let message = "message to push.requests.bulk[-1] not delivered: x [N]"
        // The broker's answer, and what librdkafka says of it from then on.
        for code in [3, -188] as [Int32] { #expect(reason(code) == "\(message); belfry topics create makes it") }
        #expect(reason(-192) == message)
    }

    @Test(
        "A property on which a promise rests is refused, by each of its names",
        arguments: [
            "acks", "request.required.acks", "topic.acks", "enable.idempotence", "partitioner", "retries",
            "message.send.max.retries", "transactional.id", "delivery.report.only.error", "enabled_events",
            "test.mock.num.brokers", "queuing.strategy", "max.in.flight", "client.id",
        ]
    )
    func promised(name: String) {
        let refusal = ProducerError.misconfigured("properties: \(name) cannot be set: the producer decides")
        #expect(error { $0.properties[name] = "x" } == refusal)
    }

    @Test("A setting out of its range is told with what is allowed")
    func ranges() {
        let found = error { $0.queueRecords = 0 }
        #expect(found == .misconfigured("queueRecords: found 0; allowed: 1...10000000"))
        for wrong in [.zero, .seconds(3601)] as [Duration] { #expect(error { $0.deliveryTimeout = wrong } != nil) }
        #expect(error { $0.queueKibibytes = 1 << 21 } != nil)
        // A queue without room for the largest record would have it wait for ever.
        let small = error { $0.queueKibibytes = 1024 }
        #expect(small == .misconfigured("queueKibibytes: found 1024; allowed: 2048...2097151"))
        #expect(error { $0.queueKibibytes = 2048 } == nil)
    }

    @Test("A property that the client does not know is told when the producer is made")
    func unknownProperty() async {
        var configuration = ProducerConfiguration(brokers: "nowhere:1")
        configuration.properties = ["no.such.property": "x"]
        await #expect(throws: ProducerError.self) { _ = try await PushProducer(configuration) }
    }
}
