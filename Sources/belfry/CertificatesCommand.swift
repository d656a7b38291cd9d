import ArgumentParser
import BelfryTools
import Foundation
import ProviderCredentials

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
            abstract: "Say of each file of a directory what it is, and what it lacks.",
            discussion: """
                Of a certificate: topic, environments, days left, and the chain that is sent. Exit code 1 if a file is \
                not usable or none is: one that lacks its passphrase or its key, for example. What is passed over is \
                no fault.
                """
        )

        @Argument(help: ArgumentHelp("The directory, instead of the configuration's.", valueName: "directory"))
        var directory: String?

        @OptionGroup var configuration: ConfigurationOptions
        @OptionGroup var output: OutputOptions

        func run() throws {
            let path = try directory ?? configuration.load(requiresEnvironments: false).certificates.directory
            let check: CertificateCheck
            do {
                check = CertificateCheck(
                    try CertificateDirectory(path: path),
                    now: Int64(Date().timeIntervalSince1970)
                )
            } catch {
                // Nothing but the directory is asked about, so that it is the answer that is bad.
                return try fail([error.description])
            }
            for finding in check.findings { output.print(json: finding.json, text: finding.text) }
            try fail(check.complaints)
        }

        private func fail(_ complaints: [String]) throws {
            guard !complaints.isEmpty else { return }
            for complaint in complaints { Diagnostics.tell(complaint) }
            throw ExitCode(ExitStatus.failed.rawValue)
        }
    }
}
