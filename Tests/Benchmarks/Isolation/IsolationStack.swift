import Foundation
import Glibc
import LocalPipeline
import Workbench

/// Broker, Redis and workers, in processes of their own, in a directory of their own.
final class IsolationStack {
    struct Settings {
        /// Workers at the start.
        var workers: Int
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
    private var workers: [ChildProcess] = []
    private var workersStarted = 0

    private static let patience = Duration.seconds(30)

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
        guard try child.wait(within: patience) == 0 else { throw IsolationError("no certificates: \(child.log)") }
    }

    private var configurationFile: String { "\(settings.directory)/belfry.yaml" }

    /// Workers that run.
    var workerCount: Int { workers.count }

    /// Starts the workers and returns when all of their shards have partitions.
    ///
    /// - Parameter pause: lets a little time pass.
    func startWorkers(healthyGateway: Int, sickGateway: Int, pause: () throws -> Void) throws {
        let text = settings.configuration.text(
            brokers: brokers,
            redisPort: redisPort,
            healthyGateway: healthyGateway,
            sickGateway: sickGateway
        )
        try text.write(toFile: configurationFile, atomically: true, encoding: .utf8)
        try addWorkers(settings.workers, pause: pause)
    }

    /// Starts more workers and returns when all of their shards have partitions.
    func addWorkers(_ count: Int, pause: () throws -> Void) throws {
        for _ in 0..<count {
            workersStarted += 1
            workers.append(
                try ChildProcess(
                    "worker-\(workersStarted)",
                    executable: settings.executable,
                    arguments: ["worker", "--config", configurationFile],
                    logFile: "\(settings.directory)/worker-\(workersStarted).log"
                )
            )
        }
        let deadline = ContinuousClock.now + .seconds(60)
        while WorkerLog.shardsWithPartitions(in: workers) < workers.count * settings.configuration.shards {
            guard ContinuousClock.now < deadline else { throw IsolationError("the workers get no partitions") }
            try checkWorkers()
            try pause()
        }
    }

    /// Throws if a worker ended that was not killed.
    func checkWorkers() throws {
        for worker in workers where !worker.isRunning {
            throw IsolationError("\(worker.name) ended by itself; see \(worker.logFile)")
        }
    }

    /// Asks the oldest worker to stop (SIGTERM); it is killed if it has not ended when the grace is over.
    func stopWorker(grace: Duration, pause: () throws -> Void) throws {
        let worker = workers.removeFirst()
        worker.signal(SIGTERM)
        let deadline = ContinuousClock.now + grace
        while worker.isRunning {
            guard ContinuousClock.now < deadline else { return worker.kill() }
            try pause()
        }
    }

    /// `kill -9` of the last worker.
    func killWorker() {
        workers.popLast()?.kill()
    }

    /// Ends the workers without waiting for what they have not settled.
    func stopWorkers() {
        for worker in workers { worker.kill() }
        workers = []
    }

    /// Ends everything.
    func stop() {
        stopWorkers()
        redis.terminate()
        broker.terminate()
    }
}
