import BelfrySupport
import Dispatch
import KafkaClient
import Logging
import NIOCore
import ProviderCredentials
import PushTopics
import RequestLanes
import TLSTransport
import TokenState

/// Carries out `belfry config check --connect`: tries every server that a configuration names, all at once.
///
/// A server of which a key is wrong is not tried: the value that stands in for it may name another one. The feedback
/// service is left alone: to connect to it empties its lists.
public struct ConfigurationTrial: Sendable {
    private static let patience = Duration.seconds(10)

    /// Its threads may block, and are its own.
    private static let queue = DispatchQueue(label: "belfry.config", attributes: .concurrent)

    private let inspection: ConfigurationInspection

    public init(_ inspection: ConfigurationInspection) {
        self.inspection = inspection
    }

    private var configuration: BelfryConfiguration { inspection.configuration }

    /// The result of each server, in the order of the keys. Says on standard error what it waits for.
    public func findings() async -> [ConfigurationFinding] {
        async let kafka = tryKafka()
        async let redis = tryRedis()
        async let gateways = tryGateways()
        return await kafka + redis + gateways
    }

    /// Something about a server whose keys are wrong; nil: it can be tried.
    private func refusal(of servers: String, _ sections: [String]) -> ConfigurationFinding? {
        guard inspection.hasProblem(in: sections) else { return nil }
        return ConfigurationFinding(note: "not tried: its keys are wrong", of: servers)
    }

    // MARK: Kafka

    private func tryKafka() async -> [ConfigurationFinding] {
        if let refusal = refusal(of: "kafka.brokers", ["kafka"]) { return [refusal] }
        let (settings, worker) = (configuration.kafka, configuration.worker)
        return await Self.blocking { Self.tryKafka(settings, worker) }
    }

    private static func tryKafka(_ settings: KafkaSettings, _ worker: WorkerSettings) -> [ConfigurationFinding] {
        do throws(KafkaError) {
            return try WaitNotice.during("the brokers at \(settings.brokers)") { () throws(KafkaError) in
                let admin = try KafkaAdmin(forCommand: settings, clientID: "belfry-config")
                defer { admin.close() }
                let timeout = Int32(patience.components.seconds) * 1000
                let partitions = try admin.partitionCounts(timeoutMilliseconds: timeout)
                var policies: [String: String] = [:]
                for topic in compacted(settings) where partitions[topic] != nil {
                    // Not every user may ask, and not every broker tells.
                    guard let found = try? admin.topicSettings(of: topic, timeoutMilliseconds: timeout) else { break }
                    policies[topic] = found[TopicLayout.compaction.name]
                }
                let lanes = LaneFindings(settings, worker, partitions: partitions)
                var requests: [RequestLane: [String: String]] = [:]
                for lane in lanes.served {
                    requests[lane] = try? admin.topicSettings(of: lanes.topic(lane), timeoutMilliseconds: timeout)
                }
                let broker = requests.isEmpty ? nil : try? admin.brokerSettings(timeoutMilliseconds: timeout)
                return kafkaFindings(settings, worker, partitions: partitions, policies: policies)
                    + lanes.findings(requests)
                    + commitFindings(requests: Array(requests.values), broker: broker ?? [:])
            }
        } catch {
            return [
                ConfigurationFinding(
                    fault: "\(error)",
                    of: "kafka.brokers",
                    cure: "name brokers that answer; see kafka.properties for how they are spoken to"
                )
            ]
        }
    }

    /// The Kafka topics whose records hold for good.
    private static func compacted(_ settings: KafkaSettings) -> [String] {
        TopicLayout(partitions: 1, names: TopicNames(settings)).topics
            .filter { $0.configuration.contains(TopicLayout.compaction) }.map(\.name)
    }

    /// - Parameters:
    ///   - worker: names the lanes that workers are to serve.
    ///   - partitions: of every Kafka topic that is there.
    ///   - policies: `cleanup.policy` of those that are to be compacted, as far as the brokers tell.
    static func kafkaFindings(
        _ settings: KafkaSettings,
        _ worker: WorkerSettings = WorkerSettings(),
        partitions: [String: Int],
        policies: [String: String] = [:]
    ) -> [ConfigurationFinding] {
        let (brokers, names) = (settings.brokers, TopicNames(settings))
        let lanes = worker.neededLanes + LaneFindings(settings, worker, partitions: partitions).served
        let wanted = TopicLayout(partitions: 1, names: names).topics.map(\.name).filter { topic in
            guard let lane = names.lane(of: topic) else { return true }
            return lanes.contains(lane)
        }
        let missing = wanted.filter { partitions[$0] == nil }
        guard missing.isEmpty else {
            return [
                ConfigurationFinding(
                    fault: "the brokers at \(brokers) answer, and lack \(missing.joined(separator: ", "))",
                    of: "kafka.brokers",
                    cure: "belfry topics create"
                )
            ]
        }
        let forgetful = policies.filter { !$0.value.contains(TopicLayout.compaction.value) }.keys.sorted()
        guard forgetful.isEmpty else {
            let setting = "\(TopicLayout.compaction.name)=\(TopicLayout.compaction.value)"
            return forgetful.map { topic in
                ConfigurationFinding(
                    fault: "\(topic) is not compacted: its records are lost when its retention is over",
                    of: "kafka.brokers",
                    cure: "kafka-configs.sh --bootstrap-server \(brokers) --alter --entity-type topics "
                        + "--entity-name \(topic) --add-config \(setting)"
                )
            }
        }
        let found = "the brokers at \(brokers) answer, and have all of \(counted(wanted.count, "Kafka topic"))"
        return [ConfigurationFinding(good: found, of: "kafka.brokers")]
    }

