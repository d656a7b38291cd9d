import PushTopics
import Testing

@testable import BelfrySupport
@testable import BelfryTools

@Suite("Tools and the configuration")
struct ToolConfigurationTests {
    private let yaml = """
        environments:
          sandbox: {gateways: a, payload-limit: 2048, token-limit: 64}
          production: {gateways: b}
          today: {gateways: c, transport: http2}
        apps: {a.b: {spread: 8, payload-limit: 300, sensitive-data: refuse}}
        """

    @Test("A tool takes spread and limits from the configuration, as the worker would")
    func taken() throws {
        var order = publishOrder("a.b")
        try order.apply(try configuration(), environmentName: "sandbox")
        #expect(order.environment == "sandbox")
        #expect(order.spread == 8)
        #expect(order.payloadRule == .limit(bytes: 300), "the topic's limit wins over the environment's")
        #expect(order.tokenLimitBytes == 64)
        #expect(order.sensitiveData == .refuse)
        var other = publishOrder("a.c")
        try other.apply(try configuration(), environmentName: "sandbox")
        #expect(other.spread == 1)
        #expect(other.payloadRule == .limit(bytes: 2048))
        #expect(other.transport == .binary)
        var today = publishOrder("a.b")
        try today.apply(try configuration(), environmentName: "today")
        #expect(today.transport == .http2 && today.payloadRule == .byPushType && today.tokenLimitBytes == 100)
        var registration = RegistrationOrder(bundleID: "a.b", tokens: .listed([]))
        try registration.apply(try configuration(), environmentName: "production")
        #expect(registration.environment == "production")
        #expect(registration.spread == 8)
        #expect(registration.tokenLimitBytes == 32)
    }

    @Test("An environment that is not configured is refused, and so is none where there are two")
    func unknownEnvironment() throws {
        var order = publishOrder("a.b")
        let configuration = try configuration()
        #expect(throws: ToolError.invalidInput(["environment: found \"test\"; allowed: production, sandbox, today"])) {
            try order.apply(configuration, environmentName: "test")
        }
        #expect(throws: ToolError.invalidInput(["environment: found nothing; allowed: production, sandbox, today"])) {
            try order.apply(configuration, environmentName: "")
        }
    }

    @Test("Without a configuration any environment is passed on, and the limit is that of 2013")
    func withoutConfiguration() throws {
        var order = publishOrder("a.b")
        try order.apply(BelfryConfiguration(), environmentName: "somewhere")
        #expect(order.environment == "somewhere")
        #expect(order.payloadRule == .limit(bytes: 256) && order.transport == nil)
        #expect(order.tokenLimitBytes == 100)
    }

    @Test("Brokers on the command line follow the rule of the configuration")
    func brokers() throws {
        #expect(try KafkaSettings.brokers(parsing: "a:1, [::1]:2") == "a:1,[::1]:2")
        #expect(throws: ToolError.invalidInput(["brokers: found \"a\"; allowed: host:port, comma-separated"])) {
            try KafkaSettings.brokers(parsing: "a")
        }
    }

    @Test("A topic that exists with another number of partitions is an error, one with the same is not")
    func partitions() throws {
        let layout = TopicLayout(partitions: 3)
        // Any number of partitions of push.controls is right.
        let same = AppReport(topics: layout.topics.map { .init(name: $0.name, partitions: 3, isNew: false) })
        #expect(try TopicSetup.checked(same, against: layout) == same)
        let other = AppReport(
            topics: layout.topics.map {
                .init(name: $0.name, partitions: $0.name == "push.outcomes" ? 4 : 3, isNew: true)
            }
        )
        #expect(
            throws: ToolError.kafka(
                "push.outcomes exists with 4 partitions, not 3\n"
                    + "partition counts never change in place: name the count that exists"
            )
        ) {
            try TopicSetup.checked(other, against: layout)
        }
    }

    @Test("What was typed wrong ends with 64, wrong configuration with 78, everything else with 1")
    func exitCodes() {
        let problem = ConfigurationProblem(key: "k", origin: .variable("V"), found: "f", allowed: "a")
        #expect(ExitStatus(for: ConfigurationError([problem])).rawValue == 78)
        #expect(ExitStatus(for: ToolError.invalidInput(["x"])).rawValue == 64)
        #expect(ExitStatus(for: ToolError.kafka("unreachable")).rawValue == 1)
        #expect(ExitStatus(for: ToolError.notDelivered(failed: 1, of: 2, reason: "r")).rawValue == 1)
        #expect(ExitStatus(for: CancellationError()).rawValue == 1)
    }

    @Test("A report says the same in JSON and in words")
    func reports() {
        let published = PublishReport(topic: "push.requests", records: 2, tokens: 3, requestID: "r")
        #expect(published.json == #"{"topic":"push.requests","records":2,"tokens":3,"request_id":"r"}"#)
        #expect(published.text == "published 3 tokens in 2 records to push.requests, request id r")
        let topics = AppReport(topics: [.init(name: "t", partitions: 4, isNew: true)])
        #expect(topics.json == #"{"topics":[{"name":"t","partitions":4,"created":true}]}"#)
        #expect(topics.text == "t: 4 partitions, created")
    }

    private func publishOrder(_ bundleID: String) -> PublishOrder {
        PublishOrder(bundleID: bundleID, tokens: .listed([]), content: .payload([]), requestID: "r")
    }

    private func configuration() throws -> BelfryConfiguration {
        try BelfryConfiguration.load(yaml: yaml, file: "belfry.yaml", directory: nil, variables: [:])
    }
}
