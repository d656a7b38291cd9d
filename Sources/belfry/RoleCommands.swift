import ArgumentParser
import BelfrySupport
import Logging
import Sender

/// `belfry worker`.
struct WorkerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "worker",
        abstract: "Send what is published to push.requests; runs until SIGTERM or SIGINT, then drains."
    )

    @OptionGroup var options: ConfigurationOptions

    func run() async throws {
        let configuration = try options.load()
        let logger = Logger(label: "belfry.worker")
        let role = try WorkerRole(configuration, logger: logger)
        let operations = configuration.operations.map {
            OperationsEndpoint(address: $0, source: role.operations, logger: logger)
        }
        try await RoleRunner.run(role, operations: operations, logger: logger)
    }
}
