import BenchmarkCommon
import Foundation
import Glibc
import KafkaClient
import PushSchemas
import Workbench

/// Scenario `registrar`: a backlog of registrations, applied by the role, and the same calls in a bare loop in C.
///
/// Both begin with a server that knows no token, but how many buckets there are, so that nobody splits any. The calls
/// are those that the registrar made in the warm-up, as the server saw them, and the server has the script from there.
struct RegistrarScenario {
    private enum Setting {
        static let topic = "push.registrations"
        /// Keys of the bundle: many more than partitions, so that these are filled evenly.
        static let spread: UInt32 = 512
        static let locales = ["en-US", "de-DE", "pt-BR", "ja-JP", "zh-Hans-CN"]
        static let zones = [
            "America/New_York", "Europe/Berlin", "America/Sao_Paulo", "Asia/Tokyo", "Asia/Shanghai",
        ]
    }

    private enum Limit {
        /// For the group to form, and for a round.
        static let seconds = 120
        static let milliseconds: Int32 = 120_000
        /// Between two looks at the server while a round runs.
        static let lookMilliseconds: Int32 = 2
        /// Between two looks at the tokens in a warm-up.
        static let countMilliseconds: Int32 = 100
        /// After a round: the registrar commits.
        static let settleMilliseconds: Int32 = 1000
    }

    private let servers: Servers
    private let brokers: String
    private let registrations: Int
    private let redis: String
    private let probe: RedisProbe
    private let registrar: ChildProcess
    private let calls: URL

    /// Starts what is missing.
    init(servers: Servers, brokers: String, registrations: Int) throws {
        say("starting")
        self.servers = servers
        self.brokers = brokers
        self.registrations = registrations
        redis = try servers.startRedis()
        probe = try RedisProbe(redis)
        calls = servers.workspace.file("calls")
        // The file would be written anew in the middle of a round.
        _ = try probe.command("CONFIG", "SET", "auto-aof-rewrite-percentage", "0")
        let pki = try servers.makeCertificates()
        let configuration = """
            kafka: {brokers: "\(brokers)"}
            redis: {url: "redis://\(redis)"}
            environments:
              \(BenchmarkApp.environment):
                gateways: ["127.0.0.1:1"]
                trust: \(pki.appendingPathComponent("ca.pem").path)
            log: {level: warning}

            """
        try Self.empty(servers, redis: redis, probe)
        registrar = try servers.startRole("registrar", configuration)
    }

    /// Warms up, measures, and reports.
    func run(rounds: Int) throws -> RegistrarReport {
        defer { probe.close() }
        try warmUp()
        var report = RegistrarReport(registrations: registrations)
        for round in 0..<rounds {
            let isFirst = round.isMultiple(of: 2)
            if isFirst { report.registrar.add(try measureRegistrar()) }
            report.loop.add(try measureLoop())
            if !isFirst { report.registrar.add(try measureRegistrar()) }
            let rate = report.registrar.samples.rate.values[round]
            let loopRate = report.loop.samples.rate.values[round]
            say("round \(round + 1): \(Int(rate))/s, bare loop \(Int(loopRate))/s")
        }
        return report
    }

    /// The first round teaches the registrar how many buckets there are, the second one is recorded.
    private func warmUp() throws {
        say("warming up")
        try publish()
        try awaitTokens()
        try registrar.pause()
        try Self.empty(servers, redis: redis, probe)
        let recorder = try servers.start(
            "recorder",
            program: servers.programs.calls,
            arguments: ["record", "--redis", redis, "--file", calls.path, "--count", "\(registrations)"]
        )
        try recorder.awaitLine(containing: "\"ready\":true", within: Limit.milliseconds)
        try publish()
        try registrar.resume()
        try recorder.awaitLine(containing: "\"calls\":", within: Limit.milliseconds)
        try recorder.awaitSuccess()
        try awaitTokens()
        try registrar.pause()
    }

    // MARK: Rounds

