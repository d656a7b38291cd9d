import ArgumentParser

/// `belfry-bench run sandbox`.
struct SandboxBenchmarkCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        scenario: Self.self,
        discussion: """
            CPU time is user and system, of all threads; rates are by the clock on the wall, with the sender on the \
            same machine.
            """,
        tables: [SandboxReport.fields]
    )

    @OptionGroup var common: FloorOptions

    @Option(help: "Another belfry executable, an older one for instance, whose sandbox takes part in every round.")
    var beside: String?

    @Option(help: "Virtual devices, whose tokens are spread over all of them.")
    var devices = 10_000_000

    @Option(help: "Notifications per round.")
    var notifications = 2_000_000

    @Option(help: "Connections that the notifications of a round are sent over.")
    var connections = 4

    @Option(help: "Connections that are open at once at the end, each of which sends.")
    var held = 2000

    @Option(help: "Share of the devices that are offline, in percent: their notifications are stored.")
    var offline = 10

    func validate() throws {
        try require("devices", devices, in: 1000...16_777_215)
        try require("notifications", notifications, in: 1000...10_000_000)
        try require("connections", connections, in: 1...1000)
        try require("held", held, in: 1...20_000)
        try require("offline", offline, in: 0...100)
    }

    func run() throws {
        try BenchmarkCommand.withServers(belfry: common.belfry) { servers in
            var scenario = try SandboxScenario(
                servers: servers,
                devices: devices,
                offlinePercent: offline,
                connections: connections,
                beside: beside
            )
            let report = try scenario.run(rounds: common.rounds, notifications: notifications, held: held)
            printResult(try report.line())
            if common.judge { try BenchmarkCommand.judge(missed: report.missedTargets) }
        }
    }
}
