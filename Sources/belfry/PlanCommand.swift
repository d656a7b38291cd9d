import ArgumentParser
import BelfryTools
import RequestLanes

/// `belfry plan`.
struct PlanCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "plan",
        abstract: "Say how many workers, partitions, connections and so on a load needs.",
        discussion: """
            From measured figures; Deploy/CAPACITY.md has these and the rules. Nothing is read and nobody is asked.
            """
    )

    @Option(help: ArgumentHelp("Registered tokens.", valueName: "n"))
    var tokens: CountArgument

    @Option(help: ArgumentHelp("Bundles, in each environment.", valueName: "n"))
    var apps: Int

    @Option(help: ArgumentHelp("Notifications a second at the busiest time.", valueName: "n"))
    var rate: Int?

    @Option(
        help: ArgumentHelp(
            "Notifications of a send, for instance 20M, instead of --rate; with --within.",
            valueName: "n"
        )
    )
    var notifications: CountArgument?

    @Option(help: ArgumentHelp("How long that send may take, for instance 10m.", valueName: "duration"))
    var within: DurationArgument?

    @Option(help: ArgumentHelp("The interface to the push service.", valueName: "name"))
    var transport = CapacityDemand.Transport.http2

    @Option(help: ArgumentHelp("Tokens that share a record.", valueName: "n"))
    var tokensPerRecord = 1

    @Option(help: ArgumentHelp("The usual size of a payload.", valueName: "n"))
    var payloadBytes = 200

    @Option(
        name: .customLong("round-trip-ms"),
        help: ArgumentHelp("From the workers to the push service and back.", valueName: "n")
    )
    var roundTripMilliseconds = 40

    @Flag(help: "Every token is looked up in Redis: dedupe-window, badges, or no filter of dead tokens.")
    var askRedis = false

    @Flag(help: "The workers make the payloads, in several languages.")
    var localized = false

    @Option(help: ArgumentHelp("Tokens known to be dead; none: a tenth of all.", valueName: "n"))
    var deadTokens: Int?

    @Option(
        name: .customLong("cpu-us"),
        help: ArgumentHelp("CPU microseconds of a worker for a notification; none: as measured.", valueName: "n")
    )
    var cpuMicroseconds: Double?

    @Option(help: ArgumentHelp("worker.shards of a process, each on a core of its own.", valueName: "n"))
    var shards = 2

    @Option(
        help: ArgumentHelp(
            "The lanes that the workers serve, for instance urgent,normal,bulk; none: normal alone.",
            valueName: "lane,…"
        )
    )
    var lanes: LanesArgument?

    @Option(help: ArgumentHelp("Replicas of each partition in Kafka.", valueName: "n"))
    var replication = 3

    @Option(help: ArgumentHelp("How long Kafka keeps push.requests.", valueName: "n"))
    var retentionHours = 24

    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard (notifications == nil) == (within == nil) else {
            throw ValidationError("--notifications and --within are given together")
        }
        guard (rate == nil) != (notifications == nil) else {
            throw ValidationError("either --rate, or --notifications and --within must be given")
        }
    }

    func run() throws {
        var demand = CapacityDemand(rate: rate ?? 0, tokens: tokens.count, topics: apps)
        if let notifications, let within {
            let seconds = Int(clamping: within.duration.components.seconds)
            let send = CapacityDemand.Send(notifications: notifications.count, seconds: seconds)
            demand = CapacityDemand(send: send, tokens: tokens.count, topics: apps)
        }
        demand.transport = transport
        demand.tokensPerRecord = tokensPerRecord
        demand.payloadBytes = payloadBytes
        demand.roundTripMilliseconds = roundTripMilliseconds
        demand.asksRedis = askRedis
        demand.isLocalized = localized
        demand.deadTokens = deadTokens
        demand.cpuMicroseconds = cpuMicroseconds
        demand.shards = shards
        if let lanes { demand.lanes = lanes.lanes }
        demand.replication = replication
        demand.retentionHours = retentionHours
        let plan = try CapacityPlan(demand)
        output.print(json: plan.json, text: plan.text)
    }
}

extension CapacityDemand.Transport: ExpressibleByArgument {}

/// Lanes with commas between them.
struct LanesArgument: ExpressibleByArgument {
    let lanes: Set<RequestLane>

    init?(argument: String) {
        let names = argument.split(separator: ",", omittingEmptySubsequences: false)
        let lanes = names.compactMap { RequestLane(rawValue: String($0)) }
        guard lanes.count == names.count else { return nil }
        self.lanes = Set(lanes)
    }
}
