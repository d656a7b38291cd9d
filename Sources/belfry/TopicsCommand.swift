import ArgumentParser
import BelfrySupport
import BelfryTools
import PushTopics

/// `belfry topics …`.
struct TopicsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "topics",
        abstract: "Set up the Kafka topics of the contract.",
        subcommands: [TopicsCreateCommand.self]
    )
}

/// `belfry topics create`.
struct TopicsCreateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Create the Kafka topics that do not exist yet.",
        discussion: """
            Each lane of requests has a topic: push.requests.urgent, push.requests and push.requests.bulk. Workers \
            serve a lane whose topic is there when they start.

            push.tombstones and push.controls are compacted; their records and those of push.registrations have the \
            broker's time (message.timestamp.type=LogAppendTime). push.controls gets one partition. Topics that exist \
            stay as they are: a partition count that differs is an error, since it must never change in place. \
            push.controls, push.requests.urgent and push.requests.bulk may have any.
            """
    )

    @OptionGroup var kafka: KafkaOptions
    @OptionGroup var output: OutputOptions

    @Option(help: "Partitions of each topic but push.controls.")
    var partitions = 12

    @Option(
        help: """
            Replicas of each partition; -1: the broker's default. Brokers older than 2.4 know none: then as many as \
            there are brokers, at most 3.
            """
    )
    var replication = -1

    func validate() throws {
        if !(1...10_000).contains(partitions) { throw ValidationError("--partitions: 1...10000 are allowed") }
        if replication != -1, !(1...100).contains(replication) {
            throw ValidationError("--replication: 1...100 are allowed, or -1")
        }
    }

    func run() async throws {
        let configuration = try kafka.load()
        let report = try TopicSetup.create(
            TopicLayout(partitions: partitions, names: TopicNames(configuration.kafka)),
            replication: replication,
            through: configuration.kafka
        )
        output.print(json: report.json, text: report.text)
    }
}
