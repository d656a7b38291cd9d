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

    @Option(help: "The environment by its name in the configuration; none: the only one the registrars have.")
    var environment = ""

    @Option(help: ArgumentHelp("UNIX seconds of the registration; none: now.", valueName: "seconds"))
    var registeredAt: UInt32?

    @Option(help: ArgumentHelp("The devices' language as BCP 47 tag.", valueName: "tag"))
    var locale = ""

    @Option(help: ArgumentHelp("The devices' time zone by its IANA name.", valueName: "name"))
    var timeZone = ""

    @Flag(help: "Unregister the tokens instead.")
    var unregister = false

    @Option(help: "Over how many keys the bundle's registrations are spread.")
    var spread: Int?

    @Option(help: "How records are written: protobuf or json.")
    var format = RecordFormat.protobuf

    func run() async throws {
        let configuration = try kafka.load()
        var order = RegistrationOrder(bundleID: topic, tokens: try tokens.input())
        try order.apply(configuration, environmentName: environment)
        if let spread { order.spread = spread }
        order.registeredAt = registeredAt
        order.isUnregistration = unregister
        order.locale = locale
        order.timeZone = timeZone
        order.format = format
        let report = try Publisher.register(order, through: configuration.kafka)
        output.print(json: report.json, text: report.text)
    }
}
