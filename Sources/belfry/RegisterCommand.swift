import ArgumentParser
import BelfryRuntime

/// `belfry register`.
struct RegisterCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "register",
        abstract: "Publish registrations of tokens to push.registrations."
    )

    @OptionGroup var kafka: KafkaOptions
    @OptionGroup var tokens: TokenOptions
    @OptionGroup var output: OutputOptions

    @Option(help: ArgumentHelp("The bundle ID.", valueName: "bundle"))
    var topic: String

    @Option(
        help: ArgumentHelp(
            "A file of any size with a line per token: hex[,registered at[,locale[,time zone]]]. Stopped at any moment and "
                + "started again it goes on where it was, which stands in <file>.belfry-progress.",
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

    @Option(help: ArgumentHelp("UNIX seconds of the registration; none: now.", valueName: "seconds"))
    var registeredAt: UInt32?

    @Option(help: ArgumentHelp("The devices' language as BCP 47 tag.", valueName: "tag"))
    var locale = ""

    @Option(help: ArgumentHelp("The devices' time zone by its IANA name.", valueName: "name"))
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
        let input = try file == nil ? tokens.input() : .listed([])
        var order = RegistrationOrder(bundleID: topic, tokens: input)
        try order.apply(configuration, environmentName: environment)
        if let spread { order.spread = spread }
        order.registeredAt = registeredAt
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
        file.onProgress = { share, tokens in progress.show("\(ProgressLine.bar(share)) \(tokens) tokens") }
        let result = Result { try file.publish(through: configuration.kafka) }
        progress.end()
        let report = try result.get()
        output.print(json: report.json, text: report.text)
        if report.faults > 0 { throw ExitCode(ExitStatus.failed.rawValue) }
    }
}
