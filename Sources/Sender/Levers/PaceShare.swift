import PushSchemas

/// The part of a topic's pace that falls to the partitions of one shard.
///
/// A pace is for all workers together, and workers do not talk to each other. So each partition has the share of the
/// topic's keys that lie in it. Pure.
struct PaceShare: Equatable {
    let spread: UInt32?
    let partitionCount: Int32
    /// The topic's keys by partition.
    private let keys: [Int32: UInt32]

    /// - Parameter spread: over how many keys the topic is spread; nil: not known.
    init(bundleID: String, spread: UInt32?, partitionCount: Int32) {
        self.spread = spread
        self.partitionCount = partitionCount
        var keys: [Int32: UInt32] = [:]
        if let spread, spread > 1 {
            for shard in 0..<spread {
                let key = "\(bundleID)#\(shard)"
                keys[KafkaPartitioner.murmur2Partition(key: key, count: partitionCount), default: 0] += 1
            }
        } else {
            keys[KafkaPartitioner.murmur2Partition(key: bundleID, count: partitionCount)] = 1
        }
        self.keys = keys
    }

    /// The share of some partitions, 0 … 1, or a little more while records lie elsewhere than their keys lead.
    ///
    /// - Parameters:
    ///   - hasShards: keys with a shard were met.
    ///   - isUsed: the partition has records of the topic.
    func share(of partitions: [Int32], hasShards: Bool, isUsed: (Int32) -> Bool) -> Double {
        // A topic that is spread without saying so may lie anywhere.
        let isEverywhere = hasShards && spread == nil
        return partitions.reduce(0) { sum, partition in
            if isEverywhere { return sum + 1 / Double(partitionCount) }
            if let count = keys[partition] { return sum + Double(count) / Double(max(1, spread ?? 1)) }
            // Records of a publisher with another partitioner must not wait for ever.
            return isUsed(partition) ? sum + 1 / Double(partitionCount) : sum
        }
    }
}
