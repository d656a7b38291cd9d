import KafkaClient
import RequestLanes

/// The Kafka topics of a world's lanes, and numbers for their partitions that no two of them share.
///
/// Each lane has as many partitions, numbered behind those of the lane before. All of a world goes by these numbers but
/// what the clients of Kafka say and hear. Of the normal lane alone they are the partitions' own.
struct LaneMap: Sendable {
    /// Ascending.
    let lanes: [RequestLane]
    private let topics: [String]
    /// Partitions of one lane.
    private let size: Int32

    /// - Parameter partitions: of each lane.
    init(_ lanes: [RequestLane], partitions: Int) {
        self.lanes = lanes
        topics = lanes.map { World.names.requests($0) }
        size = Int32(partitions)
    }

    /// Partitions of all lanes.
    var count: Int { lanes.count * Int(size) }

    var hasSeveral: Bool { lanes.count > 1 }

    func index(of lane: RequestLane) -> Int {
        guard let index = lanes.firstIndex(of: lane) else { preconditionFailure("\(lane) is a lane of the world") }
        return index
    }

    func partitions(of lane: RequestLane) -> Range<Int32> {
        let first = Int32(index(of: lane)) * size
        return first..<first + size
    }

    func lane(of partition: Int32) -> RequestLane { lanes[Int(partition / size)] }

    func place(of partition: Int32) -> KafkaTopicPartition {
        KafkaTopicPartition(topic: topics[Int(partition / size)], partition: partition % size)
    }

    /// Nil: the place belongs to none of the lanes.
    func number(of place: KafkaTopicPartition) -> Int32? {
        guard let lane = topics.firstIndex(of: place.topic), (0..<size).contains(place.partition) else { return nil }
        return Int32(lane) * size + place.partition
    }
}
