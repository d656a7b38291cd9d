import ArgumentParser
import BelfrySupport
import BelfryTools
import TokenState

/// `belfry tokens`.
struct TokensCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tokens",
        abstract: "Look at the token state in Redis, and remove from it.",
        subcommands: [Show.self, List.self, Export.self, Forget.self]
    )

    /// A bundle in an environment.
    struct Space: ParsableArguments {
        @Option(help: ArgumentHelp("The bundle ID.", valueName: "bundle"))
        var app: String

        @Option(help: "The environment; not needed if one is configured.")
        var environment = ""

        @OptionGroup var configuration: ConfigurationOptions

        func load() throws -> (configuration: BelfryConfiguration, environment: EnvironmentSettings) {
            let loaded = try configuration.load()
            guard let environment = loaded.environment(named: environment) else {
                throw ValidationError(
                    "--environment: one of \(loaded.environments.map(\.name).joined(separator: ", "))"
                )
            }
            return (loaded, environment)
        }
    }

    /// `belfry tokens show`.
    struct Show: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Print what is known of one token.")

        @Option(help: ArgumentHelp("The device token.", valueName: "hex"))
        var token: String

        @OptionGroup var space: Space
        @OptionGroup var output: OutputOptions

        func run() throws {
            let (configuration, environment) = try space.load()
            let inspector = try TokenInspector(configuration.redis)
            defer { inspector.close() }
            let report = try WaitNotice.during(inspector.servers) {
                try inspector.report(
                    environment: environment.name,
                    bundleID: space.app,
                    hexToken: PrintedToken.digits(token)
                )
            }
            output.print(json: report.json, text: report.text)
        }
    }

    /// `belfry tokens list`.
    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print the tokens of a bundle, one a line; in no particular order."
        )

        /// State of the tokens that are listed.
        enum State: String, ExpressibleByArgument, CaseIterable {
            case alive
            case dead
            case refused
            case all
        }

        @OptionGroup var space: Space
        @OptionGroup var output: OutputOptions

        @Option(help: "Which tokens: alive, dead, refused (dead for some kinds of topics) or all.")
        var state = State.all

        @Option(help: ArgumentHelp("Not more than so many.", valueName: "number"))
        var limit: Int?

        func validate() throws {
            if let limit, limit < 1 { throw ValidationError("--limit: found \(limit); allowed: 1 and more") }
        }

        func run() throws {
            let (state, limit, json) = (state, limit, output.json)
            var left = limit ?? .max
            try TokensCommand.print(space) { page in
                let listed = page.filter { state == .all || state.rawValue == $0.state }.prefix(left)
                left -= listed.count
                return (listed.map { json ? $0.json : $0.hexToken }, left > 0)
            }
        }
    }

    /// `belfry tokens export`.
    struct Export: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print everything that is known of a bundle's tokens as JSON, one object a line."
        )

        @OptionGroup var space: Space

        func run() throws {
            try TokensCommand.print(space, badges: true) { page in (page.map(\.json), true) }
        }
    }

    /// `belfry tokens forget`.
    struct Forget: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Remove everything that is known of tokens. Once more is harmless."
        )

        @OptionGroup var space: Space
        @OptionGroup var tokens: TokenOptions
        @OptionGroup var output: OutputOptions

        func run() throws {
            let (configuration, environment) = try space.load()
            let inspector = try TokenInspector(configuration.redis)
            defer { inspector.close() }
            let report = try TokenForgetting.forget(
                tokens.input(),
                bundleID: space.app,
                environment: environment,
                inspector: inspector,
                through: configuration.kafka
            )
            output.print(json: report.json, text: report.text)
        }
    }

    /// Walks over a bundle and prints what `lines` makes of each page, until it says that this was enough, or its
    /// output is not read any more.
    ///
    /// - Parameter badges: the pages have the tokens' badges.
    fileprivate static func print(
        _ space: Space,
        badges: Bool = false,
        lines: ([TokenReport]) -> (lines: [String], goesOn: Bool)
    ) throws {
        let (configuration, environment) = try space.load()
        let inspector = try TokenInspector(configuration.redis)
        defer { inspector.close() }
        let notice = WaitNotice(inspector.servers)
        defer { notice.end() }
        let rows = ProgressRows()
        let unreadable = try inspector.walk(
            environment: environment.name,
            bundleID: space.app,
            badges: badges
        ) { page, share in
            notice.end()
            let (lines, goesOn) = lines(page)
            return rows.write(lines, share: share) && goesOn
        }
        rows.end()
        if unreadable > 0 {
            StandardStream.error.write(
                Array("left out, for their layout is not known here: \(counted(unreadable, "record"))\n".utf8)
            )
            throw ExitCode(ExitStatus.failed.rawValue)
        }
    }
}
