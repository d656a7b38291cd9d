import APNsProtocol
import BelfrySupport
import PipelineCore

/// The size of an installation that bears a ``CapacityDemand``. Deploy/CAPACITY.md has the rules in words.
///
/// All values are in the ranges of ``CapacityDemand/faults``, so that nothing overflows.
public struct CapacityPlan: Sendable, Equatable {
    /// Notifications a second that a worker sends at most, and what it has too little of to send more.
    package struct WorkerRate: Equatable, Sendable {
        package enum Bound: String, Sendable {
            case cpu
            case connections
        }

        package var notifications: Int
        package var bound: Bound
    }

    public let demand: CapacityDemand
    private let settings = WorkerSettings()

    /// - Throws: ``ToolError/invalidInput(_:)``, a line for each fault of the demand.
    public init(_ demand: CapacityDemand) throws(ToolError) {
        let faults = demand.faults
        guard faults.isEmpty else { throw .invalidInput(faults) }
        self.demand = demand
    }

    // MARK: Workers

    /// Share of its cores that the planned load takes: the other half is for peaks, for catching up, and for the work
    /// of a process that is gone.
    static let utilization = 0.5
    /// One may be gone.
    static let fewestWorkers = 2

    /// CPU microseconds of a worker for a notification.
    package var cpuMicroseconds: Double {
        if let given = demand.cpuMicroseconds { return given }
        typealias Figures = MeasuredFigures
        let perToken =
            switch demand.transport {
            case .binary: Figures.fanOut.cpuMicroseconds
            case .http2: Figures.http2.cpuMicroseconds
            }
        // The cost of a record beside its tokens shows where it has one alone.
        let perRecord = Figures.single.cpuMicroseconds - Figures.fanOut.cpuMicroseconds
        let lookUp = Figures.singleLookup.cpuMicroseconds - Figures.single.cpuMicroseconds
        let languages = Figures.twelveLanguages.cpuMicroseconds - Figures.oneLanguage.cpuMicroseconds
        return perToken + perRecord / Double(demand.tokensPerRecord) + (demand.asksRedis ? lookUp : 0)
            + (demand.isLocalized ? languages : 0)
    }

    /// Cores that the load keeps busy.
    package var busyCores: Double { Double(demand.rate) * cpuMicroseconds / 1e6 }

    package var workers: Int {
        let shards = Int((busyCores / Self.utilization).rounded(.up))
        return max(Self.fewestWorkers, Self.divide(shards, by: demand.shards))
    }

    /// One for each shard of a lane: the shards of the others share them, since the rate is that of all lanes.
    package var cores: Int { workers * demand.shards }

    /// Shards of a worker process in all lanes: threads, Kafka consumers and producers, connections to Redis.
    package var shardsPerWorker: Int { demand.lanes.count * demand.shards }

    /// Most memory of a worker process. The lanes share the shards' memory; the rest, of Kafka's clients for the most
    /// part, each has for itself.
    package var workerMemoryBytes: Int {
        let dead = demand.deadTokens ?? demand.tokens / 10
        let filter = min(dead * MeasuredFigures.filterBytesPerDeadToken, settings.filterMemoryBytes)
        let rest = demand.lanes.count * MeasuredFigures.otherMemoryBytes
        return demand.shards * settings.shardMemoryBytes + filter + rest
    }

    // MARK: Partitions

    /// Partition counts never change in place, so that four times the shards may come.
    static let partitionsPerShard = 4
    /// It has many divisors: partitions are shared out evenly among many numbers of workers.
    static let partitionStep = 12
    /// Of what a topic may have beyond its cursor the half is left for notifications that are slow.
    static let creditShare = 2

    /// Of each lane's Kafka topic: any lane may have to bear the rate.
    package var partitions: Int {
        let unsettled = Self.divide(demand.rate * settlingMilliseconds, by: 1000)
        let forCredit = Self.divide(Self.creditShare * unsettled, by: settings.maxUncommitted)
        let needed = max(cores * Self.partitionsPerShard, forCredit)
        return Self.divide(needed, by: Self.partitionStep) * Self.partitionStep
    }

    /// More workers than that have shards without partitions.
    package var mostWorkers: Int { max(1, partitions / demand.shards) }

    /// From the hand-over of a notification until it is settled.
    private var settlingMilliseconds: Int {
        let window = Int(settings.confirmationWindow.wholeNanoseconds / 1_000_000)
        return demand.roundTripMilliseconds + (demand.transport == .binary ? window : 0)
    }

    // MARK: Keys

    /// So that the keys of a bundle fill its partitions evenly.
    static let keysPerPartition = 4

    /// Notifications a second of one key: it lies in one partition, which is the work of one shard.
    package var keyRate: WorkerRate { rate(shards: 1, utilization: Self.utilization) }

