import ArgumentParser
import BelfrySupport
import BelfryTools
import Demo
import Foundation
import LocalPipeline

/// `belfry demo`.
struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Run the whole story on this machine and check the books.",
        discussion: """
            Starts an embedded broker, a Redis server, the sandbox, two workers, registrar and harvester; registers \
            tokens, sends (one app in three languages, with counted badges), harvests, sends again. The last line on \
            standard output is one JSON object; the exit code is 1 if the books do not balance.
            """
    )

    @Option(
        help: ArgumentHelp(
            """
            The interface between workers and sandbox: binary, or http2, where some topics use a certificate and \
            some a provider key, and nothing may be presumed.
            """,
            valueName: "name"
        )
    )
    var transport = PipelineTransport.binary

    @Option(help: ArgumentHelp("A broker to use instead of the embedded one.", valueName: "host:port"))
    var kafka: String?

    @Option(help: ArgumentHelp("A Redis server to use instead of one of its own.", valueName: "url"))
    var redis: String?

    @Option(help: "Notifications in both rounds together.")
    var notifications = 100_000

    @Option(help: "Seed of what is random in the published records.")
    var seed: UInt64 = 1

    func validate() throws {
        guard notifications >= 20_000 else { throw ValidationError("--notifications is at least 20000") }
    }

    func run() async throws {
        var options = DemoStory.Options()
        options.transport = transport
        options.kafka = kafka
        options.redis = redis
        options.notifications = notifications
        options.seed = seed
        let story = DemoStory(options, executable: CommandLine.executablePath) { line in
            StandardStream.error.write(Array("\(line)\n".utf8))
        }
        let report = try await story.run()
        StandardStream.output.write(Array("\(report.table)\n\(report.json)\n".utf8))
        for complaint in report.complaints {
            StandardStream.error.write(Array("belfry: \(complaint)\n".utf8))
        }
        guard report.balances else {
            Diagnostics.tell("the books do not balance")
            throw ExitCode(ExitStatus.failed.rawValue)
        }
    }
}

extension PipelineTransport: ExpressibleByArgument {}

extension CommandLine {
    /// This program, also when it was found by the search path.
    fileprivate static var executablePath: String {
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? arguments[0]
    }
}
