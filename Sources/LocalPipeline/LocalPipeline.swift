import Foundation
import RequestLanes
import Workbench

/// The whole pipeline as processes of one machine, in a directory of its own: broker, Redis, sandbox, and the roles.
public final class LocalPipeline {
    /// The parts to start, and those to use instead.
    public struct Options: Sendable {
        /// Between workers and sandbox.
        public var transport = PipelineTransport.binary
        public var topics = ["com.example.news", "com.example.sport", "com.example.weather"]
        public var devices = 100_000
        /// Of every Kafka topic.
        public var partitions = 6
        /// `host:port` of a broker to use; nil: the embedded one is started.
        public var kafka: String?
        /// Make the Kafka topics of that broker; false: they are there.
        public var makesTopics = true
        /// `kafka.prefix`, for a broker that others use as well. The embedded one knows no names with a prefix.
        public var prefix = ""
        /// Time after which the broker takes a silent member for dead; nil: the program's own. The embedded one also
        /// lets a group wait for a second less at every change. Servers of Kafka allow no less than 6 s, unless told
        /// otherwise.
        public var sessionMilliseconds: Int? = 6000
        /// More properties for Kafka clients, as in the configuration file, each behind a comma.
        public var kafkaProperties = ""
        /// URL of a Redis server to use; nil: one is started.
        public var redis: String?
        /// More keys of the configuration's section `redis`, each behind a comma.
        public var redisSettings = ""
        /// `host:port` of the gateway in the configuration; nil: the sandbox's.
        public var gateway: String?
        /// The nice value of broker, Redis and sandbox: with a high one they leave the processors to the workers.
        public var serversNice = 0
        /// Outcomes that are published: all, failures or none.
        public var outcomes = "all"
        /// More lines for the configuration, at its top level. Over HTTP/2, and with ``apps``, it has a section `apps`
        /// already.
        public var configuration = ""
        /// Keys of single apps, by bundle ID, as they stand within the braces of its section: `urgent-quota: 60`.
        public var apps: [String: String] = [:]
        /// More arguments for the sandbox.
        public var sandboxArguments: [String] = []
        /// Of each worker.
        public static let shards = 2
        /// The section `worker` of the configuration, in YAML's flow style.
        public var worker =
            "{shards: \(shards), connections-per-topic: 2, confirmation-window: 1s, connections-per-minute: 6000}"
        /// The lanes that workers serve; ascending.
        public var lanes = [RequestLane.normal]

        public init() {}
    }

    public let options: Options
    /// Holds configuration, certificates and logs.
    public let directory: String
    public private(set) var brokers = ""
    public private(set) var redisURL = ""
    public private(set) var sandbox: SandboxControl
    public private(set) var workers: [ChildProcess] = []

    private let executable: String
    private var others: [ChildProcess] = []
    private var started = 0
    private var broker: ChildProcess?
    private var redisServer: ChildProcess?
    private var redisPort: Int?
    private var sandboxServer: ChildProcess?
    private var sandboxPorts: SandboxPorts?

    /// As the sandbox says them when it is ready.
    private struct SandboxPorts: Decodable {
        var gateway = 0
        var feedback = 0
        var device = 0
        var api = 0
        var control = 0
    }

    /// Starts broker, Redis and sandbox and writes the configuration.
    ///
    /// - Parameter executable: the `belfry` program.
    public init(_ options: Options, executable: String, directory: String) throws {
        self.options = options
        self.executable = executable
        self.directory = directory
        sandbox = SandboxControl(port: 0)
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        do {
            try run("sandbox", "certificates", "--pki", pki, "--topics", options.topics.joined(separator: ","))
            try startBroker()
            if let redis = options.redis { redisURL = redis } else { try startRedis() }
            try startSandbox()
            try writeConfiguration()
        } catch {
            // No other part knows what was started so far.
            stop()
            throw error
        }
    }

    public var pki: String { "\(directory)/pki" }
    /// `host:port` of the sandbox's binary gateway.
    public var gateway: String { "127.0.0.1:\(sandboxPorts?.gateway ?? 0)" }
    /// `host:port` of the sandbox's provider API.
    public var api: String { "127.0.0.1:\(sandboxPorts?.api ?? 0)" }
    /// The port of the sandbox's courier.
    public var devicePort: Int { sandboxPorts?.device ?? 0 }
    /// The port on which the sandbox answers questions.
    public var controlPort: Int { sandboxPorts?.control ?? 0 }
    public var configurationFile: String { "\(directory)/belfry.yaml" }

    // MARK: Roles

    /// - Parameter environment: added to this process's own; a configuration key of this worker alone, for instance.
    @discardableResult
    public func startWorker(environment: [String: String] = [:]) throws -> ChildProcess {
        let lanes = ["BELFRY_WORKER_LANES": options.lanes.map(\.rawValue).joined(separator: ",")]
        let worker = try start(
            "worker",
            ["worker", "--config", configurationFile],
            lanes.merging(environment) { $1 }
        )
        workers.append(worker)
        return worker
    }

    @discardableResult
    public func startRegistrar(environment: [String: String] = [:]) throws -> ChildProcess {
        let registrar = try start("registrar", ["registrar", "--config", configurationFile], environment)
        others.append(registrar)
        return registrar
    }

    @discardableResult
    public func startHarvester(environment: [String: String] = [:]) throws -> ChildProcess {
        let harvester = try start("harvester", ["harvester", "--config", configurationFile], environment)
        others.append(harvester)
        return harvester
    }

    /// The first `count` tokens of a topic from device `first` on, as the sandbox mints them.
    public func tokens(of topic: String, first: Int, count: Int) throws -> [[UInt8]] {
        let text = try run(
            "sandbox",
            "tokens",
            "--pki",
            pki,
            "--topic",
            topic,
            "--first",
            "\(first)",
            "--count",
            "\(count)"
        )
        return SandboxControl.tokens(parsing: text)
    }