    /// For `apps.<bundle>.spread` of a bundle that sends everything.
    package var spread: Int { demand.rate <= keyRate.notifications ? 1 : Self.keysPerPartition * partitions }

    // MARK: Connections

    /// Streams of a connection, as the push service allows them.
    static let streams = 1000
    /// Bytes of bodies that may be on their way on a connection: its window until the service says otherwise.
    /// [RFC 9113, 6.9.2]
    static let windowBytes = 65_535

    /// Notifications a second that one connection carries at most.
    package var connectionRate: Int {
        let inFlight =
            switch demand.transport {
            case .http2: min(Self.streams, max(1, Self.windowBytes / demand.payloadBytes))
            case .binary: min(settings.inFlightPerConnection, settings.inFlightBytes / notificationBytes)
            }
        return max(1, inFlight * 1000 / settlingMilliseconds)
    }

    /// Connections that the load needs, if one credential sends all of it.
    package var connections: Int { Self.divide(demand.rate, by: connectionRate) }

    /// For `worker.connections-per-topic`: as many as the busiest topic needs if it sends everything.
    package var connectionsPerTopic: Int {
        max(settings.connectionsPerTopic, Self.divide(connections, by: cores))
    }

    /// Most connections of a worker process: every topic has a certificate of its own, and something to send in each
    /// lane.
    package var mostConnectionsPerWorker: Int { demand.topics * shardsPerWorker * connectionsPerTopic }

    // MARK: What a worker can do

    /// With its whole cores, of one topic in one lane.
    package var workerRate: WorkerRate { rate(shards: demand.shards, utilization: 1) }

    private func rate(shards: Int, utilization: Double) -> WorkerRate {
        let byCPU = Int(Double(shards) * utilization * 1e6 / cpuMicroseconds)
        let byConnections = shards * connectionsPerTopic * connectionRate
        return byConnections < byCPU
            ? WorkerRate(notifications: byConnections, bound: .connections)
            : WorkerRate(notifications: byCPU, bound: .cpu)
    }

    /// A worker that is added takes so long to have its partitions and to be worth it.
    static let scalingSeconds = 30

    /// Waiting records for which KEDA adds a worker: those that one works off in ``scalingSeconds``.
    package var kedaThreshold: Int { max(1, Self.scalingSeconds * workerRate.notifications / demand.tokensPerRecord) }

    // MARK: Redis

    package var redisBytes: Int { demand.tokens * MeasuredFigures.redisBytesPerToken }

    /// With room for the copies that Redis makes while it rewrites its log.
    package var redisMachineBytes: Int { 2 * redisBytes }

    // MARK: Network and disk

    static let tokenBytes = 32
    /// Of a command 2 frame, beside the payload.
    static let binaryOverheadBytes = NotificationFrame.command2Bytes(tokenBytes: tokenBytes, payloadBytes: 0)
    /// Of a request beside its body: two frame headers of 9 bytes; path, id and time as Huffman codes, indices for the
    /// other fields. [RFC 9113, 4.1] [RFC 7541]
    static let http2OverheadBytes = 120
    /// Of a record beside payload and tokens: key, request id, Protobuf, Kafka's own.
    static let recordOverheadBytes = 120
    /// TLS, TCP, IP and Ethernet around full segments, in percent.
    static let framingPercent = 7

    private var notificationBytes: Int {
        let overhead = demand.transport == .binary ? Self.binaryOverheadBytes : Self.http2OverheadBytes
        return demand.payloadBytes + overhead
    }

    /// From the workers to the push service.
    package var gatewayBitsPerSecond: Int { demand.rate * notificationBytes * 8 * (100 + Self.framingPercent) / 100 }

    package var recordsPerSecond: Int { Self.divide(demand.rate, by: demand.tokensPerRecord) }

    package var recordBytes: Int {
        demand.payloadBytes + demand.tokensPerRecord * Self.tokenBytes + Self.recordOverheadBytes
    }

    /// In and out of all brokers together: from the publishers, to each other replica, to the workers.
    package var kafkaBitsPerSecond: Int {
        let copies = demand.replication + 1
        return recordsPerSecond * recordBytes * 8 * copies * (100 + Self.framingPercent) / 100
    }

    /// Of all brokers together: of the one send, or if the rate lasted for the whole retention.
    package var kafkaDiskBytes: Int {
        let records =
            demand.send.map { Self.divide($0.notifications, by: demand.tokensPerRecord) }
            ?? recordsPerSecond * demand.retentionHours * 3600
        return records * recordBytes * demand.replication
    }

    /// Rounded up.
    private static func divide(_ value: Int, by divisor: Int) -> Int { (value + divisor - 1) / divisor }
}
