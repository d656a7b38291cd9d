import ArgumentParser
import BelfrySupport
import BelfryTools
import Logging

/// `belfry outcomes`.
struct OutcomesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "outcomes",
        abstract: "Follow push.outcomes until SIGTERM, SIGINT or --count outcomes.",
        discussion: "Reads on its own, without a consumer group's offsets: it takes nothing away from anybody."
    )

    @OptionGroup var kafka: KafkaOptions
    @OptionGroup var output: OutputOptions

    @Option(help: "Where to begin: beginning or end.")
    var from = OutcomeFollower.Start.end

    @Option(help: ArgumentHelp("End after so many outcomes.", valueName: "n"))
    var count: Int?

    func validate() throws {
        if let count, count < 1 { throw ValidationError("--count must be at least 1") }
    }

    func run() async throws {
        let configuration = try kafka.load()
        let follower = OutcomeFollower(configuration.kafka, from: from, limit: count, asJSON: output.json)
        try await RoleRunner.run(follower, logger: Logger(label: "belfry.outcomes"))
    }
}

extension OutcomeFollower.Start: ExpressibleByArgument {}
