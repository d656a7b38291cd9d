import KafkaClient
import PushSchemas

/// Publishes records of 500 tokens of one bundle into one lane, from values that are ready made. Used by one thread.
final class RecordStream {
    static let tokensPerRecord = 500
    /// The largest record, as a broker keeps it.
    static let recordBytes = tokensPerRecord * SendRequestView.packedTokenBytes + 200

    /// Notifications.
    private(set) var published = 0
    private let topic: String
    private let keys: LaneKeys
    /// As the keys.
    private var requests: [[NumberedRequest]]
    private var next = 0

    /// - Parameters:
    ///   - topic: the lane's.
    ///   - keys: each with at least as many tokens as a record has.
    init(topic: String, keys: LaneKeys) throws {
        self.topic = topic
        self.keys = keys
        requests = try keys.places.map { try $0.map(RecordStream.request) }
    }

    private static func request(to key: LaneKeys.Key) throws -> NumberedRequest {
        guard key.count >= tokensPerRecord else {
            throw BenchmarkError("\(key.count) tokens of a key: too few for a record")
        }
        return try NumberedRequest(tokens: key.slice(0..<tokensPerRecord))
    }

    func publishNext(through producer: KafkaProducer) throws {
        let (place, key) = keys.key(ofRecord: next)
        requests[place][key].setNumber(next)
        try producer.produce(
            topic: topic,
            key: keys.places[place][key].name,
            value: requests[place][key].value
        )
        next += 1
        published += Self.tokensPerRecord
    }

    /// Most notifications of a bundle that a partition of the embedded broker keeps, and with it all partitions to
    /// which the bundle's keys lead. It keeps 5 MiB, and would drop the oldest record silently.
    static func kept(of bundleID: String, partitions: Int) -> Int {
        let perPartition = keptBytes / recordBytes * tokensPerRecord
        return LaneKeys.usedPartitions(of: bundleID, among: partitions) * perPartition
    }

    /// Leaves room for what the broker adds to records.
    private static let keptBytes = (5 << 20) * 17 / 20
}
