import APNsProtocol
import Foundation
import Glibc
import Sandbox
import Workbench

/// Scenario `http2`: the same 110 bytes to devices of one app, sent by a worker and by h2load to the same sandbox, and
/// by h2load to nghttpd, one after the other in every round.
///
/// All show the same certificate, over the same number of connections under the same cipher, and each server allows as
/// many streams. h2load sends the fields that the worker sends, all of them but the path the same in every request. The
/// worker takes its notifications from Kafka, 500 a record, and stands still (SIGSTOP) while it is not measured.
struct HTTP2Scenario {
    private enum Setting {
        static let spread: UInt32 = 128
        /// Of one device each; 2,000 a key, so that seldom two notifications to one device are on their way.
        static let tokens = 1 << 18
        /// Tokens that h2load sends to.
        static let loadTokens = 4096
        /// Streams that the sandbox allows with a certificate.
        static let streams = 1000
        static let warmUpNotifications = 100_000
    }

    private enum Limit {
        static let warmUpAttempts = 10
        /// Without an acceptance: the first one waits for the consumer group, and the worker's start.
        static let readyMilliseconds: Int32 = 60_000
        static let patienceMilliseconds: Int32 = 10_000
        /// Between two questions to the sandbox while it works; more of them would slow it down.
        static let questionMilliseconds: Int32 = 20
        /// After the last acceptance: outcomes and commits count as well.
        static let settleMilliseconds: Int32 = 1000
    }

    private let servers: Servers
    private let brokers: String
    private let connections: Int
    private let sandbox: SandboxProcess
    private let worker: ChildProcess
    private let server: FloorServer
    private let sandboxLoad: HTTP2Load
    private let serverLoad: HTTP2Load
    private var records: RequestRecords

    /// Starts everything.
    init(servers: Servers, brokers: String, connections: Int) throws {
        say("starting")
        self.servers = servers
        self.brokers = brokers
        self.connections = connections
        let pki = try servers.makeCertificates()
        let tokens = try BenchmarkApp.tokens(Setting.tokens, pki: pki)
        records = try RequestRecords(bundle: BenchmarkApp.bundle, tokens: tokens, spread: Setting.spread)
        sandbox = try SandboxProcess(servers: servers, pki: pki, topic: BenchmarkApp.bundle, devices: Setting.tokens)

        let paths = (0..<Setting.loadTokens).map { index in
            let start = index * TokenMint.tokenBytes
            return ProviderPath.text(token: Array(tokens[start..<start + TokenMint.tokenBytes]))
        }
        server = try FloorServer(servers: servers, pki: pki, path: paths[0], streams: Setting.streams)
        let body = servers.workspace.file("body")
        try RequestRecords.payload(0).write(to: body)
        func load(_ name: String, _ paths: [String]) throws -> HTTP2Load {
            try servers.workspace.write(paths.map { "https://127.0.0.1\($0)\n" }.joined(), to: name)
            return HTTP2Load(
                servers: servers,
                requests: HTTP2Load.Requests(
                    uris: servers.workspace.file(name),
                    body: body,
                    fields: Self.fields,
                    connections: connections,
                    streams: Setting.streams
                ),
                identity: pki.appendingPathComponent("\(BenchmarkApp.bundle).pem")
            )
        }
        sandboxLoad = try load("uris-sandbox", paths)
        serverLoad = try load("uris-nghttpd", [paths[0]])
        worker = try Self.startWorker(servers, brokers: brokers, sandbox: sandbox, pki: pki, connections: connections)
    }

    /// Warms up, measures, and reports.
    mutating func run(rounds: Int, notifications: Int) throws -> HTTP2Report {
        try warmUp()
        var report = HTTP2Report(notifications: notifications, connections: connections, streams: Setting.streams)
        for round in 0..<rounds {
            try records.publish(notifications, brokers: brokers)
            var steps = [measureWorker, measureSandbox, measureServer]
            if !round.isMultiple(of: 2) { steps.reverse() }
            for step in steps { try step(round, notifications, &report) }
        }
        report.residentMiB = try worker.residentPeakMiB()
        return report
    }

