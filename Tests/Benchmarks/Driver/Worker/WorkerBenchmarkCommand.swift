import ArgumentParser

/// `belfry-bench run worker`, which is also what `run` without a name means.
struct WorkerBenchmarkCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        scenario: Self.self,
        discussion: """
            The floor is a minimal worker in C: 512 records, a frame for each token, one SSL_write; if it looks tokens \
            up, a pipeline of HGETs; no validation, no ledger, no commit. Payloads have 110 bytes; the gateway is a \
            sink that reads, counts frames and never answers. Each that takes part has a broker, a Redis server and a \
            gateway of its own, lives through all rounds, and stands still while another is measured. A round is \
            shorter than the confirmation window, so that its rate is that of a burst: against a silent gateway \
            nothing is faster for long than max-uncommitted × partitions in a window.

            After the timed rounds each is run again, alone, to count its allocations, and then under callgrind, which \
            counts instructions whatever else the machine does. Both are the difference between a round and one of \
            twice its size. An order to callgrind that is not carried out within 60 s ends the run.

            A scenario has passed if all of its targets were measured and met. A table goes to stderr. --kafka is not \
            for fanout, bundles and languages, whose records are not the same for all; --beside is for single, fanout, \
            bundles and outcomes-all, since not every version lays Redis out alike.
            """,
        tables: [ScenarioPlan.help, WorkerReport.fields, LanguagesReport.fields]
    )

    private static let known = ScenarioPlan.Name.allCases.map(\.rawValue)

    @OptionGroup var common: FloorOptions

    @OptionGroup var topics: TopicOptions

    @Option(help: "Scenarios, separated by commas: \(known.joined(separator: ", ")). Default: all.")
    var scenarios: String?

    @Option(help: "Kafka to use, host:port, instead of embedded brokers in processes of their own; only for some.")
    var kafka: String?

    @Option(help: "Another belfry executable, of an older commit for instance, whose worker takes part in every round.")
    var beside: String?

    @Option(help: "Notifications per round. Default: 300,000, in fanout 400,000.")
    var notifications: Int?

    @Option(help: "Notifications whose allocations are counted, in fanout ten times as many. 0: not counted.")
    var allocations = 20_000

    @Option(help: "Notifications whose instructions are counted, in fanout ten times as many. 0: not counted.")
    var instructions = 20_000

    private var partitions: Int { topics.partitions }

    func validate() throws {
        try require("partitions", partitions, in: 1...1000)
        try require("allocations", allocations, in: 0...1_000_000)
        try require("instructions", instructions, in: 0...1_000_000)
        for name in try chosen() { try check(name) }
    }

    /// In the order asked for, each once.
    private func chosen() throws -> [ScenarioPlan.Name] {
        try names(in: scenarios, of: Self.known, option: "scenarios").compactMap(ScenarioPlan.Name.init)
    }

    private func check(_ name: ScenarioPlan.Name) throws {
        guard let plan = ScenarioPlan(name, partitions: partitions) else {
            guard kafka == nil, beside == nil else {
                throw ValidationError("--scenarios: \(name.rawValue) takes neither --kafka nor --beside")
            }
            if let notifications {
                try RequestRecords.check(
                    notifications: notifications,
                    partitions: partitions,
                    perPartition: LanguagesScenario.notificationsPerPartition
                )
            }
            return
        }
        guard kafka == nil || plan.hasOneKindOfRecords else {
            throw ValidationError("--kafka: not with \(name.rawValue), whose contenders take different records")
        }
        let most = kafka == nil ? plan.notificationLimit : 10_000_000
        let number = notifications ?? plan.notifications
        guard (1...most).contains(number) else {
            throw ValidationError("--notifications: 1...\(most) in \(name.rawValue), not \(number)")
        }
        // Tokens and requests do not lie at the same places of Redis in every version.
        guard beside == nil || !plan.asksRedis else {
            throw ValidationError("--beside: not with \(name.rawValue): not every version lays Redis out alike")
        }
    }

    func run() throws {
        let names = try chosen()
        try BenchmarkCommand.withServers(belfry: common.belfry) { servers in
            // Every version makes the Kafka topics that it asks for; one that is older may ask for more of them.
            if let kafka {
                for program in [servers.programs.belfry, beside].compactMap(\.self) {
                    try servers.prepare(kafka: kafka, program, partitions: partitions)
                }
            }
            var missed: [String] = []
            for name in names {
                missed += try measure(name, servers).map { "\(name.rawValue): \($0)" }
                ChildRegistry.endAll()
            }
            if common.judge { try BenchmarkCommand.judge(missed: missed) }
        }
    }

    /// Prints the result of a scenario. Returns the targets that it misses.
    private func measure(_ name: ScenarioPlan.Name, _ servers: Servers) throws -> [String] {
        guard let plan = ScenarioPlan(name, partitions: partitions) else {
            let servers = try servers.within(name.rawValue)
            var scenario = try LanguagesScenario(
                servers: servers,
                brokers: try servers.startBroker(partitions: partitions)
            )
            let report = try scenario.run(rounds: common.rounds, notifications: notifications ?? 300_000)
            printResult(try report.line())
            return report.missedTargets
        }
        let request = WorkerScenario.Request(
            rounds: common.rounds,
            notifications: notifications,
            allocations: allocations,
            instructions: instructions,
            brokers: kafka
        )
        let report = try WorkerScenario(plan.beside(beside), servers: servers, request).run()
        say("\n\(report.table)")
        printResult(try report.line())
        return report.missedTargets
    }
}
