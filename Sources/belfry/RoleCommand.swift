import ArgumentParser
import BelfrySupport

/// `belfry worker`, `belfry registrar`, `belfry harvester`: runs a role until it has stopped.
struct RoleCommand<R: Role>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(commandName: R.name, abstract: R.summary)
    }

    @OptionGroup var options: ConfigurationOptions

    func run() async throws {
        try await RoleRunner.run(R.self, try options.load())
    }
}