    /// Stops the workers in order; returns their exit codes.
    public func stopWorkers() -> [Int32] {
        for worker in workers { worker.signal(SIGTERM) }
        return workers.map { $0.wait() }
    }

    /// Stops everything that was started here, the roles first.
    public func stop() {
        for child in workers + others.reversed() { child.terminate() }
        sandboxServer?.terminate()
        redisServer?.terminate()
        broker?.terminate()
    }

    /// Runs a command of the program to its end; returns its standard output.
    @discardableResult
    public func run(_ arguments: String...) throws -> String { try run(arguments) }

    /// - Parameter environment: added to this process's own.
    @discardableResult
    public func run(_ arguments: [String], environment: [String: String] = [:]) throws -> String {
        let child = try start(arguments.prefix(2).joined(separator: "-"), arguments, environment)
        var lines: [String] = []
        while let line = try? child.nextLine(within: .seconds(60)) { lines.append(line) }
        let code = child.wait()
        guard code == 0 else {
            throw ChildProcess.Failure(
                description: "belfry \(arguments.joined(separator: " ")) ended with \(code):\n\(child.log)"
            )
        }
        return lines.joined(separator: "\n")
    }

    // MARK: Servers

    private func startBroker() throws {
        if let kafka = options.kafka {
            brokers = kafka
            guard options.makesTopics else { return }
            try run(
                ["topics", "create", "--brokers", kafka, "--partitions", "\(options.partitions)"],
                environment: options.prefix.isEmpty ? [:] : ["BELFRY_KAFKA_PREFIX": options.prefix]
            )
            return
        }
        let broker = try start(
            "broker",
            ["broker", "--partitions", "\(options.partitions)"],
            nice: options.serversNice
        )
        self.broker = broker
        brokers = try readyLine(of: broker, as: [String: String].self)["brokers"] ?? ""
    }

    /// Starts Redis; again on its port, with what it knew, if it was stopped.
    public func startRedis() throws {
        let port = try redisPort ?? freePort()
        let redis = try ChildProcess(
            "redis",
            executable: "/usr/bin/env",
            arguments: [
                "nice", "-n", "\(options.serversNice)", "redis-server", "--port", "\(port)", "--bind", "127.0.0.1",
                "--dir", directory, "--save", "", "--appendonly", "yes", "--maxmemory-policy", "noeviction",
            ],
            logFile: "\(directory)/redis.log",
            leadsGroup: true
        )
        redisServer = redis
        redisPort = port
        redisURL = "redis://127.0.0.1:\(port)"
        while true {
            let line = try redis.nextLine(within: .seconds(10))
            if line.contains("Ready to accept connections") { break }
        }
    }

    public func stopRedis() {
        redisServer?.terminate()
    }

    /// Starts the sandbox; again on its ports if it was stopped. It remembers nothing of the time before.
    public func startSandbox() throws {
        let wanted = sandboxPorts ?? SandboxPorts()
        let server = try start(
            "sandbox",
            [
                "sandbox", "serve", "--pki", pki, "--topics", options.topics.joined(separator: ","),
                "--devices", "\(options.devices)", "--gateway-port", "\(wanted.gateway)",
                "--feedback-port", "\(wanted.feedback)", "--control-port", "\(wanted.control)",
                "--device-port", "\(wanted.device)", "--api-port", "\(wanted.api)",
            ] + options.sandboxArguments,
            nice: options.serversNice
        )
        sandboxServer = server
        let ports = try readyLine(of: server, as: SandboxPorts.self)
        sandboxPorts = ports
        sandbox = SandboxControl(port: ports.control)
    }

    public func stopSandbox() {
        sandboxServer?.terminate()
    }

    /// One that was started here.
    public enum Server: Sendable, CaseIterable {
        case broker
        case redis
        case sandbox
    }

    /// Sends a signal to a server: SIGSTOP makes it stand still, its connections open, until SIGCONT.
    public func signal(_ server: Server, _ number: Int32) {
        switch server {
        case .broker: broker?.signal(number)
        case .redis: redisServer?.signal(number)
        case .sandbox: sandboxServer?.signal(number)
        }
    }

    private func writeConfiguration() throws {
        let ports = sandboxPorts ?? SandboxPorts()
        let configuration = PipelineConfiguration(
            options: options,
            brokers: brokers,
            redisURL: redisURL,
            gateway: options.gateway ?? (options.transport == .http2 ? api : gateway),
            feedback: "127.0.0.1:\(ports.feedback)",
            api: api
        )
        try configuration.text.write(toFile: configurationFile, atomically: true, encoding: .utf8)
    }

    private func readyLine<Value: Decodable>(of child: ChildProcess, as type: Value.Type) throws -> Value {
        let line = try child.nextLine(within: .seconds(30))
        do {
            return try JSONDecoder().decode(type, from: Data(line.utf8))
        } catch {
            throw ChildProcess.Failure(description: "\(child.name) said it was ready in an unknown way: \(line)")
        }
    }

    private func start(
        _ name: String,
        _ arguments: [String],
        _ environment: [String: String] = [:],
        nice: Int = 0
    ) throws -> ChildProcess {
        started += 1
        return try ChildProcess(
            name,
            executable: "/usr/bin/env",
            arguments: ["nice", "-n", "\(nice)", executable] + arguments,
            environment: environment,
            logFile: "\(directory)/\(started)-\(name).log",
            // A group whose last parent outside goes is sent SIGHUP and SIGCONT: those that stand still would go on.
            leadsGroup: true
        )
    }
}
