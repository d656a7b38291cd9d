import LocalPipeline
import PushSchemas
import Workbench

/// The records that are published: which tokens are in which is a function of seed and number, so that nothing of it
/// has to be remembered.
///
/// Each bundle is spread over ``spread`` keys. The tokens of a record are neighbours in the list of its key's devices,
/// 1 to 100 of them. Every payload carries the record's number as custom key `n`. Records of one key go into all lanes.
struct RequestStream: Sendable {
    /// One record, and how many notifications it is.
    struct Record: Equatable, Sendable {
        /// From 1.
        var number: UInt32
        var topic: Int
        var shard: Int
        /// Place of the first device in the list of its key.
        var start: Int
        var count: Int
        var lane = RequestLane.normal
    }

    static let spread = 4
    static let tokensPerRecord = 1...100
    private static let tokenBytes = SendRequestView.packedTokenBytes
    /// Of a hundred records, those that are urgent.
    static let urgentPercent = 5
    /// And those in bulk.
    private static let bulkPercent = 35

    let topics: [String]
    private let seed: UInt64
    /// Nil: records of all topics are mixed.
    private let campaigns: CampaignPlan?
    /// False: all records are in the normal one.
    let usesLanes: Bool
    /// By topic: 32 bytes per device.
    private let tokens: [[UInt8]]
    /// By topic and shard: its devices, ascending.
    private let members: [[[UInt32]]]
    /// By topic and device: its shard, and its place there.
    private let places: [[(shard: UInt32, place: UInt32)]]

    /// - Parameters:
    ///   - tokens: by topic and device, 32 bytes each.
    ///   - campaigns: nil: records of all topics are mixed.
    ///   - usesLanes: false: all records are in the normal one.
    init(
        seed: UInt64,
        topics: [String],
        tokens: [[[UInt8]]],
        campaigns: CampaignPlan? = nil,
        usesLanes: Bool = false
    ) {
        precondition(topics.count == tokens.count, "tokens for every topic")
        self.seed = seed
        self.usesLanes = usesLanes
        self.campaigns = campaigns
        self.topics = topics
        self.tokens = tokens.map { Array($0.joined()) }
        var members: [[[UInt32]]] = []
        var places: [[(shard: UInt32, place: UInt32)]] = []
        for topic in tokens {
            var lists = [[UInt32]](repeating: [], count: Self.spread)
            places.append(
                topic.enumerated().map { device, token in
                    let shard = token.withUnsafeBytes { RecordKey.shard(of: $0, spread: UInt32(Self.spread)) }
                    lists[Int(shard)].append(UInt32(device))
                    return (shard, UInt32(lists[Int(shard)].count - 1))
                }
            )
            members.append(lists)
        }
        self.members = members
        self.places = places
        precondition(
            members.allSatisfy { $0.allSatisfy { $0.count >= Self.tokensPerRecord.upperBound } },
            "enough devices that no record has one twice"
        )
    }

    func record(_ number: UInt32) -> Record {
        var random = SeededGenerator(seed: seed &+ UInt64(number) &* 0xD6E8_FEB8_6659_FD93)
        let picked = random.pick(0...topics.count - 1)
        let topic = campaigns?.topic(of: number) ?? picked
        let shard = random.pick(0...Self.spread - 1)
        return Record(
            number: number,
            topic: topic,
            shard: shard,
            start: random.pick(0...members[topic][shard].count - 1),
            count: random.pick(Self.tokensPerRecord),
            lane: usesLanes ? Self.lane(random.pick(1...100)) : .normal
        )
    }

    /// - Parameter percent: 1...100.
    private static func lane(_ percent: Int) -> RequestLane {
        if percent <= urgentPercent { return .urgent }
        return percent <= urgentPercent + bulkPercent ? .bulk : .normal
    }

    func key(of record: Record) -> String {
        "\(topics[record.topic])#\(record.shard)"
    }

    /// The tokens of a record, end to end.
    func packedTokens(of record: Record) -> [UInt8] {
        let list = members[record.topic][record.shard]
        var packed: [UInt8] = []
        packed.reserveCapacity(record.count * Self.tokenBytes)
        for index in 0..<record.count {
            let device = Int(list[(record.start + index) % list.count])
            packed += tokens[record.topic][device * Self.tokenBytes..<(device + 1) * Self.tokenBytes]
        }
        return packed
    }

    /// Index of a device's token in a record; nil if it has none.
    func index(of device: UInt32, topic: Int, in record: Record) -> Int? {
        guard topic == record.topic, Int(device) < places[topic].count else { return nil }
        let (shard, place) = places[topic][Int(device)]
        guard Int(shard) == record.shard else { return nil }
        let count = members[topic][record.shard].count
        let index = (Int(place) - record.start + count) % count
        return index < record.count ? index : nil
    }
}
