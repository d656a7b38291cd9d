import ArgumentParser
import BelfrySupport

/// `belfry worker`, `belfry registrar`, `belfry harvester`: runs a role until it has stopped.
struct RoleCommand<R: Role>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(commandName: R.name, abstract: R.summary)
    }

    @OptionGroup var options: ConfigurationOptions

    func run() async throws {
        // First, so that it never ends the process.
        let reload = ReloadSignal()
        let inspection = try options.loadInspected()
        try await RoleRunner.run(R.self, inspection, reload: reload) { [options] () throws(ConfigurationError) in
            try options.inspect(requiresEnvironments: true)
        }
    }
}
