import ArgumentParser

/// `belfry-bench worker`, which is also what no subcommand means.
struct WorkerBenchmarkCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "worker",
        abstract: "Measures the worker against the least a worker must do.",
        discussion: """
            A scenario is measured in timed rounds of all that take part, then each is run again to count its \
            allocations, and again under callgrind. A line of JSON for each scenario goes to stdout, a table to stderr.
            """
    )

    @Option(help: "Scenarios, separated by commas: \(ScenarioSelection.known). Default: all.")
    var scenarios: String?

    @Option(help: "Kafka to use, host:port, instead of embedded brokers in processes of their own; only for some.")
    var kafka: String?

    @Option(help: "Partitions of the topics, but 8 in fanout; with --kafka, what they have if they are there already.")
    var partitions = 32

    @Option(help: "The belfry executable. Default: the one beside this program.")
    var belfry: String?

    @Option(help: "Another belfry executable, of an older commit for instance, whose worker takes part in every round.")
    var beside: String?

    @Option(help: "Rounds; the results are the medians, of ratios those of the rounds' ratios.")
    var rounds = 5

    @Option(help: "Notifications per round. Default: 300,000, in fanout 400,000.")
    var notifications: Int?

    @Option(help: "Notifications whose allocations are counted, in fanout ten times as many. 0: not counted.")
    var allocations = 20_000

    @Option(help: "Notifications whose instructions are counted, in fanout ten times as many. 0: not counted.")
    var instructions = 20_000

    @Flag(inversion: .prefixedNo, help: "Exit with 1 when a target is missed.")
    var judge = true

    func validate() throws {
        let selection = try ScenarioSelection(scenarios)
        guard (1...1000).contains(rounds) else { throw ValidationError("--rounds: 1...1000, not \(rounds)") }
        guard (1...1000).contains(partitions) else {
            throw ValidationError("--partitions: 1...1000, not \(partitions)")
        }
        guard (0...1_000_000).contains(allocations) else { throw ValidationError("--allocations: 0...1000000") }
        guard (0...1_000_000).contains(instructions) else { throw ValidationError("--instructions: 0...1000000") }
        for name in selection.names { try check(name) }
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
        let names = try ScenarioSelection(scenarios).names
        try BenchmarkCommand.withServers(belfry: belfry) { servers in
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
            if judge { try BenchmarkCommand.judge(missed: missed) }
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
            let report = try scenario.run(rounds: rounds, notifications: notifications ?? 300_000)
            printResult(try report.line())
            return report.missedTargets
        }
        let request = WorkerScenario.Request(
            rounds: rounds,
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

/// The scenarios that are asked for.
struct ScenarioSelection: Equatable {
    /// All names, for people.
    static let known = ScenarioPlan.Name.allCases.map(\.rawValue).joined(separator: ", ")

    /// In the order asked for, each once.
    let names: [ScenarioPlan.Name]

    /// - Parameter list: names separated by commas; nil: all.
    init(_ list: String?) throws {
        guard let list else {
            names = ScenarioPlan.Name.allCases
            return
        }
        var names: [ScenarioPlan.Name] = []
        for word in list.split(separator: ",", omittingEmptySubsequences: false) {
            guard let name = ScenarioPlan.Name(rawValue: String(word)) else {
                throw ValidationError("--scenarios: \(Self.known), not '\(word)'")
            }
            if !names.contains(name) { names.append(name) }
        }
        self.names = names
    }
}
