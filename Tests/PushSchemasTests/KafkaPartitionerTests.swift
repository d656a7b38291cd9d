import PushSchemas
import Testing

@Suite("Partitioner")
struct KafkaPartitionerTests {
    /// Kafka's own vectors (`UtilsTest.testMurmur2` of its Java client).
    static let vectors: [(String, Int32)] = [
        ("21", -973_932_308),
        ("foobar", -790_332_482),
        ("a-little-bit-long-string", -985_981_536),
        ("a-little-bit-longer-string", -1_486_304_829),
        ("lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58_897_971),
        ("abc", 479_470_107),
    ]

    @Test("murmur2 is Java's", arguments: vectors)
    func hash(key: String, expected: Int32) {
        let hash = Array(key.utf8).withUnsafeBytes { KafkaPartitioner.murmur2($0) }
        #expect(Int32(bitPattern: hash) == expected)
    }

    @Test("A negative hash loses its sign bit, as in Java, rather than being negated")
    func sign() {
        #expect(KafkaPartitioner.murmur2Partition(key: "21", count: 12) == (-973_932_308 & 0x7fff_ffff) % 12)
    }

    @Test("An empty key has a partition too")
    func empty() {
        #expect((0..<7).contains(KafkaPartitioner.murmur2Partition(key: "", count: 7)))
    }
}
