import ArgumentParser
import BelfrySupport
import BelfryTools
import RequestLanes

/// `belfry apps …`.
struct AppsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "apps",
        abstract: "Hold single apps up: pause, slow down, end what waits.",
        subcommands: [
            AppsPauseCommand.self, AppsResumeCommand.self, AppsPaceCommand.self, AppsDiscardCommand.self,
            AppsLeversCommand.self,
        ]
    )
}

/// The app, the environments and the lane whose lever a command sets.
struct LeverOptions: ParsableArguments {
    @Argument(help: ArgumentHelp("The app by its bundle ID.", valueName: "bundle"))
    var bundle: String

    @Option(help: "Only in this environment; all that are configured without it.")
    var environment: String?

    @Option(help: "Only in this lane; in all without it, a pace in normal and bulk.")
    var lane: RequestLane?

    @OptionGroup var kafka: KafkaOptions
    @OptionGroup var output: OutputOptions

    /// Publishes the order and prints what it set.
    func set(_ change: LeverOrder.Change, reason: String? = nil) throws {
        let configuration = try kafka.load(requiresEnvironments: true)
        let order = try LeverOrder(
            change,
            of: bundle,
            environment: environment,
            lane: lane,
            reason: reason ?? "",
            configuration: configuration
        )
        let report = try LeverCommands.set(order, through: configuration.kafka)
        output.print(json: report.json, text: report.text)
    }
}

/// The operator's words beside a lever.
struct LeverReason: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Why, for those who look at the levers; up to \(LeverOrder.reasonLimit) characters.",
            valueName: "text"
        )
    )
    var reason: String?

    func validate(isOff: Bool) throws {
        if isOff, reason != nil { throw ValidationError("--reason: a lever that is off has none") }
    }
}

/// `belfry apps pause`.
struct AppsPauseCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Send nothing of an app until it is resumed; its requests wait.",
        discussion: """
            What is in flight settles. Requests that wait may expire, or outlast the retention of push.requests.
            """
    )

    @OptionGroup var lever: LeverOptions
    @OptionGroup var why: LeverReason

    func run() throws { try lever.set(.pause, reason: why.reason) }
}

/// `belfry apps resume`.
struct AppsResumeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "Send a paused app again, from where it stopped.",
        discussion: "A pace stays as it was set. Without --lane, pauses of single lanes end, too."
    )

    @OptionGroup var lever: LeverOptions

    func run() throws { try lever.set(.resume) }
}

/// `belfry apps pace`.
struct AppsPaceCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pace",
        abstract: "Limit the notifications of an app in a second, of all workers together.",
        discussion: """
            Without --lane the limit is for the lanes normal and bulk, each by itself; one set with --lane goes before \
            it. --off without --lane takes all limits away.
            """
    )

    @OptionGroup var lever: LeverOptions

    @Option(help: ArgumentHelp("Most notifications a second, \(LeverOrder.paces.allowedText).", valueName: "n"))
    var rate: Int?

    @Flag(help: "No limit any more.")
    var off = false

    @OptionGroup var why: LeverReason

    func validate() throws {
        if (rate != nil) == off { throw ValidationError("either --rate or --off says what to set") }
        if let rate, !LeverOrder.paces.contains(rate) {
            throw ValidationError("--rate: found \(rate); allowed: \(LeverOrder.paces.allowedText)")
        }
        try why.validate(isOff: off)
    }

    func run() throws {
        try lever.set(rate.map { .pace(notificationsPerSecond: $0) } ?? .paceOff, reason: why.reason)
    }
}

/// `belfry apps discard`.
struct AppsDiscardCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "discard",
        abstract: "End the waiting requests of an app without sending them.",
        discussion: """
            Requests published before --before that are in Kafka now end with the outcome aborted; what is in flight \
            settles. Pause the app first. What has ended so stays ended, also after --off.
            """
    )

    @OptionGroup var lever: LeverOptions

    @Option(help: ArgumentHelp("Published before: now, \(PointInTime.forms).", valueName: "time"))
    var before: Cutoff?

    @Flag(help: "Send again what has not ended yet.")
    var off = false

    @OptionGroup var why: LeverReason

    func validate() throws {
        if (before != nil) == off { throw ValidationError("either --before or --off says what to set") }
        try why.validate(isOff: off)
    }

    func run() throws {
        try lever.set(before.map { .discard(before: $0.unixMilliseconds) } ?? .discardOff, reason: why.reason)
    }

    /// A time as it is typed, or the word now.
    struct Cutoff: ExpressibleByArgument {
        /// Nil: now.
        let unixMilliseconds: Int64?

        init?(argument: String) {
            if argument == "now" {
                unixMilliseconds = nil
            } else if let time = PointInTime(argument: argument) {
                unixMilliseconds = time.unixMilliseconds
            } else {
                return nil
            }
        }
    }
}

/// `belfry apps levers`.
struct AppsLeversCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "levers",
        abstract: "Print the levers that are set, one a line."
    )

    @OptionGroup var kafka: KafkaOptions
    @OptionGroup var output: OutputOptions

    func run() throws { try LeverCommands.list(kafka.load().kafka, asJSON: output.json) }
}
