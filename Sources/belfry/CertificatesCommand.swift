import ArgumentParser
import BelfrySupport
import BelfryTools
import Foundation

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
            abstract: "Print each certificate with the days it has left, and each file that cannot be used; "
                + "exit code 1 if there is one, or a certificate is not valid."
        )

        @OptionGroup var configuration: ConfigurationOptions
        @OptionGroup var output: OutputOptions

        func run() throws {
            let loaded = try configuration.load(requiresEnvironments: false)
            let directory = try CertificateDirectory(path: loaded.certificates.directory)
            let reports = CertificateReport.all(of: directory, now: Int64(Date().timeIntervalSince1970))
            for report in reports { output.print(json: report.json, text: report.text) }
            for fault in directory.faults { output.print(json: fault.json, text: fault.text) }
            guard !reports.isEmpty, reports.allSatisfy(\.isUsable), directory.faults.isEmpty else {
                throw ExitCode(ExitStatus.failed.rawValue)
            }
        }
    }
}
