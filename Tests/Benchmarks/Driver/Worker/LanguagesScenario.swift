import BenchmarkCommon
import Foundation
import PushSchemas
import Workbench

/// Scenario `languages`: notifications in parts with twelve localizations beside the same with none, 500 tokens a
/// record, to tokens that are registered with these languages, from a worker of one shard to a gateway that never
/// answers.
///
/// Both are taken by the same process, one after the other in every round, and their payloads have the same size. The
/// filter of dead tokens is off, so that Redis is asked for every token in either case. The worker stands still
/// (SIGSTOP) while a round is published.
struct LanguagesScenario {
    private enum Setting {
        static let spread: UInt32 = 64
        /// 2,000 a key, so that each fills some records.
        static let tokens = 1 << 17
        static let shards = 1
        static let connectionsPerTopic = 2
        static let warmUpNotifications = 50_000
    }

    private enum Limit {
        static let warmUpAttempts = 10
        static let confirmationWindowSeconds = 2
        /// For the worker's start and its consumer group.
        static let readyMilliseconds: Int32 = 60_000
        /// For one measurement.
        static let roundMilliseconds: Int32 = 120_000
        /// After the last byte: what is done at the end of the confirmation window counts as well.
        static let settleMilliseconds = Int32(confirmationWindowSeconds * 1000 + 1000)
    }

    /// Of 280 records, which fill a third of what the embedded broker keeps of a partition.
    static let notificationsPerPartition = 45_000

    /// The languages, and the locales that devices have: nearer than any text, so that each falls back along its tag.
    static let locales = [
        "de-AT", "en-GB", "es-MX", "fr-CA", "it-CH", "ja-JP", "ko-KR", "nl-BE", "pl-PL", "pt-BR", "sv-FI", "zh-TW",
    ]

    private let brokers: String
    private let sink: Sink
    private let worker: ChildProcess
    private var records: RequestRecords
    /// Rounds published.
    private var rounds = 0

    /// Starts everything.
    init(servers: Servers, brokers: String) throws {
        say("starting a worker for \(Self.locales.count) languages")
        self.brokers = brokers
        let redis = try servers.startRedis()
        let pki = try servers.makeCertificates()
        sink = try Sink(servers: servers, pki: pki)
        try servers.register(tokens: Setting.tokens, redis: redis, locales: Self.locales)
        var tokens = [UInt8](repeating: 0, count: Setting.tokens * Int(BENCH_TOKEN_BYTES))
        tokens.withUnsafeMutableBufferPointer { tokens in
            for index in 0..<Setting.tokens {
                bench_token(UInt64(index), tokens.baseAddress.map { $0 + index * Int(BENCH_TOKEN_BYTES) })
            }
        }
        records = try RequestRecords(bundle: BenchmarkApp.bundle, tokens: tokens, spread: Setting.spread)
        worker = try Self.startWorker(servers, brokers: brokers, redis: redis, gatewayPort: sink.port, pki: pki)
    }

    /// Warms up, measures, and reports.
    mutating func run(rounds: Int, notifications: Int) throws -> LanguagesReport {
        try warmUp()
        var report = LanguagesReport(languages: Self.locales.count, notifications: notifications)
        for round in 0..<rounds {
            for hasLanguages in round.isMultiple(of: 2) ? [true, false] : [false, true] {
                let (rate, cpu) = try measure(hasLanguages, notifications)
                let name = hasLanguages ? "\(Self.locales.count) languages" : "one language"
                say("round \(round + 1): \(name): \(Int(rate))/s, \(cpu) us of CPU each")
                let samples = hasLanguages ? \LanguagesReport.many : \LanguagesReport.one
                report[keyPath: samples].rate.add(rate)
                report[keyPath: samples].cpuMicroseconds.add(cpu)
            }
        }
        return report
    }

    /// Publishes small rounds until the worker has its partitions and its connections. Leaves it standing still.
    private mutating func warmUp() throws {
        var isReady = false
        for attempt in 0..<Limit.warmUpAttempts where !isReady {
            let expected = try sink.totals().notifications + Setting.warmUpNotifications
            try publish(Setting.warmUpNotifications, hasLanguages: attempt.isMultiple(of: 2))
            let arrived = try sink.wait(notifications: expected, milliseconds: Limit.readyMilliseconds)
            let settled = try sink.wait(notifications: .max, milliseconds: Limit.settleMilliseconds)
            guard worker.isRunning else { throw BenchmarkError("worker: ended while it warmed up") }
            isReady =
                arrived.notifications == expected && settled.notifications == expected
                && settled.connections >= Setting.shards * Setting.connectionsPerTopic
        }
        guard isReady else {
            throw BenchmarkError("worker: not all connections send after \(Limit.warmUpAttempts) small rounds")
        }
        try worker.pause()
    }

    private mutating func measure(
        _ hasLanguages: Bool,
        _ count: Int
    ) throws -> (rate: Double, cpuMicroseconds: Double) {
        try publish(count, hasLanguages: hasLanguages)
        let expected = try sink.totals().notifications + count
        let cpuBefore = try worker.cpuMicroseconds()
        let start = Sink.now()
        try worker.resume()
        let end = try sink.wait(notifications: expected, milliseconds: Limit.roundMilliseconds)
        let settled = try sink.wait(notifications: .max, milliseconds: Limit.settleMilliseconds)
        try worker.pause()
        guard settled.notifications == expected else {
            throw BenchmarkError(
                "worker: of \(count) notifications \(count - expected + settled.notifications) reached the gateway"
            )
        }
        let seconds = Double(end.lastByteNanoseconds - start) / 1e9
        return (Double(count) / seconds, (try worker.cpuMicroseconds() - cpuBefore) / Double(count))
    }

    /// Publishes one notification to all tokens of a round, as a publisher does who cuts it into records.
    private mutating func publish(_ count: Int, hasLanguages: Bool) throws {
        rounds += 1
        let notification = Self.notification(rounds, hasLanguages: hasLanguages)
        try records.publish(count, brokers: brokers) { request, _ in request.notification = notification }
    }

    /// A notification whose payloads have the same size in all languages, whatever the number.
    static func notification(_ number: Int, hasLanguages: Bool) -> PushNotification {
        func alert(_ language: Substring) -> PushAlert {
            .with {
                $0.title = "Ring the bell"
                $0.body = "A text of the length that people send, in \(language), number \(1_000_000 + number)"
            }
        }
        return .with {
            $0.alert = alert("en")
            $0.sound = PushSound()
            guard hasLanguages else { return }
            for locale in locales { $0.localizations[String(locale.prefix(2))] = alert(locale.prefix(2)) }
        }
    }

    private static func startWorker(
        _ servers: Servers,
        brokers: String,
        redis: String,
        gatewayPort: UInt16,
        pki: URL
    ) throws -> ChildProcess {
        let configuration = WorkerConfiguration(
            brokers: brokers,
            redis: redis,
            gatewayPort: gatewayPort,
            trust: pki.appendingPathComponent("ca.pem").path,
            certificates: servers.workspace.file("certificates").path,
            group: "belfry-bench-languages",
            spread: Int(Setting.spread),
            shards: Setting.shards,
            connectionsPerTopic: Setting.connectionsPerTopic,
            confirmationWindowSeconds: Limit.confirmationWindowSeconds,
            hasFilter: false
        )
        return try servers.startRole("worker", configuration.yaml)
    }
}
