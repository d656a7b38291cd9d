import ArgumentParser
import BelfrySupport
import BelfryTools
import Logging
import PushSchemas

/// `belfry outcomes`.
struct OutcomesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "outcomes",
        abstract: "Follow push.outcomes until SIGTERM, SIGINT, --count outcomes or, with --end, its end.",
        discussion: "Reads on its own, without a consumer group's offsets: it takes nothing away from other readers."
    )

    @Option(help: ArgumentHelp("Only of this bundle ID; may be repeated.", valueName: "bundle"))
    var app: [String] = []

    @Option(help: ArgumentHelp("Only of this device token; may be repeated.", valueName: "hex"))
    var token: [HexToken] = []

    @Option(help: ArgumentHelp("Only of the request with this id; may be repeated.", valueName: "id"))
    var request: [String] = []

    @Option(help: "Only of this kind; may be repeated.")
    var kind: [OutcomeKind] = []

    @Flag(help: "Only of notifications that did not arrive, or for which that is not known.")
    var failures = false

    @Option(help: ArgumentHelp("Only decided since: \(PointInTime.forms).", valueName: "time"))
    var since: PointInTime?

    @Flag(help: "Print counts at the end, in place of the outcomes.")
    var summary = false

    @Option(help: "Where to begin: beginning or end; none: the end, or with --end the beginning.")
    var from: OutcomeFollower.Start?

    @Flag(help: "End at the end.")
    var end = false

    @Option(help: ArgumentHelp("End after so many outcomes.", valueName: "n"))
    var count: Int?

    @OptionGroup var kafka: KafkaOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        if let count, count < 1 { throw ValidationError("--count must be at least 1") }
        if since != nil, from != nil { throw ValidationError("--since and --from cannot be given together") }
    }

    func run() async throws {
        let configuration = try kafka.load()
        let follower = OutcomeFollower(configuration.kafka, view)
        try await RoleRunner.run(follower, logger: Logger(label: "belfry.outcomes"))
    }

    private var view: OutcomeFollower.View {
        var view = OutcomeFollower.View()
        view.filter.bundleIDs = Set(app)
        view.filter.tokens = Set(token.map(\.bytes))
        view.filter.requestIDs = Set(request)
        view.filter.kinds = Set(kind)
        view.filter.onlyFailures = failures
        view.filter.since = since?.unixMilliseconds
        view.start = from ?? (end ? .beginning : .end)
        view.limit = count
        view.endsAtEnd = end
        view.onlyCounts = summary
        view.asJSON = output.json
        return view
    }
}

extension OutcomeFollower.Start: ExpressibleByArgument {}

extension OutcomeKind: ExpressibleByArgument {
    public init?(argument: String) {
        guard let kind = Self.allCases.first(where: { $0.name == argument }) else { return nil }
        self = kind
    }

    public static var allValueStrings: [String] { allCases.map(\.name) }
}

/// A time in the past as it is typed: UNIX seconds, an ISO 8601 time, or how long ago.
struct PointInTime: ExpressibleByArgument {
    static let forms = "a time (2026-01-31T12:00:00Z, or UNIX seconds), or how long ago (15m, 2d)"

    let unixMilliseconds: Int64
    /// As typed.
    let text: String

    init?(argument: String) {
        text = argument
        if let duration = DurationText.parse(argument) {
            unixMilliseconds = UTCTimestamp.now() - duration.components.seconds * 1000
        } else if let seconds = RegistrationTime.parse(argument) {
            unixMilliseconds = Int64(seconds) * 1000
        } else {
            return nil
        }
    }
}
