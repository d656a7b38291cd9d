import KafkaClient
import LocalPipeline
import PushTopics

/// The place of a record in the log of a lane.
struct RequestPlace: Hashable, Sendable, CustomStringConvertible {
    var partition: RequestPartition
    var offset: Int64

    init(_ partition: RequestPartition, _ offset: Int64) {
        self.partition = partition
        self.offset = offset
    }

    /// The place out of which a worker has moved a record: its header, or that of an outcome, tells it. Nil: it was not
    /// moved.
    init?(originOf message: KafkaMessageView, _ names: TopicNames) {
        guard let origin = MovedOrigin(of: message, from: names.requests(.urgent)) else { return nil }
        self.init(RequestPartition(.urgent, origin.partition), origin.offset)
    }

    var description: String { "\(partition)@\(offset)" }
}

/// A partition of requests: one of the Kafka topic of a lane.
struct RequestPartition: Hashable, Sendable, CustomStringConvertible {
    var lane: RequestLane
    var number: Int32

    init(_ lane: RequestLane, _ number: Int32) {
        self.lane = lane
        self.number = number
    }

    /// Nil: the Kafka topic has no requests.
    init?(_ place: KafkaTopicPartition) {
        guard let lane = TopicNames().lane(of: place.topic) else { return nil }
        self.init(lane, place.partition)
    }

    var place: KafkaTopicPartition { KafkaTopicPartition(topic: TopicNames().requests(lane), partition: number) }

    var description: String { "\(place)" }

    /// Its place among those of all lanes; nil: a lane has fewer.
    ///
    /// - Parameter count: of each lane.
    func index(among count: Int) -> Int? {
        (0..<count).contains(Int(number)) ? lane.rank * count + Int(number) : nil
    }

    /// The partitions of all lanes, each at its ``index(among:)``.
    ///
    /// - Parameter count: of each lane.
    static func all(_ count: Int) -> [RequestPartition] {
        RequestLane.allCases.flatMap { lane in (0..<Int32(count)).map { RequestPartition(lane, $0) } }
    }
}
