import Foundation
import KafkaClient
import LocalPipeline
import PushTopics
import TokenState

/// Broker, Redis and sandbox of a run. Its methods block.
final class ChaosServers {
    let broker: BrokerServer
    let pipeline: LocalPipeline
    /// Nil: Redis is one server, which the pipeline started.
    let nodes: (any RedisFailOver)?

    /// Of the Kafka topic of each lane, and of push.outcomes.
    static let partitions = 12
    /// Of each topic.
    static let devices = 20_000
    private static let timeoutMilliseconds: Int32 = 30_000

    private static let worker = """
        {shards: 2, connections-per-topic: 2, \
        confirmation-window: \(FaultMenu.confirmationWindowMilliseconds)ms, sentinel-timeout: 4s, \
        request-timeout: \(FaultMenu.requestTimeoutSeconds)s, connection-max-age: 16s, connections-per-minute: 6000, \
        park-after: 5s, park-probe-base: 1s, park-probe-cap: 4s}
        """

    /// Nil: Redis is no cluster.
    var cluster: RedisNodes? { nodes as? RedisNodes }

    /// Starts them.
    ///
    /// - Parameter acceptedLog: file in which the sandbox writes what it accepts.
    init(_ options: ChaosOptions, directory: String, acceptedLog: String) throws {
        broker = try BrokerServer(directory: directory)
        var nodes: (any RedisFailOver)?
        do {
            try Self.makeTopics(brokers: broker.address)
            switch options.redis {
            case .cluster: nodes = try RedisNodes(directory: directory)
            case .sentinel: nodes = try WatchedRedis(directory: directory)
            case .single: break
            }
            self.nodes = nodes
            var setUp = LocalPipeline.Options()
            setUp.transport = options.transport
            setUp.lanes = options.usesLanes ? RequestLane.allCases : [.normal]
            setUp.topics = options.topics + TokenTrial.topics
            setUp.apps = options.apps
            setUp.kafka = broker.address
            setUp.makesTopics = false
            setUp.redis = nodes?.urls
            // The replay after a fail-over is short enough to end before the next one.
            setUp.redisSettings = ", replay: 30s"
            setUp.devices = Self.devices
            // The broker writes everything down when it stops and reads it when it starts: the smaller the sooner.
            setUp.kafkaProperties = ", compression.codec: lz4"
            setUp.worker = Self.worker
            setUp.sandboxArguments = ["--accepted-log", acceptedLog]
            pipeline = try LocalPipeline(setUp, executable: options.executable, directory: directory)
        } catch {
            nodes?.end()
            broker.stop()
            throw error
        }
    }

    /// The Kafka topics that registrars and harvesters apply have fewer partitions than those have members.
    private static func makeTopics(brokers: String) throws {
        let admin = try KafkaAdmin(properties: ["bootstrap.servers": brokers])
        defer { admin.close() }
        let applied = ChaosRole.allCases.compactMap { $0.applies?.topic }
        for topic in TopicLayout(partitions: partitions).topics {
            try admin.createTopic(
                topic.name,
                partitions: applied.contains(topic.name) ? ApplierWatch.partitions : topic.partitions,
                replication: 1,
                configuration: topic.configuration.map { ($0.name, $0.value) },
                timeoutMilliseconds: timeoutMilliseconds
            )
        }
    }

    /// Writes the layout by which tokens lie, for an installation that has none.
    func write(_ layout: TokenLayout) throws {
        let url = nodes?.entry ?? pipeline.redisURL
        let words = ["SET", String(decoding: TokenLayout.name, as: UTF8.self), layout.text, "NX"]
        // Of a cluster's servers, the one that has the key.
        let answer = try RedisNode.redisCLI(["-c", "-u", url] + words)
        guard answer.hasPrefix("OK") else { throw ChaosError("Redis does not take the layout for tokens: \(answer)") }
    }

    func stopRedis() {
        if let nodes { nodes.stop() } else { pipeline.stopRedis() }
    }

    func startRedis() throws {
        if let nodes { try nodes.start() } else { try pipeline.startRedis() }
    }

    /// Ends everything that runs, the roles first. Idempotent.
    func stop() {
        pipeline.stop()
        nodes?.end()
        broker.stop()
    }
}