    /// A finding if brokers forget the commits of a group without members while its records are still there.
    ///
    /// - Parameters:
    ///   - requests: the settings of the lanes' Kafka topics, as far as the brokers tell.
    ///   - broker: those of a broker.
    static func commitFindings(requests: [[String: String]], broker: [String: String]) -> [ConfigurationFinding] {
        // Below 0 is for ever.
        let retentions = requests.compactMap { $0["retention.ms"].flatMap(Int64.init) }.map { $0 < 0 ? Int64.max : $0 }
        guard let minutes = broker["offsets.retention.minutes"].flatMap(Int64.init),
            let milliseconds = retentions.max(), minutes < milliseconds / 60_000
        else { return [] }
        let kept = milliseconds == .max ? "for ever" : "for \(milliseconds / 60_000) minutes"
        return [
            ConfigurationFinding(
                note: "brokers forget the commits of stopped workers after \(minutes) minutes "
                    + "(offsets.retention.minutes), and keep requests \(kept): partitions would stand then",
                of: "kafka.brokers"
            )
        ]
    }

    // MARK: Redis

    private func tryRedis() async -> [ConfigurationFinding] {
        if let refusal = refusal(of: "redis.url", ["redis"]) { return [refusal] }
        let settings = configuration.redis
        let servers = "Redis at \(settings.place)"
        let notice = WaitNotice(servers)
        defer { notice.end() }
        let answer = await Self.blocking { Self.countMasters(settings) }
        switch answer {
        case .failure(let error):
            return [
                ConfigurationFinding(
                    fault: "\(error.reason)",
                    of: "redis.url",
                    cure: "name a server that answers, with the user and password that it knows"
                )
            ]
        case .success(let masters):
            let found = "\(servers) answers, \(counted(masters, "master"))"
            return await [ConfigurationFinding(good: found, of: "redis.url")] + Self.tryDurability(settings)
        }
    }

    private struct Silence: Error {
        let reason: String
    }

    private static func countMasters(_ settings: RedisSettings) -> Result<Int, Silence> {
        do {
            let inspector = try TokenInspector(settings)
            defer { inspector.close() }
            return .success(try inspector.countMasters())
        } catch {
            return .failure(Silence(reason: "\(error)"))
        }
    }

    private static func tryDurability(_ settings: RedisSettings) async -> [ConfigurationFinding] {
        let key = "redis.durability"
        var strict = settings
        strict.durability = .refuse
        let silent = Logger(label: "belfry.config") { _ in SwiftLogNoOpLogHandler() }
        do {
            try await RedisDurabilityCheck(strict, patience: patience, logger: silent).run {}
            return [ConfigurationFinding(good: "nothing is known that loses acknowledged writes", of: key)]
        } catch {
            guard settings.durability == .refuse else { return [ConfigurationFinding(note: "\(error)", of: key)] }
            let cure = "change these settings of Redis, or let redis.durability be warn"
            return [ConfigurationFinding(fault: "\(error)", of: key, cure: cure)]
        }
    }

    // MARK: Gateways

    private func tryGateways() async -> [ConfigurationFinding] {
        let directory = try? CertificateDirectory(configuration.certificates)
        var trials: [GatewayTrial] = []
        var findings: [ConfigurationFinding] = []
        for environment in configuration.environments {
            let key = "environments.\(environment.name)"
            let sections = [key, "certificates"] + (environment.transport == .http2 ? ["keys"] : [])
            if let refusal = refusal(of: "\(key).gateways", sections) {
                findings.append(refusal)
                continue
            }
            // Roots that cannot be read are told with the files.
            guard let directory, let store = try? CertificateStore(directory, environments: [environment]) else {
                continue
            }
            let contexts = store.contexts(environment: environment.name)
            let context =
                contexts.min { $0.key < $1.key }?.value
                ?? store.contextWithoutCertificate(environment: environment.name)
            guard let context else {
                findings.append(ConfigurationFinding(note: "gateways not tried: no certificate is for them", of: key))
                continue
            }
            func trial(_ name: String, _ address: HostPort) -> GatewayTrial {
                GatewayTrial(
                    environment: key,
                    name: name,
                    address: address,
                    transport: environment.transport,
                    proxy: environment.proxy,
                    context: context
                )
            }
            trials += environment.gateways.map { trial("gateways", $0) }
            if environment.transport == .http2, let host = environment.channels {
                trials.append(trial("channels", host))
            }
        }
        return findings + (await Self.all(trials))
    }

    private static func all(_ trials: [GatewayTrial]) async -> [ConfigurationFinding] {
        await withTaskGroup(of: (Int, ConfigurationFinding).self) { group in
            for (index, trial) in trials.enumerated() {
                group.addTask { (index, await trial.finding(patience: TimeAmount(patience))) }
            }
            var findings: [(Int, ConfigurationFinding)] = []
            for await finding in group { findings.append(finding) }
            return findings.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }

    /// Runs what blocks on a thread that may.
    private static func blocking<R: Sendable>(_ work: @escaping @Sendable () -> R) async -> R {
        await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: work()) }
        }
    }
}
