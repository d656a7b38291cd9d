import Foundation
import Glibc
import Workbench

/// Scenario `single`: records of one token and a payload of 110 bytes, token state in Redis, two shards, a gateway that
/// never answers.
///
/// Worker and floor (or another worker, which takes its place) are two processes that live through all rounds with
/// their connections open. Between measurements both stand still (SIGSTOP), so that neither takes CPU from the other
/// nor from the publisher; a round is published once and then taken by one after the other, the order changing from
/// round to round. A worker of another version may be the third.
struct SingleScenario {
    private enum Setting {
        static let environment = "sandbox"
        static let bundle = "com.example.bench"
        static let requests = "push.requests"
        /// Keys of the bundle: many more than partitions, so that these are filled evenly.
        static let spread = 512
        static let shards = 2
        static let connectionsPerTopic = 2
        static let tokens = 100_000
        static let warmUpNotifications = 20_000
    }

    private enum Limit {
        static let warmUpAttempts = 10
        static let confirmationWindowSeconds = 2
        /// For a contender to take what was published. The embedded broker lets every rebalance after a group's first
        /// last for the whole session (45 s), and two follow each other if the shards' first requests lie apart.
        static let readyMilliseconds: Int32 = 180_000
        /// For one contender to take one round.
        static let roundMilliseconds: Int32 = 120_000
        /// After the last byte: what is done at the end of the confirmation window counts as well.
        static let settleMilliseconds = Int32(confirmationWindowSeconds * 1000 + 1000)
    }

    /// The worker under test.
    struct Worker {
        /// Requests have ids, which the worker remembers; the floor does not.
        var remembers = false
        /// Only dead tokens are asked of Redis; else all are, as the floor does.
        var hasFilter = false
        /// Dead tokens that nobody sends to.
        var tombstones = 0
        var hasTokenState = true
    }

    /// The process that the worker is measured against.
    enum Rival {
        case floor
        case workerWithoutTokenState
    }

    /// A process that takes every round.
    private struct Contender {
        let process: ChildProcess
        let samples: WritableKeyPath<Report, ContenderSamples>
        /// Notifications that it has taken.
        var taken = 0
    }

    private let servers: Servers
    private let brokers: String
    private let redis: String
    private let pki: URL
    private let sink: Sink
    private let worker: ChildProcess
    private let floor: ChildProcess
    private let setting: Worker
    /// Another `belfry`, whose worker takes part as well.
    private let besideProgram: String?
    private var contenders: [Contender] = []
    /// Notifications published so far; the next one's number.
    private var published = 0

    /// Starts what is missing, and leaves the floor standing still.
    ///
    /// - Parameter beside: another `belfry` executable, of an older commit for instance; its worker gets the same
    ///   configuration, which names no key that came later.
    init(servers: Servers, brokers: String, worker setting: Worker, rival: Rival, beside: String? = nil) throws {
        self.servers = servers
        self.setting = setting
        self.brokers = brokers
        besideProgram = beside
        say("starting")
        redis = try servers.startRedis()
        pki = try servers.makeCertificates(topic: Setting.bundle)
        sink = try Sink(servers: servers, pki: pki)
        try Self.registerTokens(servers, redis: redis)
        if setting.tombstones > 0 {
            try DeadTokens(bundleID: Setting.bundle, environment: Setting.environment, first: Setting.tokens)
                .publish(setting.tombstones, brokers: brokers)
        }
        switch rival {
        case .floor:
            floor = try Self.startFloor(servers, brokers: brokers, redis: redis, sink: sink, pki: pki)
        case .workerWithoutTokenState:
            floor = try Self.startWorker(
                "plain",
                servers,
                program: servers.programs.belfry,
                brokers: brokers,
                redis: redis,
                sink: sink,
                pki: pki,
                setting: Worker(hasTokenState: false)
            )
        }
        try floor.pause()
        worker = try Self.startWorker(
            "worker",
            servers,
            program: servers.programs.belfry,
            brokers: brokers,
            redis: redis,
            sink: sink,
            pki: pki,
            setting: setting
        )
    }

