import ArgumentParser
import Workbench

/// A row of the table of scenarios: a measurement that `belfry-bench run` makes.
struct BenchmarkScenario {
    let name: String
    let abstract: String
    let command: any ParsableCommand.Type
    /// Its options in `belfry-bench smoke`; nil: it has no part in that.
    private let smokeOptions: String?

    private init(_ name: String, _ abstract: String, _ command: any ParsableCommand.Type, smoke: String? = nil) {
        self.name = name
        self.abstract = abstract
        self.command = command
        smokeOptions = smoke
    }

    /// Name and options of its shortened form; nil: it has none.
    var smoke: [String]? { smokeOptions.map { [name] + $0.split(separator: " ").map(String.init) } }

    static var all: [BenchmarkScenario] {
        [
            BenchmarkScenario(
                "worker",
                "A worker against the least that a worker must do, in several scenarios.",
                WorkerBenchmarkCommand.self,
                smoke: "--scenarios single --rounds 1 --notifications 60000 --instructions 0 --no-judge"
            ),
            BenchmarkScenario(
                "latency",
                "The time from publisher to gateway at a steady rate against that to a bare consumer.",
                LatencyBenchmarkCommand.self
            ),
            BenchmarkScenario(
                "registrar",
                "Registrations a second against a bare loop that makes the same calls of the same script.",
                RegistrarBenchmarkCommand.self
            ),
            BenchmarkScenario(
                "scaling",
                "The CPU per notification of one to four workers, their start and their stop under load.",
                WorkersBenchmarkCommand.self
            ),
            BenchmarkScenario(
                "sandbox",
                "The sandbox's gateway, with ten million devices, against a raw TLS sink.",
                SandboxBenchmarkCommand.self
            ),
            BenchmarkScenario(
                "tokens",
                "The memory of the token state, look-ups against raw HGETs, and sending with the filter.",
                TokensBenchmarkCommand.self
            ),
            BenchmarkScenario(
                "http2",
                "A worker over HTTP/2 against h2load, and the sandbox's provider API against nghttpd.",
                HTTP2BenchmarkCommand.self
            ),
            BenchmarkScenario(
                "publish",
                "belfry publish against a bare loop of rd_kafka_produce, and a worker in many languages.",
                PublishBenchmarkCommand.self
            ),
            BenchmarkScenario(
                "badtokens",
                "A worker's goodput with invalid tokens among the good ones.",
                BadTokensCommand.self,
                smoke: "--notifications 100000 --invalid-percent 1 --answer-delay 50 --judge safety"
            ),
            BenchmarkScenario(
                "hostile",
                "How long hostile records hold a worker, and how much of its memory it counts.",
                HostileCommand.self
            ),
            BenchmarkScenario(
                "isolation",
                "A healthy topic beside sick ones; with --scaling, while workers come and go.",
                IsolationCommand.self,
                smoke: "--scaling --transport http2 --rate 5000"
            ),
            BenchmarkScenario(
                "lanes",
                "Urgent notifications beside a backlog of the same app in bulk, and what bulk keeps.",
                LanesCommand.self
            ),
        ]
    }
}

extension CommandConfiguration {
    /// Of a scenario's command; name and abstract stand in the table.
    init(scenario command: any ParsableCommand.Type, discussion: String, tables: [HelpTable]) {
        let scenario = BenchmarkScenario.all.first { $0.command == command }
        let passages = ["\(discussion)\n"] + tables.map(\.text)
        self.init(
            commandName: scenario?.name,
            abstract: scenario?.abstract ?? "",
            discussion: passages.joined(separator: "\n")
        )
    }
}
