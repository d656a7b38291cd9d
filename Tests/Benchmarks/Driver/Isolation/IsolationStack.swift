import Foundation
import Glibc
import LocalPipeline
import Workbench

/// A role of which processes come and go.
enum IsolationRole: String, CaseIterable, Sendable {
    case worker
    case registrar
    case harvester
}

/// Broker, Redis and roles, in processes of their own, in a directory of their own.
final class IsolationStack {
    struct Settings {
        /// Workers at the start.
        var workers: Int
        /// Registrars at the start, and harvesters. With some there is a service with feedback as well.
        var tokenRoles = 0
        /// Bundles with certificates.
        var topics: [String]
        var executable: String
        var directory: String
        var partitions: Int
        var configuration: IsolationConfiguration
    }

    let brokers: String
    private let settings: Settings
    private let broker: ChildProcess
    private let redis: ChildProcess
    private let redisPort: Int
    private var sandbox: ChildProcess?
    private var sandboxPorts: SandboxPorts?
    /// By role, the oldest first.
    private var members: [IsolationRole: [ChildProcess]] = [:]
    private var started: [IsolationRole: Int] = [:]

    private static let patience = Duration.seconds(30)

    /// As the sandbox says them when it is ready.
    private struct SandboxPorts: Decodable {
        var feedback: Int
        var control: Int
    }

    /// Starts the servers.
    init(_ settings: Settings) throws {
        self.settings = settings
        let directory = settings.directory
        broker = try ChildProcess(
            "broker",
            executable: settings.executable,
            arguments: ["broker", "--partitions", "\(settings.partitions)"],
            logFile: "\(directory)/broker.log"
        )
        do {
            let line = try broker.nextLine(within: Self.patience)
            brokers = try JSONDecoder().decode([String: String].self, from: Data(line.utf8))["brokers"] ?? ""
            redisPort = try freePort()
            redis = try ChildProcess(
                "redis",
                executable: "/usr/bin/env",
                arguments: [
                    "redis-server", "--port", "\(redisPort)", "--bind", "127.0.0.1", "--dir", directory, "--save", "",
                    "--appendonly", "yes", "--maxmemory-policy", "noeviction",
                ],
                logFile: "\(directory)/redis.log"
            )
        } catch {
            broker.terminate()
            throw error
        }
        do {
            while !(try redis.nextLine(within: Self.patience)).contains("Ready to accept connections") {}
            if settings.tokenRoles > 0 { try startSandbox() }
        } catch {
            stop()
            throw error
        }
    }

    /// Writes certificates for the gateways and the workers into `pki`.
    static func writeCertificates(_ topics: [String], to pki: String, executable: String) throws {
        let child = try ChildProcess(
            "certificates",
            executable: executable,
            arguments: ["sandbox", "certificates", "--pki", pki, "--topics", topics.joined(separator: ",")],
            logFile: "\(pki)-certificates.log"
        )
        guard try child.wait(within: patience) == 0 else { throw BenchmarkError("no certificates: \(child.log)") }
    }

    private func startSandbox() throws {
        let sandbox = try ChildProcess(
            "sandbox",
            executable: settings.executable,
            arguments: [
                "sandbox", "serve", "--pki", "\(settings.directory)/pki", "--topics",
                settings.topics.joined(separator: ","), "--devices", "\(TokenFlow.devices)", "--gateway-port", "0",
                "--feedback-port", "0", "--control-port", "0", "--device-port", "0", "--api-port", "0",
            ],
            logFile: "\(settings.directory)/sandbox.log"
        )
        self.sandbox = sandbox
        let line = try sandbox.nextLine(within: Self.patience)
        sandboxPorts = try JSONDecoder().decode(SandboxPorts.self, from: Data(line.utf8))
    }

    /// The service whose feedback lists the harvesters read.
    func feedbackService() throws -> SandboxControl {
        guard let sandboxPorts else { throw BenchmarkError("there is no service with feedback") }
        return SandboxControl(port: sandboxPorts.control)
    }