    /// Publishes small rounds until the worker has opened its connections, and lets the others answer some, too.
    private mutating func warmUp() throws {
        say("warming up")
        var isReady = false
        for _ in 0..<Limit.warmUpAttempts where !isReady {
            let expected = try sandbox.tally().accepted + Setting.warmUpNotifications
            try records.publish(Setting.warmUpNotifications, brokers: brokers)
            _ = try sandbox.awaitAccepted(expected, patienceMilliseconds: Limit.readyMilliseconds)
            isReady = try sandbox.openConnections() == connections
        }
        guard isReady else {
            throw BenchmarkError("worker: not \(connections) connections after \(Limit.warmUpAttempts) small rounds")
        }
        try expectQuiet(after: try sandbox.tally().accepted)
        try worker.pause()
        _ = try sandboxLoad.run("h2load-sandbox", count: Setting.warmUpNotifications, port: sandbox.apiPort)
        _ = try serverLoad.run("h2load-nghttpd", count: Setting.warmUpNotifications, port: server.port)
    }

    // MARK: Measurements

    /// Lets the worker take the round that was published. Each notification has to arrive once.
    private func measureWorker(_ round: Int, _ count: Int, into report: inout HTTP2Report) throws {
        let before = try sandbox.tally()
        let expected = before.accepted + count
        let cpuBefore = try worker.cpuMicroseconds()
        let start = Sink.now()
        try worker.resume()
        _ = try sandbox.awaitAccepted(
            expected,
            patienceMilliseconds: Limit.patienceMilliseconds,
            everyMilliseconds: Limit.questionMilliseconds
        )
        let rate = Double(count) / (Double(Sink.now() - start) / 1e9)
        let after = try expectQuiet(after: expected)
        try worker.pause()
        let cpu = (try worker.cpuMicroseconds() - cpuBefore) / Double(count)
        guard after.distinct - before.distinct == count else {
            throw BenchmarkError("worker: of \(count) notifications \(after.distinct - before.distinct) are distinct")
        }
        say("round \(round + 1): worker \(Int(rate))/s, \(cpu) us of CPU each")
        report.worker.rate.add(rate)
        report.worker.cpuMicroseconds.add(cpu)
    }

    private func measureSandbox(_ round: Int, _ count: Int, into report: inout HTTP2Report) throws {
        let accepted = try sandbox.tally().accepted
        let cpuBefore = try sandbox.child.cpuMicroseconds()
        let (rate, cpu) = try sandboxLoad.run("h2load-sandbox", count: count, port: sandbox.apiPort)
        let sandboxCPU = (try sandbox.child.cpuMicroseconds() - cpuBefore) / Double(count)
        _ = try sandbox.awaitAccepted(accepted + count, patienceMilliseconds: Limit.patienceMilliseconds)
        say("round \(round + 1): h2load \(Int(rate))/s, \(cpu) us of CPU each; sandbox \(sandboxCPU) us")
        report.load.rate.add(rate)
        report.load.cpuMicroseconds.add(cpu)
        report.sandboxMicroseconds.add(sandboxCPU)
    }

    private func measureServer(_ round: Int, _ count: Int, into report: inout HTTP2Report) throws {
        let cpuBefore = try server.child.cpuMicroseconds()
        let (rate, _) = try serverLoad.run("h2load-nghttpd", count: count, port: server.port)
        let cpu = (try server.child.cpuMicroseconds() - cpuBefore) / Double(count)
        say("round \(round + 1): nghttpd \(Int(rate))/s, \(cpu) us of CPU each")
        report.serverMicroseconds.add(cpu)
    }

    /// Lets the worker finish its books: nothing more may arrive.
    @discardableResult
    private func expectQuiet(after accepted: Int) throws -> SandboxProcess.Tally {
        poll(nil, 0, Limit.settleMilliseconds)
        let tally = try sandbox.tally()
        guard tally.accepted == accepted else {
            throw BenchmarkError("worker: \(tally.accepted - accepted) notifications arrived twice")
        }
        return tally
    }
}

// MARK: set-up

extension HTTP2Scenario {
    /// The fields of h2load's requests, as the worker sends them. Values that do not change take a byte each.
    private static let fields = [
        "apns-topic: \(BenchmarkApp.bundle)", "apns-push-type: alert", "apns-priority: 10", "apns-expiration: 0",
        "apns-id: 9e8b7a60-1c2d-4e3f-8a9b-0c1d2e3f4a5b",
    ]

    private static func startWorker(
        _ servers: Servers,
        brokers: String,
        sandbox: SandboxProcess,
        pki: URL,
        connections: Int
    ) throws -> ChildProcess {
        let configuration = WorkerConfiguration(
            brokers: brokers,
            redis: try servers.startRedis(),
            gatewayPort: sandbox.apiPort,
            trust: pki.appendingPathComponent("ca.pem").path,
            certificates: servers.workspace.file("certificates").path,
            group: "belfry-bench",
            spread: Int(Setting.spread),
            shards: 1,
            connectionsPerTopic: connections,
            transport: "http2"
        )
        return try servers.startRole("worker", configuration.yaml)
    }
}
