import Foundation
import Glibc
import KafkaClient
import LocalPipeline
import PushSchemas
import PushTopics
import SwiftProtobuf
import Workbench

/// One worker with four connections against a sandbox that answers late, with a broker and a Redis server in processes
/// of their own.
///
/// A run is published while the worker stands still (SIGSTOP); then it goes on, and the time counts until the gateway
/// has accepted every good notification. A clean run, with no bad token, as many good ones and the same delay, goes
/// before each.
final class BadTokenScenario {
    static let bundleID = "com.example.bench"
    private static let devices = 100_000
    /// The embedded broker keeps 5 MiB of each.
    private static let partitions = 64
    private static let shards = 2
    private static let connectionsPerTopic = 2
    private static let warmUp = 20_000
    /// Notifications of the run beside which handshakes are timed.
    private static let load = 500_000
    private static let windowMilliseconds = 1000
    private static let startPatience = Duration.seconds(60)
    private static let runPatience = Duration.seconds(180)
    /// Time for which the gateway's counters must stand still at a run's end. It is the window, and time for what
    /// follows it.
    private static let quiet = Duration.milliseconds(windowMilliseconds + 500)

    private let pipeline: LocalPipeline
    private let producer: KafkaProducer
    private let names = TopicNames()
    private let tokens: [[UInt8]]
    private let worker: ChildProcess
    private var number = 0
    private var unacknowledged = 0
    private var failure: KafkaError?
    private var handshakeSeconds = 0.0
    private let interruption: Interruption

    /// Starts everything.
    init(executable: String, directory: String, interruption: Interruption) throws {
        self.interruption = interruption
        var options = LocalPipeline.Options()
        options.topics = [Self.bundleID]
        options.devices = Self.devices
        options.partitions = Self.partitions
        options.outcomes = "failures"
        options.worker = """
            {shards: \(Self.shards), connections-per-topic: \(Self.connectionsPerTopic), \
            confirmation-window: \(Self.windowMilliseconds)ms, connections-per-minute: 100000}
            """
        options.configuration = "apps: {\(Self.bundleID): {spread: \(BadTokenMix.spread)}}"
        let pipeline = try LocalPipeline(options, executable: executable, directory: directory)
        self.pipeline = pipeline
        do {
            tokens = try pipeline.tokens(of: Self.bundleID, first: 0, count: Self.devices)
            producer = try KafkaProducer(properties: [
                "bootstrap.servers": pipeline.brokers, "linger.ms": "5", "acks": "all",
            ])
            worker = try pipeline.startWorker()
        } catch {
            pipeline.stop()
            throw error
        }
        producer.onDelivery = { [unowned self] _, error, _, _ in
            unacknowledged -= 1
            if let error { failure = error }
        }
    }

    /// Ends everything that was started.
    func stop() {
        worker.signal(SIGCONT)
        producer.close()
        pipeline.stop()
    }

    /// Waits for the worker, lets it connect, and measures a handshake.
    func prepare() async throws {
        let deadline = ContinuousClock.now + Self.startPatience
        while WorkerLog.shardsWithPartitions(in: [worker]) < Self.shards {
            guard ContinuousClock.now < deadline else { throw BenchmarkError("the worker gets no partitions") }
            try pass(milliseconds: 20)
        }
        _ = try await measure(mix(Self.warmUp, invalidPercent: 0, seed: 0))
        handshakeSeconds = try await handshakeUnderLoad()
    }

    private func handshakeUnderLoad() async throws -> Double {
        let timer = try HandshakeTimer(pki: pipeline.pki, bundleID: Self.bundleID, gateway: pipeline.gateway)
        var times: [Double] = []
        _ = try await measure(mix(Self.load, invalidPercent: 0, seed: 1)) { times.append(try await timer.time()) }
        try await timer.close()
        return times.sorted()[times.count / 2]
    }

