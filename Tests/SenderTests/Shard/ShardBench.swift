import BelfrySupport
import Foundation
import NIOEmbedded
import PipelineCore
import PushSchemas
import RequestLanes
import Synchronization

@testable import KafkaClient
@testable import PipelineTestSupport
@testable import Sender
@testable import SimulatedServers

/// A shard with one lane for each topic, gateways in memory, and a log that both its readers read.
final class ShardBench {
    static let news = "com.example.news"
    static let sport = "com.example.sport"

    /// The Kafka topic of the shard's lane.
    let requests: String
    let eventLoop: EmbeddedEventLoop
    let group: SimulatedMember
    let producer = CollectingProducer()
    let reader: SimulatedTopic
    let gateway: MemoryGateway
    let lines = LogLines()
    let shard: WorkerShard
    private let clock = Clock()
    private var ends: [Int32: Int64] = [:]
    /// The timestamp of records to come, UNIX milliseconds; nil: they have none.
    var publishedAt: Int64?
    /// The time for which the host was suspended.
    var suspended: Duration {
        get { host.suspended }
        set { host.suspended = newValue }
    }
    private let host = Host()
    /// Headers of records to come.
    var headers: [(name: String, value: [UInt8])] = []

    private final class Host {
        var suspended = Duration.zero
        /// Looks at the clock until the process is stopped; 0: it is not.
        var looksLeft = 0
        var whenStopped: () -> Void = {}

        func look() -> Duration {
            if looksLeft > 0 {
                looksLeft -= 1
                if looksLeft == 0 { whenStopped() }
            }
            return suspended
        }
    }

    /// Stops the process right before a look at the clock of its host, for longer than others wait for it.
    ///
    /// - Parameter look: counted from here, from 1.
    func stop(before look: Int, _ body: @escaping () -> Void) {
        host.looksLeft = look
        host.whenStopped = { [host] in
            host.suspended += .seconds(11)
            body()
        }
    }

    private final class Clock: Sendable {
        let milliseconds = Atomic<Int64>(0)
    }

    /// - Parameters:
    ///   - transport: of the one environment.
    ///   - lane: the one that the shard serves.
    ///   - redis: nil: the shard runs without token state.
    ///   - offset: committed of every partition; the next record has it.
    ///   - metadata: beside it.
    ///   - salt: of partitions whose commits have none.
    ///   - placement: nil: the shard does not watch in which partitions records lie.
    ///   - limits: of what publishers can make up.
    init(
        on eventLoop: EmbeddedEventLoop = EmbeddedEventLoop(),
        over transport: EnvironmentSettings.Transport = .binary,
        in lane: RequestLane = .normal,
        redis: SimulatedRedis? = nil,
        committed offset: Int64 = 0,
        metadata: String = "3;",
        salt: AppSalt = .none,
        placement: KeyPlacement.Source? = nil,
        limits: AppLimits = AppLimits(),
        _ change: (inout BelfryConfiguration) -> Void = { _ in }
    ) {
        self.eventLoop = eventLoop
        requests = lane.kafkaTopic(prefix: "")
        group = SimulatedMember(on: eventLoop, topic: requests)
        reader = SimulatedTopic(requests, partitions: 2 * ShardLimits.catchUpPartitions + 1)
        var configuration = BelfryConfiguration()
        let place = HostPort(host: "nowhere", port: 1)
        configuration.environments = [EnvironmentSettings(name: "sandbox", gateways: [place], transport: transport)]
        configuration.outcomes = .all
        configuration.worker.connectionsPerTopic = 1
        configuration.worker.connectionsPerMinute = 60_000
        configuration.worker.confirmationWindow = .milliseconds(300)
        configuration.worker.backoffBase = .milliseconds(100)
        configuration.worker.parkAfter = .seconds(600)
        configuration.worker.parkProbeBase = .milliseconds(300)
        configuration.worker.parkProbeCap = .seconds(1)
        configuration.worker.commitPatience = .seconds(10)
        change(&configuration)
        gateway = MemoryGateway(eventLoop)
        shard = WorkerShard.scripted(
            group,
            configuration: configuration,
            lane: lane,
            producer: producer,
            redis: redis,
            gateways: gateway,
            reader: reader,
            placement: placement,
            hostClock: { [host] in MonotonicTime(eventLoop.now) + host.look() },
            limits: limits,
            unixMilliseconds: { [clock] in clock.milliseconds.load(ordering: .relaxed) },
            salt: salt,
            logger: lines.logger,
            on: eventLoop
        )
        group.committedOffset = offset
        group.metadata = metadata
        shard.start()
    }

    /// A shard of the urgent lane with partition 0, in which ``news`` has a quota.
    static func urgent(quota: Int, _ change: (inout BelfryConfiguration) -> Void = { _ in }) -> ShardBench {
        let bench = ShardBench(in: .urgent) {
            $0.apps[news, default: .init()].urgentQuota = quota
            change(&$0)
        }
        bench.assign(0)
        return bench
    }

