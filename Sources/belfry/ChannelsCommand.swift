import ArgumentParser
import BelfrySupport
import BelfryTools

/// `belfry channels`.
struct ChannelsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "channels",
        abstract: "Manage the channels of an app's broadcasts, at the push service.",
        subcommands: [Create.self, List.self, Delete.self]
    )

    /// `belfry channels create`.
    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make a channel and print its id, which the service chooses."
        )

        @OptionGroup var space: TokensCommand.Space

        @Flag(help: "The service keeps the most recent message for devices that are offline.")
        var storeMessages = false

        @OptionGroup var output: OutputOptions

        func run() async throws {
            try await ChannelsCommand.carryOut(.create(storesMessages: storeMessages), space, output)
        }
    }

    /// `belfry channels list`.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Print the ids of all channels, one a line.")

        @OptionGroup var space: TokensCommand.Space
        @OptionGroup var output: OutputOptions

        func run() async throws { try await ChannelsCommand.carryOut(.list, space, output) }
    }

    /// `belfry channels delete`.
    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Remove a channel for good: its id never comes again."
        )

        @Option(help: ArgumentHelp("The channel's id.", valueName: "id"))
        var channel: String

        @OptionGroup var space: TokensCommand.Space
        @OptionGroup var output: OutputOptions

        func run() async throws { try await ChannelsCommand.carryOut(.delete(channel: channel), space, output) }
    }

    /// Prints the channels that the order was about.
    fileprivate static func carryOut(
        _ order: ChannelOrder,
        _ space: TokensCommand.Space,
        _ output: OutputOptions
    ) async throws {
        let (configuration, environment) = try space.load()
        let report = try await ChannelManagement.carryOut(
            order,
            bundleID: space.app,
            environment: environment,
            configuration
        )
        for (json, text) in zip(report.json, report.text) { output.print(json: json, text: text) }
    }
}