    /// - Parameters:
    ///   - notifications: of each run with bad tokens at most.
    ///   - seed: of the first round; each has bad tokens of its own.
    func run(
        notifications: Int,
        rounds: Int,
        learningSeconds: Double,
        invalidPercent: Double,
        answerDelayMilliseconds: Int,
        seed: UInt64
    ) async throws -> BadTokenReport {
        try await pipeline.sandbox.setFault(
            #"{"name":"answer-delay","milliseconds":\#(answerDelayMilliseconds)}"#
        )
        let most = BadTokenReport.most(
            invalidPercent: invalidPercent,
            answerDelayMilliseconds: answerDelayMilliseconds,
            handshakeSeconds: handshakeSeconds,
            connections: connections,
            learningSeconds: learningSeconds
        )
        var report = BadTokenReport(
            invalidPercent: invalidPercent,
            answerDelayMilliseconds: answerDelayMilliseconds,
            notifications: 0,
            good: 0,
            distinctBad: 0,
            connections: connections,
            handshakeSeconds: handshakeSeconds,
            rounds: []
        )
        for round in 0..<UInt64(rounds) {
            let seed = seed &* 100 &+ round
            let mixed = mix(min(notifications, most), invalidPercent: invalidPercent, seed: seed)
            let clean = try await measure(mix(mixed.good, invalidPercent: 0, seed: seed))
            let run = try await measure(mixed)
            (report.notifications, report.good, report.distinctBad) = (mixed.total, mixed.good, mixed.distinctBad)
            report.rounds.append(
                BadTokenReport.Round(
                    cleanRate: clean.rate,
                    goodRate: run.rate,
                    duplicates: run.duplicates,
                    connects: run.connects,
                    connectsAfter: run.connectsAfter,
                    refused: run.refused,
                    discarded: run.discarded
                )
            )
        }
        return report
    }

    /// Connections that good tokens go over, and as many beside them while there is trouble.
    private var connections: Int { Self.shards * Self.connectionsPerTopic }

    private func mix(_ notifications: Int, invalidPercent: Double, seed: UInt64) -> BadTokenMix {
        BadTokenMix(
            seed: seed,
            notifications: notifications,
            invalidPercent: invalidPercent,
            devices: tokens,
            places: .init(
                bundleID: Self.bundleID,
                partitions: Int32(Self.partitions),
                lanes: Self.connectionsPerTopic
            )
        )
    }

    // MARK: One run

    private struct Measured {
        /// Good notifications a second.
        var rate: Double
        var duplicates: Int
        var connects: Int
        var connectsAfter: Int
        var refused: Int
        var discarded: Int
    }

    /// - Parameter beside: done again and again while the run is going on.
    private func measure(_ mix: BadTokenMix, beside: () async throws -> Void = {}) async throws -> Measured {
        let before = try await pipeline.sandbox.stats()
        worker.signal(SIGSTOP)
        try publish(mix)
        let start = ContinuousClock.now
        worker.signal(SIGCONT)
        let expected = before.distinct + mix.good
        var stats = before
        while stats.distinct < expected {
            guard start.duration(to: .now) < Self.runPatience, worker.isRunning else {
                throw BenchmarkError("\(expected - stats.distinct) good notifications did not reach the gateway")
            }
            // Paces the questions: each costs the sandbox next to nothing.
            try pass(milliseconds: 5)
            try await beside()
            stats = try await pipeline.sandbox.stats()
        }
        let seconds = start.duration(to: .now) / .seconds(1)
        let connections = stats.connections.total
        stats = try await settled(stats)
        return Measured(
            rate: Double(mix.good) / seconds,
            duplicates: stats.accepted - stats.distinct - (before.accepted - before.distinct),
            connects: connections - before.connections.total,
            connectsAfter: stats.connections.total - connections,
            refused: (stats.rejected["8"] ?? 0) - (before.rejected["8"] ?? 0),
            discarded: stats.discarded - before.discarded
        )
    }

    /// The counters once nothing moves any more.
    private func settled(_ last: SandboxControl.Stats) async throws -> SandboxControl.Stats {
        var last = last
        var since = ContinuousClock.now
        while since.duration(to: .now) < Self.quiet {
            try pass(milliseconds: 50)
            let stats = try await pipeline.sandbox.stats()
            if stats.accepted != last.accepted || stats.rejected != last.rejected || stats.discarded != last.discarded {
                since = .now
            }
            last = stats
        }
        return last
    }

    private func pass(milliseconds: Int32) throws {
        if interruption.hasCome { throw BenchmarkError("stopped by a signal") }
        producer.poll(timeoutMilliseconds: milliseconds)
    }

    private func publish(_ mix: BadTokenMix) throws {
        for record in mix.records {
            number += 1
            var request = PushSendRequest()
            request.requestID = "\(number)"
            request.payloadJson = #"{"aps":{"alert":"Edition \#(number)","badge":1},"n":\#(number)}"#
            request.packedTokens = Data(record.tokens.joined())
            try producer.produce(
                topic: names.requests,
                key: Array("\(Self.bundleID)#\(record.shard)".utf8),
                value: try request.serializedBytes()
            )
            unacknowledged += 1
            while unacknowledged > 5000 { try pass(milliseconds: 10) }
        }
        try producer.flush(timeoutMilliseconds: 60_000)
        if let failure { throw failure }
    }
}
