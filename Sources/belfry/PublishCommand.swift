import ArgumentParser
import BelfrySupport
import BelfryTools
import Foundation
import PushSchemas
import RequestLanes

/// `belfry publish`.
struct PublishCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "publish",
        abstract: "Publish a notification for some tokens, or a channel, into a lane.",
        discussion: "Payload and tokens are checked before the first record leaves; all records are acknowledged."
    )

    @Option(help: ArgumentHelp("The bundle ID.", valueName: "bundle"))
    var app: String

    @Option(help: ArgumentHelp("The payload.", valueName: "json"))
    var payload: String?

    @Option(help: ArgumentHelp("A file that holds the payload.", valueName: "file"))
    var payloadFile: String?

    @Option(
        help: ArgumentHelp(
            """
            A notification in parts instead of a payload: JSON, or a file that holds it, with alert, localizations, \
            badge and so on. The workers make the payloads, one for each language.
            """,
            valueName: "file or json"
        )
    )
    var notification: String?

    @OptionGroup var tokens: TokenOptions

    @Option(
        help: ArgumentHelp(
            """
            The form of --token-file and of standard input: lines, which may have columns as those of register --file, \
            or packed, 32 bytes for each token.
            """,
            valueName: "format"
        )
    )
    var tokenFormat = TokenFormat.lines

    @Option(
        help: ArgumentHelp(
            "A channel to broadcast to instead of tokens, over HTTP/2; with --priority, and --expiration or --ttl.",
            valueName: "id"
        )
    )
    var channel: String?

    @Option(help: "The lane: requests of one do not wait behind those of another, and urgent goes first.")
    var lane = RequestLane.normal

    @Option(help: "The environment by its name in the configuration; none: the only one the workers have.")
    var environment = ""

    @Option(
        help: ArgumentHelp(
            "UNIX seconds until which the push service may store it, 0: not at all; none: as long as the default says.",
            valueName: "seconds"
        )
    )
    var expiration: UInt32?

    @Option(
        help: ArgumentHelp(
            "How long from now the push service may store it, for instance 30s, 10m or 2d; instead of --expiration.",
            valueName: "duration"
        )
    )
    var ttl: DurationArgument?

    @Option(
        help: """
            10 (at once), 5 (at a time that saves power), or over HTTP/2 1 (never wakes the device); none: 10, or what \
            the push type allows.
            """
    )
    var priority: UInt32?

    @Option(
        help: ArgumentHelp(
            "The push type over HTTP/2, such as alert, background or voip; none: inferred from the payload.",
            valueName: "type"
        )
    )
    var pushType = ""

    @Option(
        help: ArgumentHelp(
            "Of the notifications with this id a device shows only the last, over HTTP/2; none: it shows each.",
            valueName: "id"
        )
    )
    var collapseID = ""

    @Option(
        help: ArgumentHelp(
            "Of the requests with this key that wait for a device, only the newest is sent; none: each is.",
            valueName: "key"
        )
    )
    var coalescingKey = ""

    @Option(help: "Over how many keys the bundle is spread; all publishers of a bundle must agree.")
    var spread: Int?

    @Option(
        help: ArgumentHelp(
            "The largest payload the gateway takes; none: the configuration's, else 256.",
            valueName: "bytes"
        )
    )
    var payloadLimit: Int?

    @Option(help: "How many tokens share a record at most.")
    var tokensPerRecord = 500

    @Option(help: ArgumentHelp("The requests' id, passed on to the outcomes; none: a new UUID.", valueName: "id"))
    var requestID: String?

    @Option(
        help: ArgumentHelp(
            """
            The outcomes that are published: all, failures, or summary (one a record, with numbers); none: as the \
            workers are set.
            """,
            valueName: "report"
        )
    )
    var report: RequestReport?

    @Option(help: "How records are written: protobuf or json.")
    var format = RecordFormat.protobuf

    @Option(help: ArgumentHelp("Most tokens a second; none: as fast as the brokers take them.", valueName: "n"))
    var rate: Int?

    @Flag(help: "Check everything and tell what would be published, but publish nothing.")
    var dryRun = false

    @Flag(
        help: """
            Wait for the outcomes of all tokens and print their numbers; the exit code is 1 if one failed. Asks for \
            --report summary if tokens are read, which leaves reasons out, and for all if they are typed.
            """
    )
    var wait = false

    @Option(
        help: ArgumentHelp(
            "A file that remembers what of --token-file is acknowledged: the same command goes on.",
            valueName: "file"
        )
    )
    var checkpoint: String?

    @OptionGroup var kafka: KafkaOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        if channel != nil, !tokens.tokens.isEmpty || tokens.tokenFile != nil {
            throw ValidationError("--channel and tokens cannot be given together")
        }
        if expiration != nil, ttl != nil {
            throw ValidationError("--expiration and --ttl cannot be given together")
        }
        _ = try expirationOfTTL()
        guard [payload, payloadFile, notification].count(where: { $0 != nil }) == 1 else {
            throw ValidationError("one of --payload, --payload-file and --notification must be given")
        }
        if let rate, rate < 1 { throw ValidationError("--rate must be at least 1") }
        if wait, report == .failures {
            throw ValidationError("--wait needs every outcome: --report must be summary or all")
        }
        if checkpoint != nil, tokens.tokenFile ?? "-" == "-" {
            throw ValidationError("--checkpoint needs --token-file, and a file that can be read again")
        }
        if dryRun, wait || checkpoint != nil {
            throw ValidationError("--dry-run publishes nothing: --wait and --checkpoint cannot be given with it")
        }
    }

    func run() async throws {
        let configuration = try kafka.load()
        var order = PublishOrder(
            bundleID: app,
            tokens: channel == nil ? tokens.input(tokenFormat) : .listed([]),
            content: try content(),
            requestID: requestID ?? UUID().uuidString.lowercased()
        )
        try order.apply(configuration, environmentName: environment)
        if let spread { order.spread = spread }
        if let payloadLimit { order.payloadRule = .limit(bytes: payloadLimit) }
        order.lane = lane
        order.expiration = try expirationOfTTL() ?? expiration
        order.priority = priority
        order.coalescingKey = coalescingKey
        order.pushType = pushType
        order.collapseID = collapseID
        order.channel = channel
        order.tokensPerRecord = tokensPerRecord
        order.format = format
        order.report = report ?? (wait ? order.awaitedReport : nil)
        if let warning = order.warning { Diagnostics.tell(warning) }
        if let doubt = BundleDoubt.text(of: app, configuration) { Diagnostics.tell(doubt) }
        var publication = OrderPublication(order)
        publication.rate = rate
        publication.checkpoint = checkpoint
        publication.awaitsOutcomes = wait
        publication.typed = "\(requestID ?? "") \(expiration.map(String.init) ?? "") \(ttl?.duration ?? .zero)"
        if dryRun { return try foretell(publication, through: configuration.kafka) }
        if checkpoint != nil, configuration.worker.dedupeWindow == .zero { Diagnostics.tell(Self.withoutDedupe) }
        let completion = try publish(publication, through: configuration.kafka)
        output.print(json: completion.report.json, text: completion.report.text)
        if let wait = completion.wait {
            let obstacle = WaitObstacle(configuration, bundleID: app, environment: environment, lane: lane)
            try awaitOutcomes(wait, obstacle, leavesReasonsOut: order.report == .summary)
        }
    }

    private static let withoutDedupe = """
        worker.dedupe-window is off, or not in the configuration that was given: if this is interrupted, some tokens \
        may be sent to twice
        """

    private static let resumption = "the same command goes on where this one stopped"

    private func publish(
        _ publication: OrderPublication,
        through settings: KafkaSettings
    ) throws -> OrderPublication.Completion {
        let progress = ProgressLine()
        var publication = publication
        publication.onCheck = { progress.show(Self.checkText($0, of: $1)) }
        publication.onProgress = { progress.show($0.text) }
        let interruption = checkpoint == nil ? nil : Interruption(says: "interrupted: \(Self.resumption)")
        let result = Result { try publication.run(through: settings) }
        interruption?.end()
        progress.end()
        if checkpoint != nil, case .failure(ToolError.notDelivered) = result { Diagnostics.tell(Self.resumption) }
        return try result.get()
    }

    private static func checkText(_ bytes: Int64, of size: Int64?) -> String {
        guard let size, size > 0 else { return "\(bytes >> 20) MiB of tokens checked" }
        return "\(ProgressLine.bar(Double(bytes) / Double(size))) of the tokens checked"
    }

    private func awaitOutcomes(_ wait: OutcomeWait, _ obstacle: WaitObstacle, leavesReasonsOut: Bool) throws {
        defer { wait.close() }
        let progress = ProgressLine()
        let stop = StopRequest()
        let result = wait.wait(
            isStopped: { stop.isMade },
            obstacle: { obstacle.text(unfinished: $0) },
            onProgress: { done, total in
                let share = Double(done) / Double(total)
                progress.show("\(ProgressLine.bar(share)) \(done) of \(counted(total, "outcome"))")
            }
        )
        stop.end()
        progress.end()
        StandardStream.output.write(result.lines(asJSON: output.json))
        if result.missing > 0 { Diagnostics.tell("interrupted: \(counted(result.missing, "token")) without outcome") }
        if result.failed > 0, leavesReasonsOut { Diagnostics.tell("with --report all the reasons are told, too") }
        if result.missing > 0 || result.failed > 0 { throw ExitCode(ExitStatus.failed.rawValue) }
    }

    private func foretell(_ publication: OrderPublication, through settings: KafkaSettings) throws {
        let progress = ProgressLine()
        var publication = publication
        publication.onCheck = { progress.show(Self.checkText($0, of: $1)) }
        let forecast = try publication.forecast(through: settings)
        progress.end()
        output.print(json: forecast.json, text: forecast.text)
        guard forecast.faults.isEmpty else { throw ToolError.invalidInput(forecast.faults) }
    }

    private func expirationOfTTL() throws -> UInt32? {
        guard let ttl else { return nil }
        guard let expiration = PublishOrder.expiration(after: ttl.duration, now: UTCTimestamp.now()) else {
            throw ValidationError("--ttl: 1ms and more are allowed, up to an expiration of \(UInt32.max)")
        }
        return expiration
    }

    private func content() throws(ToolError) -> OrderedContent {
        if let notification { return try .notification(notification) }
        if let payload { return .payload(Array(payload.utf8)) }
        return .payload(try InputFile.bytes(at: payloadFile ?? ""))
    }
}
