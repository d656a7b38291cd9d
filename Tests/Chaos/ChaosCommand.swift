import ArgumentParser
import Dispatch
import Foundation
import LocalPipeline
import Workbench

/// Strikes the pipeline with every fault, and proves that nothing is lost.
///
/// The last line of stdout is one JSON object; progress goes to stderr. Exit codes: 0, 1 (failed), 64 (usage).
@main
struct ChaosCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "belfry-chaos",
        abstract: "Runs the pipeline as processes, breaks them by a seeded schedule, and checks that nothing is lost.",
        discussion: [ChaosReport.fields, SoakReport.fields].map(\.text).joined(separator: "\n")
    )

    @Option(help: "Between workers and sandbox: \(PipelineTransport.allCases.map(\.rawValue)).")
    var transport = PipelineTransport.binary

    @Option(help: "How long to publish under faults.")
    var seconds = 300

    @Option(help: "Of the schedule and of what is published.")
    var seed: UInt64 = 1

    @Option(help: "Notifications per second.")
    var rate = 20_000

    @Option(help: "How groups share out partitions: \(ChaosOptions.Assignment.allCases.map(\.rawValue)).")
    var assignment = ChaosOptions.Assignment.range

    @Option(
        help: """
            The token state's servers: \(ChaosOptions.Redis.allCases.map(\.rawValue)). Default: cluster, with \
            --transport http2 sentinel.
            """
    )
    var redis: ChaosOptions.Redis?

    @Flag(help: "Faults, too, that keep a gateway silent beyond the window: what is presumed may then be wrong.")
    var withhold = false

    @Flag(help: "The machine has other work, so that a gateway may be late: what is presumed wrongly is not judged.")
    var busy = false

    @Flag(
        help: """
            Disturb nothing, and watch memory and descriptors of the roles instead, with campaigns of fifty topics in \
            turn: the last line tells how they went in the second half.
            """
    )
    var soak = false

    @Flag(
        inversion: .prefixedNo,
        help: """
            Publish into all lanes, 5 % urgent and 35 % in bulk, and without --soak let two apps have a quota of the \
            urgent lane and one be kept warm there; else into normal alone, as --soak does by default.
            """
    )
    var lanes: Bool?

    @Option(help: "The belfry executable. Default: the one beside this program.")
    var belfry: String?

    @Flag(help: "Leave the directory with logs and data.")
    var keep = false

    func validate() throws {
        guard ChaosSchedule.seconds.contains(seconds) else {
            throw ValidationError("--seconds: \(ChaosSchedule.seconds), not \(seconds)")
        }
        guard (100...1_000_000).contains(rate) else { throw ValidationError("--rate: 100...1000000, not \(rate)") }
        guard transport == .binary || !withhold else {
            throw ValidationError("--withhold: with --transport binary only: over HTTP/2 nothing is presumed")
        }
    }

    func run() async throws {
        let board = Board()
        let signals = [SIGINT, SIGTERM].map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler { board.abort() }
            source.activate()
            return source
        }
        defer { for source in signals { source.cancel() } }
        let name = "belfry-chaos-\(ProcessInfo.processInfo.processIdentifier)"
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent(name).path
        do {
            let (passes, complaints, line) = try await run(in: directory, board: board)
            for complaint in complaints { say(complaint) }
            print(line)
            guard passes else {
                say("failed; logs are in \(directory)")
                throw ExitCode.failure
            }
            if !keep { try? FileManager.default.removeItem(atPath: directory) }
        } catch let error as ExitCode {
            throw error
        } catch {
            say("\(error); logs are in \(directory)")
            throw ExitCode.failure
        }
    }

    /// The verdict, its reasons, and the line for programs.
    private func run(in directory: String, board: Board) async throws -> (Bool, [String], String) {
        let beside = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        var options = ChaosOptions(executable: belfry ?? beside.appendingPathComponent("belfry").path)
        options.transport = transport
        options.seed = seed
        options.seconds = seconds
        options.rate = rate
        options.assignment = assignment
        options.redis = redis ?? .standard(with: transport)
        options.isWithholding = withhold
        options.isBusy = busy
        options.isSoak = soak
        options.wantsLanes = lanes
        let run = try ChaosRun(options, directory: directory, board: board)
        defer { run.stop() }
        let report = try await run.run()
        guard soak else { return (report.passes, report.complaints, try report.line()) }
        let soaked = SoakReport(report, samples: run.soak.seen, drained: run.soak.seenDrained)
        return (soaked.passes, report.complaints + soaked.complaints, try soaked.line())
    }
}

extension PipelineTransport: ExpressibleByArgument {}
extension ChaosOptions.Assignment: ExpressibleByArgument {}
extension ChaosOptions.Redis: ExpressibleByArgument {}
