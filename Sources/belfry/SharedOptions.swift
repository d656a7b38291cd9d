import ArgumentParser
import BelfrySupport
import BelfryTools
import Foundation
import Logging
import PushSchemas
import RequestLanes

/// The configuration of a role.
struct ConfigurationOptions: ParsableArguments {
    @Option(
        name: .customLong("config"),
        help: ArgumentHelp(
            "The configuration file. Every key may also come from the environment, as BELFRY_…",
            valueName: "file"
        )
    )
    var path: String?

    /// Loads the configuration, directs the log to standard error and warns of variables that name no key.
    ///
    /// Once per process, before the first logger is made.
    func load(requiresEnvironments: Bool = true) throws -> BelfryConfiguration {
        try loadInspected(requiresEnvironments: requiresEnvironments).configuration
    }

    /// The same, with the value of every key.
    func loadInspected(requiresEnvironments: Bool = true) throws -> ConfigurationInspection {
        let inspection = try inspect(requiresEnvironments: requiresEnvironments)
        let configuration = try inspection.sound()
        ProcessLog.begin(level: configuration.logLevel)
        if !configuration.unusedVariables.isEmpty {
            Logger(label: "belfry.configuration").warning(
                "environment variables that name no key",
                metadata: ["variables": "\(configuration.unusedVariables.joined(separator: ","))"]
            )
        }
        return inspection
    }

    /// Reads the configuration for commands that only look at it; it may be wrong.
    func inspect(requiresEnvironments: Bool) throws(ConfigurationError) -> ConfigurationInspection {
        try BelfryConfiguration.inspect(path: path, requiresEnvironments: requiresEnvironments)
    }
}

/// Options for reaching Kafka: by the configuration, or by addresses alone.
struct KafkaOptions: ParsableArguments {
    @OptionGroup var configuration: ConfigurationOptions

    @Option(help: ArgumentHelp("The brokers, instead of the configuration's.", valueName: "host:port,…"))
    var brokers: String?

    func load(requiresEnvironments: Bool = false) throws -> BelfryConfiguration {
        var loaded = try configuration.load(requiresEnvironments: requiresEnvironments)
        if let brokers { loaded.kafka.brokers = try KafkaSettings.brokers(parsing: brokers) }
        return loaded
    }
}

/// Options for the tokens that a tool takes.
struct TokenOptions: ParsableArguments {
    @Option(name: .customLong("token"), help: ArgumentHelp("A device token; may be repeated.", valueName: "hex"))
    var tokens: [String] = []

    @Option(
        help: ArgumentHelp(
            """
            A file with one token a line, or - for standard input, from which tokens are read as well without --token \
            and --token-file.
            """,
            discussion: "Blank lines and lines beginning with # are passed over.",
            valueName: "file"
        )
    )
    var tokenFile: String?

    func validate() throws {
        if !tokens.isEmpty, tokenFile != nil {
            throw ValidationError("--token and --token-file cannot be given together")
        }
    }

    func input(_ format: TokenFormat = .lines) -> TokenInput {
        tokens.isEmpty ? .file(tokenFile ?? "-", format) : .listed(tokens)
    }
}

/// Options for the form of a tool's result.
struct OutputOptions: ParsableArguments {
    @Flag(help: "Print JSON, one object a line.")
    var json = false

    func print(json jsonText: String, text: String) {
        // Either may quote records, servers and files.
        let shown = json ? TerminalText.json(jsonText) : TerminalText.lines(text)
        StandardStream.output.write(Array((shown + "\n").utf8))
    }
}

extension RecordFormat: ExpressibleByArgument {}

extension RequestLane: ExpressibleByArgument {}

extension TokenFormat: ExpressibleByArgument {}

extension RequestReport: ExpressibleByArgument {
    public init?(argument: String) {
        guard let report = Self.allCases.first(where: { $0.name == argument }) else { return nil }
        self = report
    }

    public static var allValueStrings: [String] { allCases.map(\.name) }
}

/// A duration such as `30s`, `10m` or `2d`.
struct DurationArgument: ExpressibleByArgument {
    let duration: Duration

    init?(argument: String) {
        guard let duration = DurationText.parse(argument) else { return nil }
        self.duration = duration
    }
}

/// A number, also in thousands (`50k`), millions (`20M`) or thousand millions (`1G`).
struct CountArgument: ExpressibleByArgument {
    let count: Int

    init?(argument: String) {
        let units = ["k": 1000, "M": 1_000_000, "G": 1_000_000_000]
        let unit = argument.last.flatMap { units["\($0)"] }
        guard let number = Int(unit == nil ? argument : String(argument.dropLast())) else { return nil }
        let (count, isTooLarge) = number.multipliedReportingOverflow(by: unit ?? 1)
        guard !isTooLarge else { return nil }
        self.count = count
    }
}
