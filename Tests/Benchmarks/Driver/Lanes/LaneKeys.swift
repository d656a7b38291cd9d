import PushSchemas

/// The keys of a bundle by the partitions that they lead to, each with the tokens that have it by the contract.
struct LaneKeys: Sendable {
    struct Key: Equatable, Sendable {
        /// As it is published.
        var name: [UInt8]
        var partition: Int32
        /// 32 bytes each, end to end.
        var tokens: [UInt8]

        /// Some of the tokens, end to end.
        func slice(_ places: Range<Int>) -> [UInt8] {
            let bytes = SendRequestView.packedTokenBytes
            return Array(tokens[places.lowerBound * bytes..<places.upperBound * bytes])
        }

        var count: Int { tokens.count / SendRequestView.packedTokenBytes }
    }

    /// Keys of the bundle. Some partitions have none of them.
    static let spread: UInt32 = 256

    /// The keys of each partition that has some, the partitions in order.
    let places: [[Key]]

    init(bundleID: String, tokens: [[UInt8]], partitions: Int) {
        var tokensOfKeys = [[UInt8]](repeating: [], count: Int(Self.spread))
        for token in tokens {
            let shard = token.withUnsafeBytes { RecordKey.shard(of: $0, spread: Self.spread) }
            tokensOfKeys[Int(shard)] += token
        }
        var places: [Int32: [Key]] = [:]
        for (shard, tokens) in tokensOfKeys.enumerated() where !tokens.isEmpty {
            let name = Self.name(bundleID, shard)
            let partition = KafkaPartitioner.murmur2Partition(key: name, count: Int32(partitions))
            places[partition, default: []].append(Key(name: Array(name.utf8), partition: partition, tokens: tokens))
        }
        self.places = places.sorted { $0.key < $1.key }.map { $0.value }
    }

    /// The key of a record, as indices into ``places``: partitions have their turns, and in each of them its keys, so
    /// that a backlog fills all of them evenly.
    ///
    /// - Parameter number: of the record, from 0.
    func key(ofRecord number: Int) -> (place: Int, key: Int) {
        let place = number % places.count
        return (place, number / places.count % places[place].count)
    }

    /// The number of partitions to which keys of a bundle lead.
    static func usedPartitions(of bundleID: String, among partitions: Int) -> Int {
        let used = (0..<Int(spread)).map {
            KafkaPartitioner.murmur2Partition(key: name(bundleID, $0), count: Int32(partitions))
        }
        return Set(used).count
    }

    private static func name(_ bundleID: String, _ shard: Int) -> String { "\(bundleID)#\(shard)" }
}