    /// Warms up, measures, and reports.
    mutating func run(rounds: Int, notifications: Int) throws -> Report {
        try warmUp()
        var report = Report(scenario: setting.remembers ? "single-dedupe" : "single", notifications: notifications)
        for round in 0..<rounds {
            try publish(notifications)
            for contender in round.isMultiple(of: 2) ? contenders : contenders.reversed() {
                let (rate, cpu) = try measure(contender.process, notifications: notifications)
                say("round \(round + 1): \(contender.process.name) \(Int(rate))/s, \(cpu) us of CPU each")
                report[keyPath: contender.samples].rate.add(rate)
                report[keyPath: contender.samples].cpuMicroseconds.add(cpu)
            }
        }
        report.residentMiB = try worker.residentPeakMiB()
        return report
    }

    /// Publishes small rounds until the groups of the workers have settled. Then lets everybody take what is left.
    private mutating func warmUp() throws {
        say("warming up")
        try settle(Contender(process: worker, samples: \.worker))
        if let besideProgram {
            let beside = try Self.startWorker(
                "beside",
                servers,
                program: besideProgram,
                brokers: brokers,
                redis: redis,
                sink: sink,
                pki: pki,
                setting: setting
            )
            try settle(Contender(process: beside, samples: \.beside))
        }
        contenders.append(Contender(process: floor, samples: \.floor))
        for index in contenders.indices { try catchUp(&contenders[index]) }
    }

    /// Publishes small rounds until a worker's group has settled: every shard sends, and a round arrives exactly once.
    /// Leaves it standing still.
    private mutating func settle(_ contender: Contender) throws {
        let connections = try sink.totals().connections + Setting.shards * Setting.connectionsPerTopic
        var isSettled = false
        var contender = contender
        for _ in 0..<Limit.warmUpAttempts where !isSettled {
            try publish(Setting.warmUpNotifications)
            let before = try sink.totals()
            let expected = before.notifications + published - contender.taken
            let seen = try awaitQuiet(after: expected, from: contender.process)
            // A rebalance on the way may have cost a connection: there are more of them then, but none of this round.
            let isConnected =
                seen.connections == connections
                || seen.connections > connections && seen.connections == before.connections
            isSettled = seen.notifications == expected && isConnected
            contender.taken = published
        }
        guard isSettled else {
            throw BenchmarkError(
                "\(contender.process.name): not all shards send, or not once, "
                    + "after \(Limit.warmUpAttempts) small rounds"
            )
        }
        try contender.process.pause()
        contenders.append(contender)
    }

    /// Lets a contender take what was published while it stood still.
    private func catchUp(_ contender: inout Contender) throws {
        guard contender.taken < published else { return }
        let expected = try sink.totals().notifications + published - contender.taken
        try contender.process.resume()
        _ = try awaitQuiet(after: expected, from: contender.process)
        try contender.process.pause()
        contender.taken = published
    }

    /// Waits until at least so many notifications have arrived, and then until nothing arrives any more: a broker that
    /// was used before may hold older requests, and a group that is still forming takes some twice.
    private func awaitQuiet(after notifications: Int, from contender: ChildProcess) throws -> Sink.Totals {
        var seen = try sink.wait(notifications: notifications, milliseconds: Limit.readyMilliseconds)
        guard seen.notifications >= notifications else {
            throw BenchmarkError(
                "\(contender.name): \(notifications - seen.notifications) notifications did not reach the gateway "
                    + "in \(Limit.readyMilliseconds / 1000) s"
            )
        }
        var previous: Sink.Totals
        repeat {
            previous = seen
            seen = try sink.wait(notifications: .max, milliseconds: Limit.settleMilliseconds)
        } while seen != previous
        return seen
    }

