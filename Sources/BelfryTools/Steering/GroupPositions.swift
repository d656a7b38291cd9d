import BelfrySupport
import KafkaClient
import PushTopics
import RequestLanes

/// Reads and changes the committed positions of the workers' group in one lane, for `belfry offsets`.
///
/// Blocks the calling thread, and says on standard error what it waits for. Call ``close()`` before the last reference
/// goes.
public final class GroupPositions {
    public let groupID: String
    private let admin: KafkaAdmin
    private let configuration: BelfryConfiguration
    private let settings: KafkaSettings
    private let lane: RequestLane
    private let topic: String
    private let known: [AppHashNames.Name]

    private static let clientID = "belfry-offsets"
    private static let timeoutMilliseconds: Int32 = 10_000

    /// The lanes that have a Kafka topic, in their order; if none has, the normal one, whose absence is told when its
    /// positions are asked for.
    public static func lanes(of configuration: BelfryConfiguration) throws(ToolError) -> [RequestLane] {
        let settings = configuration.kafka
        do throws(KafkaError) {
            let admin = try KafkaAdmin(forCommand: settings, clientID: clientID)
            defer { admin.close() }
            let counts = try WaitNotice.during("the brokers at \(settings.brokers)") { () throws(KafkaError) in
                try admin.partitionCounts(timeoutMilliseconds: timeoutMilliseconds)
            }
            let lanes = TopicNames(settings).lanes(in: counts)
            return lanes.isEmpty ? [.normal] : lanes
        } catch {
            throw ToolError(asking: error)
        }
    }

    public init(_ configuration: BelfryConfiguration, lane: RequestLane = .normal) throws(ToolError) {
        self.configuration = configuration
        self.lane = lane
        groupID = GroupNames(configuration).worker(lane)
        settings = configuration.kafka
        topic = TopicNames(configuration.kafka).requests(lane)
        known = AppHashNames.known(configuration)
        do throws(KafkaError) {
            admin = try KafkaAdmin(forCommand: configuration.kafka, clientID: Self.clientID)
        } catch {
            throw ToolError(error)
        }
    }

    /// Idempotent.
    public func close() { admin.close() }

    /// Every partition of the lane's Kafka topic, in order, with the reasons why topics lag. Bundles that neither
    /// certificates nor the configuration name are named by the records at their cursors.
    public func all() throws(ToolError) -> [PartitionPosition] {
        var positions = try asking { () throws(KafkaError) in try self.positions(of: Array(0..<partitionCount())) }
        if positions.contains(where: { !$0.unnamed.isEmpty || $0.hasLost }) { try readLog(of: &positions) }
        guard positions.contains(where: { !$0.laggards.isEmpty }) else { return positions }
        let reasons = LagReasons(configuration)
        for index in positions.indices { positions[index].explain(by: reasons, in: lane) }
        return positions
    }

    /// Some partitions as they are committed, without what the log and push.controls tell of them.
    func current(_ partitions: [Int32]) throws(ToolError) -> [PartitionPosition] {
        try asking { () throws(KafkaError) in try positions(of: partitions) }
    }

    private func readLog(of positions: inout [PartitionPosition]) throws(ToolError) {
        let log = try TopicLog(settings, topic: topic, clientID: Self.clientID)
        defer { log.close() }
        for index in positions.indices {
            let place = positions[index].place
            for laggard in positions[index].unnamed {
                try log.read([place], from: [place.partition: laggard.cursor]) { message throws(ToolError) in
                    if message.offset == laggard.cursor, let name = AppHashNames.Name(message) {
                        positions[index].learn(name)
                    }
                    return false
                }
            }
            guard positions[index].hasLost else { continue }
            try log.read([place]) { message throws(ToolError) in
                positions[index].firstLeft = PartitionPosition.FirstRecord(message)
                return false
            }
        }
    }

    /// Makes out what an order would change.
    ///
    /// - Throws: `ToolError.invalidInput`: the order does not fit the partition.
    public func plan(_ order: PositionOrder) throws(ToolError) -> PositionChange {
        let count = try asking { () throws(KafkaError) in try partitionCount() }
        guard (0..<count).contains(order.partition) else {
            throw .invalidInput(["partition: found \(order.partition); allowed: \((0...count - 1).allowedText)"])
        }
        return try PositionChange(
            order,
            of: current([order.partition])[0],
            metadataBytes: settings.commitMetadataBytes
        )
    }

    /// Commits the new position of a plan.
    ///
    /// - Throws: `ToolError.kafka`: the group has members, or has moved since the plan was made.
    public func carryOut(_ change: PositionChange) throws(ToolError) {
        let place = change.before.place
        let now = try current([place.partition])[0]
        guard now.offset == change.before.offset, now.metadataText == change.before.metadataText else {
            throw .kafka("\(place): the group has committed meanwhile; nothing was changed, look again")
        }
        guard let offset = change.after.offset else { return }
        var properties = settings.adminProperties(clientID: Self.clientID)
        // The name of a member: this is none.
        properties["group.instance.id"] = nil
        let position = KafkaPartitionOffset(place, offset: offset, metadata: change.after.metadataText)
        do throws(KafkaError) {
            try WaitNotice.during("the broker to commit \(position) to group \(groupID)") { () throws(KafkaError) in
                try KafkaConsumer.commit([position], group: groupID, properties: properties)
            }
        } catch {
            guard error.isFencing || error.isFromGroup else { throw ToolError(error) }
            throw .kafka(
                "group \(groupID) has members: stop its workers, and wait until they have left or the session time-out "
                    + "of those that were killed is over; nothing was changed (\(error))"
            )
        }
    }

    private func partitionCount() throws(KafkaError) -> Int32 {
        Int32(try admin.partitionCount(of: topic, timeoutMilliseconds: Self.timeoutMilliseconds))
    }

    private func positions(of partitions: [Int32]) throws(KafkaError) -> [PartitionPosition] {
        let committed = try admin.committed(
            group: groupID,
            partitions.map { KafkaTopicPartition(topic: topic, partition: $0) },
            timeoutMilliseconds: Self.timeoutMilliseconds
        )
        var positions: [PartitionPosition] = []
        for each in committed {
            let log = try admin.watermarks(of: each.place, timeoutMilliseconds: Self.timeoutMilliseconds)
            positions.append(PartitionPosition(each, log: log, known: known))
        }
        return positions
    }

    private func asking<Answer>(_ body: () throws(KafkaError) -> Answer) throws(ToolError) -> Answer {
        do throws(KafkaError) {
            return try WaitNotice.during("the brokers at \(settings.brokers), asked for group \(groupID)", body)
        } catch {
            throw ToolError(asking: error)
        }
    }
}
