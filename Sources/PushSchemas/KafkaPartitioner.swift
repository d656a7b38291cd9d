/// Kafka's default partitioner for messages with a key, as in the Java client: all publishers must use it.
public enum KafkaPartitioner {
    private static let multiplier: UInt32 = 0x5bd1_e995
    private static let rotation: UInt32 = 24
    /// Austin Appleby's MurmurHash2 with the seed of Kafka's `Utils.murmur2`.
    private static let seed: UInt32 = 0x9747_b28c

    /// The partition of a key among `count`; the producer's `murmur2_random` picks the same.
    public static func murmur2Partition(key: UnsafeRawBufferPointer, count: Int32) -> Int32 {
        precondition(count > 0, "a topic has at least one partition")
        // Java's `Utils.toPositive`: the sign bit is dropped, not negated.
        return Int32(bitPattern: murmur2(key) & 0x7fff_ffff) % count
    }

    /// The partition of a key given as text, in UTF-8.
    public static func murmur2Partition(key: String, count: Int32) -> Int32 {
        var key = key
        return key.withUTF8 { murmur2Partition(key: UnsafeRawBufferPointer($0), count: count) }
    }

    public static func murmur2(_ key: UnsafeRawBufferPointer) -> UInt32 {
        var hash = seed ^ UInt32(truncatingIfNeeded: key.count)
        var index = 0
        while index + 4 <= key.count {
            var word = UInt32(littleEndian: key.loadUnaligned(fromByteOffset: index, as: UInt32.self))
            word &*= multiplier
            word ^= word >> rotation
            word &*= multiplier
            hash = (hash &* multiplier) ^ word
            index += 4
        }
        if index < key.count {
            for position in index..<key.count {
                hash ^= UInt32(key[position]) << UInt32(8 * (position - index))
            }
            hash &*= multiplier
        }
        hash ^= hash >> 13
        hash &*= multiplier
        hash ^= hash >> 15
        return hash
    }
}
