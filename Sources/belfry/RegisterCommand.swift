import ArgumentParser
import BelfrySupport
import BelfryTools

/// `belfry register`.
struct RegisterCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "register",
        abstract: "Publish registrations of tokens to push.registrations."
    )

    @Option(help: ArgumentHelp("The bundle ID.", valueName: "bundle"))
    var app: String

    @OptionGroup var tokens: TokenOptions

    @Option(
        help: ArgumentHelp(
            "A file of any size with a line per token: hex[,registered at[,locale[,time zone]]].",
            discussion: """
                Times are UNIX seconds or ISO 8601 (2026-01-31T12:00:00Z). Fields may be quoted (RFC 4180). A first \
                line that names a column token is a header: its columns may stand in any order. Blank lines and lines \
                beginning with # are passed over. Stopped at any moment and started again it goes on where it was, \
                which stands in <file>.belfry-progress.
                """,
            valueName: "file"
        )
    )
    var file: String?

    @Flag(help: "With --file: begin anew.")
    var restart = false

    @Flag(help: "With --file: end at the first bad line instead of passing over it.")
    var strict = false

    @Option(help: "The environment by its name in the configuration; none: the only one the registrars have.")
    var environment = ""

    @Option(
        help: ArgumentHelp(
            "Time of the registration: UNIX seconds, or ISO 8601 such as 2026-01-31T12:00:00Z; none: now.",
            valueName: "time"
        )
    )
    var registeredAt: Time?

    @Option(
        help: ArgumentHelp(
            "The devices' language as BCP 47 tag; none: unknown, whatever was registered before.",
            valueName: "tag"
        )
    )
    var locale = ""

    @Option(
        help: ArgumentHelp(
            "The devices' time zone by its IANA name; none: unknown, whatever was registered before.",
            valueName: "name"
        )
    )
    var timeZone = ""

    @Option(help: ArgumentHelp("The token that the device had before; it is unregistered.", valueName: "hex"))
    var replaces: String?

    @Flag(help: "Unregister the tokens instead.")
    var unregister = false

    @Flag(help: "Tell of locale and time zone alone; the tokens do not register.")
    var describe = false

    @Option(help: "Over how many keys the bundle's registrations are spread.")
    var spread: Int?

    @Option(help: "How records are written: protobuf or json.")
    var format = RecordFormat.protobuf

    @OptionGroup var kafka: KafkaOptions
    @OptionGroup var output: OutputOptions

    /// A time as it is typed.
    struct Time: ExpressibleByArgument {
        let seconds: UInt32

        init?(argument: String) {
            guard let seconds = RegistrationTime.parse(argument) else { return nil }
            self.seconds = seconds
        }
    }

    func validate() throws {
        if unregister, describe { throw ValidationError("--unregister and --describe cannot be given together") }
        if file == nil {
            if restart || strict { throw ValidationError("--restart and --strict belong to --file") }
        } else if !tokens.tokens.isEmpty || tokens.tokenFile != nil || replaces != nil {
            throw ValidationError("--file cannot be given together with --token, --token-file and --replaces")
        }
    }

    func run() async throws {
        let configuration = try kafka.load()
        let input = file == nil ? tokens.input() : .listed([])
        var order = RegistrationOrder(bundleID: app, tokens: input)
        try order.apply(configuration, environmentName: environment)
        if let spread { order.spread = spread }
        order.registeredAt = registeredAt?.seconds
        order.kind = unregister ? .unregister : describe ? .describe : .register
        order.replaces = replaces
        order.locale = locale
        order.timeZone = timeZone
        order.format = format
        if let file { return try publish(file, order, configuration) }
        let report = try Publisher.register(order, through: configuration.kafka)
        output.print(json: report.json, text: report.text)
    }

    private func publish(_ path: String, _ order: RegistrationOrder, _ configuration: BelfryConfiguration) throws {
        let progress = ProgressLine()
        var file = RegistrationFile(path: path, order: order)
        file.restarts = restart
        file.isStrict = strict
        file.onFault = { fault in
            progress.end()
            StandardStream.error.write(Array((fault + "\n").utf8))
        }
        file.onProgress = { share, tokens in progress.show("\(ProgressLine.bar(share)) \(counted(tokens, "token"))") }
        let resumption = RegistrationFile.resumption(restarts: restart)
        let interruption = Interruption(says: "interrupted: \(resumption)")
        let result = Result { try file.publish(through: configuration.kafka) }
        interruption.end()
        progress.end()
        if case .failure(ToolError.notDelivered) = result { Diagnostics.tell(resumption) }
        let report = try result.get()
        output.print(json: report.json, text: report.text)
        if report.faults > 0 {
            // Earlier runs told their bad lines themselves; this run may have met none.
            Diagnostics.tell("\(counted(report.faults, "line")) of \(path) could not be used")
            throw ExitCode(ExitStatus.failed.rawValue)
        }
    }
}
