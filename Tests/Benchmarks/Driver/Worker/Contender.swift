import Foundation
import Glibc
import LocalPipeline
import Workbench

/// A process of a scenario that runs, with servers of its own: broker, Redis and gateway. So nobody else takes what it
/// is to take, and what arrives is its own.
///
/// It lives through all rounds with its connections open. Between its measurements it stands still (SIGSTOP), so that
/// it takes no CPU from others nor from the publisher.
struct Contender {
    /// Everything that the contenders of a scenario share.
    struct Surroundings {
        /// The PKI's directory, with certificates of all bundles.
        let pki: URL
        /// Tokens of the sandbox's devices, 32 bytes each, end to end; empty if there are no records of fan-out.
        let tokens: [UInt8]
        /// A broker that serves all of them, instead of one each.
        var brokers: String?
        var instrument = Instrument.none
    }

    /// Measurements of a round.
    struct Round {
        /// Notifications per second, from the start signal to the gateway's last byte.
        let rate: Double
        /// CPU microseconds per notification, without what it costs at rest.
        let cpuMicroseconds: Double
    }

    /// Notifications that a worker has sent and not settled.
    struct InFlight: Equatable {
        /// By its own metrics, right after the last byte arrived.
        var notifications: Double
        /// More than at rest, on its heap; nil where allocations are not counted.
        var heapBytes: Double?
    }

    private enum Limit {
        static let warmUpAttempts = 10
        /// For a contender to take what was published. The embedded broker lets every rebalance after a group's first
        /// last for the whole session (45 s), and two follow each other if the shards' first requests lie apart.
        static let readyMilliseconds: Int32 = 180_000
        /// For a contender to take one round.
        static let roundMilliseconds: Int32 = 120_000
        /// Under callgrind everything takes fifty times as long.
        static let countedMilliseconds: Int32 = 900_000
        /// Between two looks at whether the process still runs.
        static let sliceMilliseconds: Int32 = 5000
        /// After the last byte: what is done at the end of the confirmation window (2 s) counts as well.
        static let settleMilliseconds: Int32 = 3000
        /// To be measured with nothing to take.
        static let restMilliseconds: Int32 = 3000
        static let countedSettleMilliseconds: Int32 = 10_000
        /// To answer the broker and to commit, after others were measured: one that stood still for 15 s sends nothing
        /// before that.
        static let airMilliseconds: Int32 = 1500
    }

    static let warmUpNotifications = 20_000
    private static let connectionsPerTopic = 2

    let plan: ContenderPlan
    private let servers: Servers
    private let instrument: Instrument
    private let process: ChildProcess
    private let gateway: CountingGateway
    private let operationsPort: Int
    private var source: RecordSource
    /// CPU microseconds per second at rest; 0 until ``rest()``.
    private(set) var restingMicroseconds = 0.0

    /// Starts everything; the process goes on to run.
    init(_ plan: ContenderPlan, servers: Servers, _ surroundings: Surroundings) throws {
        self.plan = plan
        self.servers = servers
        instrument = surroundings.instrument
        let redis = try servers.startRedis()
        let brokers = try surroundings.brokers ?? servers.startBroker(plan.belfry, partitions: plan.partitions)
        gateway = try Self.startGateway(plan, servers, pki: surroundings.pki)
        operationsPort = try freePort()
        source = try RecordSource(plan.records, servers: servers, brokers: brokers, tokens: surroundings.tokens)
        if plan.tombstones > 0 {
            let dead = DeadTokens(
                bundleID: BenchmarkApp.bundle,
                environment: BenchmarkApp.environment,
                first: RecordSource.tokens
            )
            try dead.publish(plan.tombstones, brokers: brokers)
        }
        let addresses = Addresses(brokers: brokers, redis: redis, gateway: gateway.port, operations: operationsPort)
        let launch = Launch(servers: servers, instrument: instrument)
        switch plan.program {
        case .floor(let looksUp): process = try Self.startFloor(launch, addresses, surroundings.pki, looksUp: looksUp)
        case .worker(let traits):
            process = try Self.startWorker(launch, addresses, surroundings.pki, plan, traits)
        }
    }

