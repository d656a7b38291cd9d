import ArgumentParser
import BelfrySupport
import BelfryTools
import Foundation

/// `belfry config`.
struct ConfigCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config",
        abstract: "Look at the configuration that the roles would have, and at the keys that there are.",
        subcommands: [Show.self, Check.self, Schema.self, Keys.self]
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

    /// `belfry config schema`.
    struct Schema: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print a JSON Schema of the configuration file, for editors.",
            discussion: "Ranges of durations, and keys that do not go together, are judged by config check alone."
        )

        func run() throws {
            StandardStream.output.write(Array((try ConfigurationSchema.text() + "\n").utf8))
        }
    }

    /// `belfry config keys`.
    struct Keys: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print all keys as tables in Markdown: allowed values, defaults, meanings, changes while running."
        )

        @Option(
            help: ArgumentHelp("A document that gets the tables between its marks, instead.", valueName: "file")
        )
        var into: String?

        func run() throws {
            guard let into else {
                let tables = ConfigurationTables.keys + "\n" + ConfigurationTables.running
                return StandardStream.output.write(Array(tables.utf8))
            }
            let document = String(decoding: try InputFile.bytes(at: into), as: UTF8.self)
            let text = try ConfigurationTables.written(into: document)
            try text.write(toFile: into, atomically: true, encoding: .utf8)
        }
    }
}