    /// The tokens of a topic's first devices.
    func tokens(of topic: String, count: Int) throws -> [[UInt8]] {
        let child = try ChildProcess(
            "tokens",
            executable: settings.executable,
            arguments: [
                "sandbox", "tokens", "--pki", "\(settings.directory)/pki", "--topic", topic, "--first", "0", "--count",
                "\(count)",
            ],
            logFile: "\(settings.directory)/tokens.log"
        )
        let text = child.outputToEnd()
        guard child.wait() == 0 else { throw BenchmarkError("no tokens: \(child.log)") }
        return SandboxControl.tokens(parsing: text)
    }

    private var configurationFile: String { "\(settings.directory)/belfry.yaml" }

    /// Of every Kafka topic.
    var partitions: Int { settings.partitions }

    var redisURL: String { "redis://127.0.0.1:\(redisPort)" }

    /// Workers that run.
    var workerCount: Int { members[.worker]?.count ?? 0 }

    /// Starts the roles and returns when all of them have partitions.
    ///
    /// - Parameter pause: lets a little time pass.
    func startWorkers(healthyGateway: Int, sickGateway: Int, pause: () throws -> Void) throws {
        let text = settings.configuration.text(
            brokers: brokers,
            redisPort: redisPort,
            healthyGateway: healthyGateway,
            sickGateway: sickGateway,
            feedback: sandboxPorts?.feedback
        )
        try text.write(toFile: configurationFile, atomically: true, encoding: .utf8)
        let tokenRoles = (0..<settings.tokenRoles).flatMap { _ in [IsolationRole.registrar, .harvester] }
        try add(Array(repeating: .worker, count: settings.workers) + tokenRoles, pause: pause)
    }

    /// Starts one more process for each of these and returns when all that run have partitions.
    func add(_ roles: [IsolationRole], pause: () throws -> Void) throws {
        for role in roles {
            let number = (started[role] ?? 0) + 1
            started[role] = number
            let process = try ChildProcess(
                "\(role.rawValue)-\(number)",
                executable: settings.executable,
                arguments: [role.rawValue, "--config", configurationFile],
                logFile: "\(settings.directory)/\(role.rawValue)-\(number).log"
            )
            members[role, default: []].append(process)
        }
        let deadline = ContinuousClock.now + .seconds(60)
        while !haveAllPartitions {
            guard ContinuousClock.now < deadline else { throw BenchmarkError("the roles get no partitions") }
            try checkRoles()
            try pause()
        }
    }

    private var haveAllPartitions: Bool {
        let workers = members[.worker] ?? []
        let others = (members[.registrar] ?? []) + (members[.harvester] ?? [])
        return WorkerLog.shardsWithPartitions(in: workers) == workers.count * settings.configuration.shards
            && others.allSatisfy { $0.log.contains("partitions assigned") }
    }

    /// Throws if a process ended that was not told to.
    func checkRoles() throws {
        for process in members.values.joined() where !process.isRunning {
            throw BenchmarkError("\(process.name) ended by itself; see \(process.logFile)")
        }
    }

    /// Asks the oldest process of each of these to stop (SIGTERM); those that have not ended when the grace is over are
    /// killed.
    ///
    /// - Returns: the number of those that were killed.
    func stop(_ roles: [IsolationRole], grace: Duration, pause: () throws -> Void) throws -> Int {
        let leaving = roles.compactMap { role in
            members[role]?.isEmpty == false ? members[role]?.removeFirst() : nil
        }
        for process in leaving { process.signal(SIGTERM) }
        let deadline = ContinuousClock.now + grace
        while leaving.contains(where: \.isRunning), ContinuousClock.now < deadline { try pause() }
        let late = leaving.filter(\.isRunning)
        for process in late { process.kill() }
        return late.count
    }

    /// `kill -9` of the last worker.
    func killWorker() {
        members[.worker]?.popLast()?.kill()
    }

    /// Ends the roles without waiting for what they have not settled.
    func stopRoles() {
        for process in members.values.joined() { process.kill() }
        members = [:]
    }

    /// Ends everything.
    func stop() {
        stopRoles()
        sandbox?.terminate()
        redis.terminate()
        broker.terminate()
    }
}