    // MARK: Warming up

    /// Publishes small rounds until all connections are open and a round arrives exactly once.
    mutating func settle() throws {
        var isSettled = false
        for _ in 0..<Limit.warmUpAttempts where !isSettled {
            let before = try gateway.totals()
            try source.publish(Self.warmUpNotifications)
            let expected = before.notifications + Self.warmUpNotifications
            let seen = try awaitQuiet(after: expected)
            // A rebalance on the way may have cost a connection: there are more of them then, but none of this round.
            let isConnected =
                seen.connections == connections
                || seen.connections > connections && seen.connections == before.connections
            isSettled = seen.notifications == expected && isConnected
        }
        guard isSettled else {
            throw BenchmarkError(
                "\(plan.role.rawValue): not all shards send, or not once, after \(Limit.warmUpAttempts) small rounds"
            )
        }
    }

    /// The connections of one whose shards all send.
    private var connections: Int {
        guard case .worker(let traits) = plan.program else { return 1 }
        // A bundle with one key lies in one partition, and so in one shard.
        if case .bundles(let count) = plan.records { return count * Self.connectionsPerTopic }
        return traits.shards * Self.connectionsPerTopic
    }

    /// Waits until at least so many notifications have arrived, and then until nothing arrives any more: a broker that
    /// was used before may hold older requests, and a group that is still forming takes some twice.
    private func awaitQuiet(after notifications: Int) throws -> Sink.Totals {
        let limit = instrument == .instructions ? Limit.countedMilliseconds : Limit.readyMilliseconds
        var seen = try arrival(of: notifications, within: limit)
        guard seen.notifications >= notifications else {
            throw BenchmarkError(
                "\(plan.role.rawValue): \(notifications - seen.notifications) notifications did not reach the gateway "
                    + "in \(limit / 1000) s"
            )
        }
        var previous: Sink.Totals
        repeat {
            previous = seen
            seen = try gateway.wait(notifications: .max, milliseconds: settleMilliseconds)
        } while (seen.notifications, seen.connections) != (previous.notifications, previous.connections)
        return seen
    }

    /// The totals once so many have arrived, or after so many milliseconds. Throws if the process ends meanwhile.
    private func arrival(of notifications: Int, within milliseconds: Int32) throws -> Sink.Totals {
        var left = milliseconds
        while true {
            let slice = min(left, Limit.sliceMilliseconds)
            let seen = try gateway.wait(notifications: notifications, milliseconds: slice)
            left -= slice
            if seen.notifications >= notifications || left == 0 { return seen }
            guard process.isRunning else { throw BenchmarkError("\(plan.role.rawValue) has ended") }
        }
    }

    private var settleMilliseconds: Int32 {
        instrument == .instructions ? Limit.countedSettleMilliseconds : Limit.settleMilliseconds
    }

    // MARK: Rounds

    /// Lets it stand still.
    func pause() throws { try process.pause() }

    /// Measures one that stands still while it runs with nothing to take. That goes on in every round, and for seconds
    /// after its last notification, so that it would count the more the shorter a round is.
    mutating func rest() throws {
        try air()
        let before = try process.cpuMicroseconds()
        let start = Sink.now()
        try process.resume()
        poll(nil, 0, Limit.restMilliseconds)
        try process.pause()
        restingMicroseconds = (try process.cpuMicroseconds() - before) / Self.seconds(since: start)
    }

    private static func seconds(since start: UInt64) -> Double { Double(Sink.now() - start) / 1e9 }

    /// Lets one that stands still run for a while, with nothing to take.
    func air() throws {
        try process.resume()
        poll(nil, 0, Limit.airMilliseconds)
        try process.pause()
    }

