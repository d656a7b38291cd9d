import ArgumentParser
import Sandbox

/// Initial state of the topics of `belfry sandbox serve`, and their memory.
struct SandboxLedgerOptions: ParsableArguments {
    @Option(help: "Seconds between the times at which notifications of priority 5 are delivered.")
    var powerSavingInterval = 10.0

    @Option(help: "MiB for the notifications that wait for their devices, all topics together.")
    var storageMib = 256

    @Option(help: "What chance begins with; the same seed, the same population.")
    var seed: UInt64 = 0

    @Option(
        help: """
            Shares of the devices that change their state per hour, e.g. offline=0.5,online=2,uninstalled=0.01; also \
            reinstalled and removed.
            """
    )
    var churn: String?

    @Option(help: "Shares of the devices that are not online at the beginning, e.g. offline=0.1,uninstalled=0.01.")
    var initial: String?

    @Option(
        help: """
            How many pairs of (token, n) each topic tells apart; 16 bytes each. If it is given, a topic makes room for \
            all of them as soon as it is used: while it makes more, it stands still.
            """
    )
    var rememberedPairs: Int?

    @Option(help: "How many acceptances each topic remembers in order; 8 bytes each.")
    var acceptedEntries: Int?

    @Option(help: "A file to which every acceptance is written; belfry sandbox accepted prints it.")
    var acceptedLog: String?

    @Flag(help: "Count acceptances by the titles of their alerts.")
    var countTitles = false

    /// - Throws: `SandboxSetupError` naming the field of a setting that cannot be read.
    func configuration() throws -> LedgerConfiguration {
        var configuration = LedgerConfiguration()
        configuration.powerSavingInterval = powerSavingInterval
        configuration.storageMiB = storageMib
        configuration.seed = seed
        if let churn { configuration.churn = try ChurnRates(parsing: churn) }
        if let initial { configuration.initial = try PopulationShares(parsing: initial) }
        if let rememberedPairs {
            configuration.rememberedPairs = rememberedPairs
            configuration.expectedPairs = rememberedPairs
        }
        if let acceptedEntries { configuration.acceptedEntries = acceptedEntries }
        configuration.acceptedLogFile = acceptedLog
        configuration.countsTitles = countTitles
        return configuration
    }
}

/// `belfry sandbox accepted`.
struct SandboxAcceptedCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "accepted",
        abstract: "Print the acceptances that belfry sandbox serve --accepted-log has written, one JSON line each."
    )

    @Argument(help: "The file.")
    var file: String

    func run() async throws {
        try await reportingSetupErrors {
            var lines = ""
            try Sandbox.forEachAcceptance(file: file) { line in
                lines += line
                lines += "\n"
                guard lines.utf8.count > 1 << 16 else { return }
                print(lines, terminator: "")
                lines = ""
            }
            print(lines, terminator: "")
        }
    }
}