    /// Lets a contender take the round that has been published, and nobody else run meanwhile.
    private func measure(
        _ contender: ChildProcess,
        notifications: Int
    ) throws -> (rate: Double, cpuMicroseconds: Double) {
        let before = try sink.totals().notifications
        let expected = before + notifications
        let cpuBefore = try contender.cpuMicroseconds()
        let start = Sink.now()
        try contender.resume()
        let end = try sink.wait(notifications: expected, milliseconds: Limit.roundMilliseconds)
        let settled = try sink.wait(notifications: .max, milliseconds: Limit.settleMilliseconds)
        try contender.pause()
        guard settled.notifications == expected else {
            throw BenchmarkError(
                "\(contender.name): \(notifications) notifications were published, "
                    + "\(settled.notifications - before) reached the gateway"
            )
        }
        let seconds = Double(end.lastByteNanoseconds - start) / 1e9
        let cpu = try contender.cpuMicroseconds() - cpuBefore
        return (Double(notifications) / seconds, cpu / Double(notifications))
    }

    private mutating func publish(_ count: Int) throws {
        try servers.run(
            "publisher",
            program: servers.programs.load,
            arguments: [
                "publish", "--brokers", brokers, "--topic", Setting.requests, "--bundle", Setting.bundle,
                "--spread", "\(Setting.spread)", "--tokens", "\(Setting.tokens)", "--first", "\(published)",
                "--count", "\(count)", "--request-ids", setting.remembers ? "1" : "0",
            ]
        )
        published += count
    }

}

// MARK: set-up

extension SingleScenario {
    private static func registerTokens(_ servers: Servers, redis: String) throws {
        try servers.run(
            "registrations",
            program: servers.programs.load,
            arguments: [
                "register", "--redis", redis, "--environment", Setting.environment, "--bundle", Setting.bundle,
                "--tokens", "\(Setting.tokens)",
            ]
        )
    }

    private static func startFloor(
        _ servers: Servers,
        brokers: String,
        redis: String,
        sink: Sink,
        pki: URL
    ) throws -> ChildProcess {
        let floor = try servers.start(
            "floor",
            program: servers.programs.floor,
            arguments: [
                "--brokers", brokers, "--topic", Setting.requests, "--redis", redis,
                "--environment", Setting.environment, "--bundle", Setting.bundle,
                "--gateway", "127.0.0.1:\(sink.port)",
                "--trust", pki.appendingPathComponent("ca.pem").path,
                "--identity", pki.appendingPathComponent("\(Setting.bundle).pem").path,
            ]
        )
        try floor.awaitLine(containing: "\"ready\":true", within: Limit.readyMilliseconds)
        return floor
    }

    private static func startWorker(
        _ name: String,
        _ servers: Servers,
        program: String,
        brokers: String,
        redis: String,
        sink: Sink,
        pki: URL,
        setting: Worker
    ) throws -> ChildProcess {
        let configuration = WorkerConfiguration(
            brokers: brokers,
            redis: redis,
            gatewayPort: sink.port,
            trust: pki.appendingPathComponent("ca.pem").path,
            certificates: servers.workspace.file("certificates").path,
            // A group of its own: nobody's commits decide where it starts.
            group: "belfry-bench-\(UUID().uuidString)",
            environment: Setting.environment,
            bundle: Setting.bundle,
            spread: Setting.spread,
            shards: Setting.shards,
            connectionsPerTopic: Setting.connectionsPerTopic,
            confirmationWindowSeconds: Limit.confirmationWindowSeconds,
            dedupeWindowSeconds: setting.remembers ? 3600 : 0,
            hasTokenState: setting.hasTokenState,
            hasFilter: setting.hasFilter
        )
        try servers.workspace.write(configuration.yaml, to: "\(name).yaml")
        return try servers.start(
            name,
            program: program,
            arguments: ["worker", "--config", servers.workspace.file("\(name).yaml").path]
        )
    }
}