    mutating func publish(_ notifications: Int) throws { try source.publish(notifications) }

    /// Lets one that stands still take the round that has been published, and nobody else run meanwhile.
    ///
    /// - Parameter onArrival: called when the last one has arrived, and before they are settled.
    func take(_ notifications: Int, onArrival: () throws -> Void = {}) throws -> Round {
        let before = try gateway.totals().notifications
        let expected = before + notifications
        let cpuBefore = try process.cpuMicroseconds()
        let start = Sink.now()
        try process.resume()
        let limit = instrument == .instructions ? Limit.countedMilliseconds : Limit.roundMilliseconds
        let end = try arrival(of: expected, within: limit)
        try onArrival()
        let settled = try gateway.wait(notifications: .max, milliseconds: settleMilliseconds)
        try process.pause()
        guard settled.notifications == expected else {
            throw BenchmarkError(
                "\(plan.role.rawValue): \(notifications) notifications were published, "
                    + "\(settled.notifications - before) reached the gateway"
            )
        }
        let seconds = Double(end.lastByteNanoseconds - start) / 1e9
        let cpu = try process.cpuMicroseconds() - cpuBefore - restingMicroseconds * Self.seconds(since: start)
        return Round(rate: Double(notifications) / seconds, cpuMicroseconds: cpu / Double(notifications))
    }

    /// The largest resident set it ever had, in MiB.
    func residentPeakMiB() throws -> Double { try process.residentPeakMiB() }

    // MARK: Counts

    /// Events per notification: the difference between a round and one of twice its size, so that what goes on without
    /// notifications does not count. A large round comes first, for what grows once.
    mutating func count(_ notifications: Int) throws -> Double {
        _ = try countRound(2 * notifications)
        let small = try countRound(notifications)
        return (try countRound(2 * notifications) - small) / Double(notifications)
    }

    private mutating func countRound(_ notifications: Int) throws -> Double {
        let file = AllocationFile(file: servers.workspace.file(Launch.countsName))
        let callgrind = Callgrind(servers: servers, process: process, output: file.file)
        if instrument == .instructions {
            try process.resume()
            try callgrind.reset()
            try process.pause()
        }
        try source.publish(notifications)
        let before = instrument == .allocations ? try file.read().allocations : 0
        _ = try take(notifications)
        guard instrument == .instructions else { return Double(try file.read().allocations - before) }
        try process.resume()
        defer { try? process.pause() }
        return try callgrind.take()
    }

    /// Notifications that a worker has in flight at the end of a round, and its memory for them.
    mutating func inFlight(_ notifications: Int) throws -> InFlight {
        let port = UInt16(operationsPort)
        let file = AllocationFile(file: servers.workspace.file(Launch.countsName))
        try source.publish(notifications)
        var result = InFlight(notifications: 0)
        _ = try take(notifications) {
            if instrument == .allocations { result.heapBytes = Double(try file.read().heldBytes) }
            let metrics = String(decoding: try HTTPExchange.body(of: "GET", "/metrics", "", port: port), as: UTF8.self)
            result.notifications = MetricNumbers(metrics).sum(of: "belfry_in_flight_notifications")
        }
        if let held = result.heapBytes { result.heapBytes = held - Double(try file.read().heldBytes) }
        return result
    }

    /// Bytes of a notification's frame at its gateway; nil if that does not tell.
    func frameBytes() throws -> Double? {
        let totals = try gateway.totals()
        guard totals.bytes > 0, totals.notifications > 0 else { return nil }
        return Double(totals.bytes) / Double(totals.notifications)
    }
}

// MARK: set-up

extension Contender {
    /// Addresses of its servers on this machine.
    private struct Addresses {
        let brokers: String
        let redis: String
        let gateway: UInt16
        /// The worker's own port, of metrics.
        let operations: Int
    }

