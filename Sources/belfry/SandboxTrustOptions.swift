import ArgumentParser
import Sandbox

/// The environment of the push service, one of two.
struct SandboxEnvironmentOption: ParsableArguments {
    /// As on the command line.
    enum Name: String, CaseIterable, ExpressibleByArgument {
        case development
        case production
    }

    @Option(
        name: .customLong("environment"),
        help: "Whose certificates and tokens: those of the other environment mean nothing here."
    )
    var name = Name.development

    var value: PushEnvironment {
        switch name {
        case .development: .development
        case .production: .production
        }
    }
}

/// Formats that the gateway accepts and answers. They changed over the years.
struct SandboxFormatOptions: ParsableArguments {
    @Option(help: "The longest payload in bytes: 256 as in 2013, or 2048 as since iOS 8.")
    var payloadLimit = 256

    @Option(help: "The longest device token in bytes, 32 to 100; the service's own tokens have this length.")
    var tokenLimit = 32

    @Option(help: "The status that answers what cannot be parsed: 255 (unknown) or 128 (protocol error).")
    var protocolErrorStatus = 255

    /// - Throws: `SandboxSetupError` naming the option.
    func apply(to configuration: inout SandboxConfiguration) throws {
        try configuration.setFormats(
            payloadLimitBytes: payloadLimit,
            tokenLimitBytes: tokenLimit,
            protocolErrorStatus: protocolErrorStatus
        )
    }
}

/// `belfry sandbox revoke`.
struct SandboxRevokeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke",
        abstract: "Put a topic's certificate on the revocation list, crl.pem, or take it off.",
        discussion: """
            A running sandbox notices at its next connection and refuses the certificate in the handshake; connections \
            that are open stay open.
            """
    )

    @OptionGroup var pki: PKIOption

    @Option(name: .customLong("topic"), help: "Bundle ID; can be given several times.")
    var topics: [String]

    @OptionGroup var environment: SandboxEnvironmentOption

    @Flag(help: "Take it off the list again.")
    var undo = false

    @OptionGroup var output: OutputOptions

    func run() async throws {
        try await reportingSetupErrors {
            let report = try Sandbox.revoke(
                pkiDirectory: pki.directory,
                topics: topics,
                environment: environment.value,
                isUndone: undo
            )
            output.print(json: report.json, text: report.text)
        }
    }
}