    private func measureRegistrar() throws -> RegistrarReport.Run {
        try Self.empty(servers, redis: redis, probe)
        try publish()
        _ = try probe.command("CONFIG", "RESETSTAT")
        let (cpu, redisCPU) = (try registrar.cpuMicroseconds(), try probe.cpuMicroseconds())
        let start = Sink.now()
        try registrar.resume()
        var end = start
        // The number of calls is cheaper to ask for than that of tokens.
        repeat {
            poll(nil, 0, Limit.lookMilliseconds)
            end = Sink.now()
            guard registrar.isRunning, end < start + UInt64(Limit.seconds) * 1_000_000_000 else {
                throw BenchmarkError("registrar: a round is not applied")
            }
        } while try probe.number("cmdstat_evalsha:calls=", in: "commandstats") < Double(registrations)
        let redisUsed = try probe.cpuMicroseconds() - redisCPU
        guard try tokens() == registrations else {
            throw BenchmarkError("registrar: \(registrations) tokens were registered, Redis has \(try tokens())")
        }
        poll(nil, 0, Limit.settleMilliseconds)
        try registrar.pause()
        return RegistrarReport.Run(
            seconds: Double(end - start) / 1e9,
            cpuMicroseconds: (try registrar.cpuMicroseconds() - cpu) / Double(registrations),
            redisMicroseconds: redisUsed / Double(registrations)
        )
    }

    private func measureLoop() throws -> RegistrarReport.Run {
        try Self.empty(servers, redis: redis, probe)
        let redisCPU = try probe.cpuMicroseconds()
        let child = try servers.start(
            "loop",
            program: servers.programs.calls,
            arguments: ["repeat", "--redis", redis, "--file", calls.path]
        )
        let line = try child.line(within: Limit.milliseconds)
        try child.awaitSuccess()
        let redisUsed = try probe.cpuMicroseconds() - redisCPU
        guard let repeated = try? JSONDecoder().decode(Repeated.self, from: Data(line.utf8)) else {
            throw BenchmarkError("loop: not the line expected: \(line)")
        }
        guard try tokens() == registrations else {
            throw BenchmarkError("loop: \(registrations) tokens were registered, Redis has \(try tokens())")
        }
        return RegistrarReport.Run(
            seconds: repeated.seconds,
            cpuMicroseconds: repeated.cpuMicroseconds,
            redisMicroseconds: redisUsed / Double(registrations)
        )
    }

    private struct Repeated: Decodable {
        let seconds: Double
        let cpuMicroseconds: Double

        enum CodingKeys: String, CodingKey {
            case seconds
            case cpuMicroseconds = "cpu_us"
        }
    }

    // MARK: Tokens

    /// Leaves nothing in Redis but the rule by which tokens lie, the number of buckets of each hash tag, and scripts.
    private static func empty(_ servers: Servers, redis: String, _ probe: RedisProbe) throws {
        _ = try probe.command("FLUSHALL")
        try servers.register(tokens: 0, redis: redis)
    }

    /// Tokens that Redis has.
    private func tokens() throws -> Int {
        let script = """
            local count = 0
            for tag = 0, \(BENCH_TAGS - 1) do
              for bucket = 0, \(BENCH_BUCKETS - 1) do
                count = count + redis.call('HLEN', string.format('t3:{%s:%02x}:%d', ARGV[1], tag, bucket))
              end
            end
            return count
            """
        let count = try probe.command("EVAL", script, "0", "\(BenchmarkApp.environment):\(BenchmarkApp.bundle)")
        return Int(count) ?? 0
    }

    private func awaitTokens() throws {
        let deadline = Sink.now() + UInt64(Limit.seconds) * 1_000_000_000
        while try tokens() < registrations {
            guard registrar.isRunning, Sink.now() < deadline else {
                throw BenchmarkError("registrar: \(try tokens()) of \(registrations) registrations are applied")
            }
            poll(nil, 0, Limit.countMilliseconds)
        }
    }

    /// Publishes a round. Returns when the broker has acknowledged all of it.
    private func publish() throws {
        let producer = try KafkaProducer(properties: ["bootstrap.servers": brokers, "linger.ms": "20"])
        defer { producer.close() }
        var token = [UInt8](repeating: 0, count: Int(BENCH_TOKEN_BYTES))
        let now = Int64(Date().timeIntervalSince1970)
        for index in 0..<registrations {
            bench_token(UInt64(index), &token)
            let shard = token.withUnsafeBytes { RecordKey.shard(of: $0, spread: Setting.spread) }
            let message = Self.registration(index, token: token, at: now)
            let key = "\(BenchmarkApp.bundle)#\(shard)"
            try producer.produce(topic: Setting.topic, key: Array(key.utf8), value: try message.serializedBytes())
            if index % 1000 == 0 { producer.poll() }
        }
        try producer.flush(timeoutMilliseconds: 30_000)
    }

    /// The registration that has a number in its round.
    ///
    /// - Parameter time: UNIX seconds.
    static func registration(_ number: Int, token: [UInt8], at time: Int64) -> PushRegistration {
        .with {
            $0.token.raw = Data(token)
            $0.registeredAt = time
            $0.locale = Setting.locales[number % Setting.locales.count]
            $0.timeZone = Setting.zones[number % Setting.zones.count]
        }
    }
}
