import ArgumentParser
import BelfrySupport
import BelfryTools

/// `belfry config`.
struct ConfigCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config",
        abstract: "Look at the configuration that the roles would have.",
        subcommands: [Show.self, Check.self]
    )

    /// `belfry config show`.
    struct Show: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print the value of every key that is in force, and where it comes from; secrets are not shown."
        )

        @OptionGroup var configuration: ConfigurationOptions
        @OptionGroup var output: OutputOptions

        func run() throws {
            let inspection = try configuration.inspect(requiresEnvironments: false)
            guard inspection.problems.isEmpty else { throw ConfigurationError(inspection.problems) }
            for line in SettingsReport(inspection.settings).lines { output.print(json: line.json, text: line.text) }
        }
    }

    /// `belfry config check`.
    struct Check: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Say everything that is wrong with the configuration and the files that it names.",
            discussion: "Exit code 1 if anything is. The feedback service is never tried: that would empty its lists."
        )

        @Flag(help: "Also try Redis, Kafka and a TLS handshake with each gateway.")
        var connect = false

        @OptionGroup var configuration: ConfigurationOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            var findings: [ConfigurationFinding]
            do throws(ConfigurationError) {
                let inspection = try configuration.inspect(requiresEnvironments: true)
                findings = ConfigurationCheck.findings(of: inspection)
                if connect { findings += await ConfigurationTrial(inspection).findings() }
            } catch {
                findings = ConfigurationCheck.findings(of: error)
            }
            for finding in findings { output.print(json: finding.json, text: finding.text) }
            guard let complaint = ConfigurationCheck.complaint(about: findings) else { return }
            Diagnostics.tell(complaint)
            throw ExitCode(ExitStatus.failed.rawValue)
        }
    }
}