    private static func startGateway(_ plan: ContenderPlan, _ servers: Servers, pki: URL) throws -> CountingGateway {
        guard plan.sendsToSandbox else {
            return .sink(try Sink(servers: servers, pki: pki, readBytes: Sink.sandboxReadBytes))
        }
        return .sandbox(
            try SandboxProcess(servers: servers, pki: pki, topic: BenchmarkApp.bundle, devices: FanOut.tokens)
        )
    }

    private static func startFloor(
        _ launch: Launch,
        _ addresses: Addresses,
        _ pki: URL,
        looksUp: Bool
    ) throws -> ChildProcess {
        if looksUp { try launch.servers.register(tokens: RecordSource.tokens, redis: addresses.redis) }
        let floor = try launch(
            "floor",
            launch.servers.programs.floor,
            [
                "--brokers", addresses.brokers, "--topic", "push.requests", "--redis", addresses.redis,
                "--environment", BenchmarkApp.environment, "--bundle", BenchmarkApp.bundle,
                "--gateway", "127.0.0.1:\(addresses.gateway)", "--trust", pki.appendingPathComponent("ca.pem").path,
                "--identity", pki.appendingPathComponent("\(BenchmarkApp.bundle).pem").path,
                "--look-up", looksUp ? "1" : "0",
            ]
        )
        try floor.awaitLine(containing: "\"ready\":true", within: Limit.readyMilliseconds)
        return floor
    }

    private static func startWorker(
        _ launch: Launch,
        _ addresses: Addresses,
        _ pki: URL,
        _ plan: ContenderPlan,
        _ traits: WorkerTraits
    ) throws -> ChildProcess {
        let servers = launch.servers
        if !traits.hasFilter { try servers.register(tokens: RecordSource.tokens, redis: addresses.redis) }
        let configuration = WorkerConfiguration(
            brokers: addresses.brokers,
            redis: addresses.redis,
            gatewayPort: addresses.gateway,
            trust: pki.appendingPathComponent("ca.pem").path,
            certificates: try servers.copyCertificates(of: plan.records.bundles, from: pki).path,
            // A group of its own: nobody's commits decide where it starts.
            group: "belfry-bench-\(UUID().uuidString)",
            spread: plan.records.spread,
            shards: traits.shards,
            connectionsPerTopic: connectionsPerTopic,
            dedupeWindowSeconds: traits.remembers ? 3600 : 0,
            hasTokenState: traits.hasTokenState,
            hasFilter: traits.hasFilter,
            outcomes: traits.outcomes,
            operationsPort: addresses.operations
        )
        return try launch(
            plan.role.rawValue,
            plan.belfry ?? servers.programs.belfry,
            servers.configure("worker", configuration.yaml)
        )
    }
}

/// Starts a program under an instrument.
struct Launch {
    /// The file of an instrument's counts, in the workspace.
    static let countsName = "counts"

    let servers: Servers
    let instrument: Instrument

    func callAsFunction(_ name: String, _ program: String, _ arguments: [String]) throws -> ChildProcess {
        let counts = servers.workspace.file(Self.countsName)
        switch instrument {
        case .none: return try servers.start(name, program: program, arguments: arguments)
        case .allocations:
            let library = try servers.programs.allocationsLibrary()
            let environment = AllocationFile(file: counts).environment(library: library)
            return try servers.start(name, program: program, arguments: arguments, environment: environment)
        case .instructions:
            // valgrind refuses programs whose debugging information it cannot read, and reads that of Swift badly.
            let stripped = servers.workspace.file("stripped").path
            try servers.run(
                "strip",
                program: Programs.find("strip"),
                arguments: ["--strip-debug", "-o", stripped, program]
            )
            return try servers.start(
                name,
                program: Programs.find("valgrind"),
                arguments: Callgrind.arguments(output: counts) + [stripped] + arguments,
                environment: ["LD_PRELOAD": servers.programs.suspendLibrary()]
            )
        }
    }
}
