import ArgumentParser
import BelfryRuntime
import Foundation

/// `belfry tokens`.
struct TokensCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tokens",
        abstract: "Look at the token state in Redis.",
        subcommands: [Show.self]
    )

    /// `belfry tokens show`.
    struct Show: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Print what is known of one token.")

        @OptionGroup var configuration: ConfigurationOptions
        @OptionGroup var output: OutputOptions

        @Option(help: ArgumentHelp("The bundle ID.", valueName: "bundle"))
        var topic: String

        @Option(help: ArgumentHelp("The device token.", valueName: "hex"))
        var token: String

        @Option(help: "The environment; not needed if one is configured.")
        var environment = ""

        func run() throws {
            let loaded = try configuration.load()
            guard let environment = loaded.environment(named: environment) else {
                throw ValidationError(
                    "--environment: one of \(loaded.environments.map(\.name).joined(separator: ", "))"
                )
            }
            let inspector = try TokenInspector(loaded.redis)
            defer { inspector.close() }
            let report = try inspector.report(environment: environment.name, bundleID: topic, hexToken: token)
            output.print(json: report.json, text: report.text)
        }
    }
}

/// `belfry certificates`.
struct CertificatesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "certificates",
        abstract: "Look at the certificates that the roles would use.",
        subcommands: [Check.self]
    )

    /// `belfry certificates check`.
    struct Check: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print each certificate with the days it has left; exit code 1 if one is not valid."
        )

        @OptionGroup var configuration: ConfigurationOptions
        @OptionGroup var output: OutputOptions

        func run() throws {
            let loaded = try configuration.load(requiresEnvironments: false)
            let directory = try CertificateDirectory(path: loaded.certificates.directory)
            let reports = CertificateReport.all(of: directory, now: Int64(Date().timeIntervalSince1970))
            for report in reports { output.print(json: report.json, text: report.text) }
            guard !reports.isEmpty, reports.allSatisfy(\.isUsable) else { throw ExitCode(ExitStatus.failed.rawValue) }
        }
    }
}