    func place(_ partition: Int32) -> KafkaTopicPartition {
        KafkaTopicPartition(topic: requests, partition: partition)
    }

    func assign(_ partitions: Int32...) {
        shard.assign(partitions.map(place))
        eventLoop.run()
    }

    /// Sets the wall clock, which stands at 0.
    func setClock(unixSeconds: Int64) { clock.milliseconds.store(unixSeconds * 1000, ordering: .relaxed) }

    func wait(milliseconds: Int64) { eventLoop.advanceTime(by: .milliseconds(milliseconds)) }

    /// Sets the levers of ``news`` to these, and all others off.
    ///
    /// - Parameter lane: nil: they name none.
    func pull(_ settings: AppControl.Setting..., in lane: RequestLane? = nil) {
        var controls = AppControls()
        let name = AppControls.Name(environment: "sandbox", bundleID: Self.news)
        for setting in settings { controls.set(setting.lever, of: name, in: lane, setting) }
        shard.use(controls)
    }

    // MARK: The log

    /// Appends records to the log, which the live reader gets; each to tokens of 32 times the same byte.
    func bring(_ records: (bundleID: String, tokens: [UInt8])..., to partition: Int32 = 0) throws {
        try bring(
            records.map { record in
                (
                    record.bundleID,
                    PushSendRequest.with {
                        $0.packedTokens = Data(record.tokens.flatMap { Array(repeating: $0, count: 32) })
                    }
                )
            },
            to: partition
        )
    }

    func bring(_ requests: [(bundleID: String, request: PushSendRequest)], to partition: Int32 = 0) throws {
        let records = try requests.map { bundleID, request in
            let offset = ends[partition] ?? group.committedOffset
            ends[partition] = offset + 1
            return try record(bundleID, request, at: offset, in: partition)
        }
        reader.records += records
        group.batches.append(KafkaBatch(records))
    }

    /// Puts a record into the log that the live reader does not get.
    func keep(_ bundleID: String, _ tokens: [UInt8], at offset: Int64, environment: String = "") throws {
        let request = PushSendRequest.with {
            $0.environment = environment
            $0.packedTokens = Data(tokens.flatMap { Array(repeating: $0, count: 32) })
        }
        reader.records.append(try record(bundleID, request, at: offset, in: 0))
    }

    private func record(
        _ bundleID: String,
        _ request: PushSendRequest,
        at offset: Int64,
        in partition: Int32
    ) throws -> KafkaRecord {
        var request = request
        if request.content == nil { request.payload = Data(#"{"aps":{}}"#.utf8) }
        return KafkaRecord(
            topic: requests,
            partition: partition,
            offset: offset,
            key: Array(bundleID.utf8),
            value: try request.serializedBytes(),
            timestampMilliseconds: publishedAt,
            headers: headers
        )
    }

    // MARK: HTTP/2

    var service: MemoryService { gateway.service }

    /// The topic's lane over HTTP/2; nil: nothing was sent for it.
    func streamLane(_ bundleID: String) -> StreamLane? {
        let lanes = shard.stages.gateway.all.first { $0.topic.bundleID == bundleID }
        guard case .streams(let lane)? = lanes?.way else { return nil }
        return lane
    }

    /// The reason why a topic does not work; nil: it works.
    func reason(_ bundleID: String) -> String? {
        shard.report().topics.first { $0.bundleID == bundleID }?.reason
    }

    // MARK: What became of it

    /// The last commit of a partition.
    func committed(_ partition: Int32 = 0) -> KafkaPartitionOffset? {
        group.commits.flatMap(\.self).last { $0.partition == partition }
    }

    /// The topics that it names, and their cursors.
    func laggards() throws -> [AppHash: Int64] {
        guard let committed = committed() else { return [:] }
        let metadata = try PositionMetadata(decoding: committed.metadata, committedOffset: committed.offset)
        return Dictionary(uniqueKeysWithValues: metadata.laggards.map { ($0.topic, $0.cursor) })
    }

    /// Hash by which records of a bundle name it here.
    static func hash(_ bundleID: String, _ salt: AppSalt = .none) -> AppHash {
        AppHash(bundleID: bundleID, environment: "", salt: salt)
    }

    /// The outcomes that were published, in order.
    func outcomes() throws -> [PushOutcome] {
        try producer.records(of: "push.outcomes").map { try PushOutcome(serializedBytes: $0.value) }
    }

    /// The source offsets of those of one kind, in order.
    func offsets(_ kind: PushOutcomeKind) throws -> [Int64] {
        try outcomes().filter { $0.kind == kind }.map(\.sourceOffset)
    }
}
