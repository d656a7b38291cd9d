import PipelineCore
import PushSchemas
import Testing

@testable import PipelineTestSupport
@testable import Sender
@testable import SimulatedServers

/// Records in partitions to which their keys do not lead.
@Suite("Misplaced records")
struct KeyPlacementTests {
    private static let message =
        "records do not lie in the partitions of their keys: does the publisher use another partitioner?"
    private static let count: Int32 = 6

    /// The brokers, as far as they say how many partitions there are.
    private final class Brokers {
        var count: Int32? = KeyPlacementTests.count
        private(set) var questions = 0
        /// The next answers wait for ``answer()``.
        var holds = false
        private var waiting: [(Int32?) -> Void] = []

        var source: KeyPlacement.Source {
            .init(partitionCount: KeyPlacementTests.count) { [self] then in
                questions += 1
                if holds { waiting.append(then) } else { then(count) }
            }
        }

        func answer() {
            let answers = waiting
            waiting = []
            for then in answers { then(count) }
        }
    }

    private let brokers = Brokers()

    private func bench() -> ShardBench {
        let bench = ShardBench(placement: brokers.source)
        bench.publishedAt = 5000
        return bench
    }

    private func partition(_ key: String) -> Int32 { KafkaPartitioner.murmur2Partition(key: key, count: Self.count) }

    private func wrong(_ key: String) -> Int32 { (partition(key) + 1) % Self.count }

    private func counted(_ bench: ShardBench, _ bundleID: String = ShardBench.news) -> Int? {
        bench.shard.report().topics.first { $0.bundleID == bundleID }?.counters.misplaced
    }

    @Test("Records in a wrong partition are sent, counted, and told once with both partitions")
    func told() throws {
        let bench = bench()
        defer { bench.shard.leave() }
        let (right, wrong) = (partition(ShardBench.news), wrong(ShardBench.news))
        bench.assign(right, wrong)
        try bench.bring((ShardBench.news, [1]), (ShardBench.news, [2]), to: right)
        try bench.bring((ShardBench.news, [3]), (ShardBench.news, [4]), to: wrong)
        bench.wait(milliseconds: 3000)
        #expect(try bench.outcomes().count == 4)
        #expect(counted(bench) == 2)
        try bench.bring((ShardBench.news, [5]), to: wrong)
        bench.wait(milliseconds: 70_000)
        #expect(counted(bench) == 3)
        let told = bench.lines.metadata(of: Self.message)
        #expect(told.count == 1 && bench.lines.levels(of: Self.message) == [.warning])
        #expect(told.first?["app"] == ShardBench.news && told.first?["environment"] == "sandbox")
        #expect(told.first?["partition"] == "\(wrong)" && told.first?["expected"] == "\(right)")
        #expect(told.first?["records"] == "2")
    }

    @Test("Records in the partitions of their keys, and of their shards, cost no question")
    func right() throws {
        let bench = bench()
        defer { bench.shard.leave() }
        bench.assign(0, 1, 2, 3, 4, 5)
        for shard in 0..<8 {
            let key = "\(ShardBench.news)#\(shard)"
            try bench.bring((key, [1]), (key, [2]), to: partition(key))
        }
        try bench.bring((ShardBench.sport, [1]), to: partition(ShardBench.sport))
        bench.wait(milliseconds: 70_000)
        #expect(brokers.questions == 0 && counted(bench) == 0 && counted(bench, ShardBench.sport) == 0)
        // The largest shard that a key can name.
        let key = "\(ShardBench.news)#\(UInt32.max)"
        try bench.bring((key, [1]), to: wrong(key))
        bench.wait(milliseconds: 70_000)
        #expect(counted(bench) == 1)
    }

    @Test("After partitions were added the keys lead elsewhere, and no publisher is accused of what lies as before")
    func growth() throws {
        let bench = bench()
        defer { bench.shard.leave() }
        // Bundles whose key leads elsewhere among twelve partitions.
        let key = try #require(
            (0..<100).map { "com.example.a\($0)" }.first {
                KafkaPartitioner.murmur2Partition(key: $0, count: 12) != partition($0)
            }
        )
        let grown = KafkaPartitioner.murmur2Partition(key: key, count: 12)
        bench.assign(partition(key), grown)
        brokers.count = 12
        try bench.bring((key, [1]), to: grown)
        bench.wait(milliseconds: 70_000)
        #expect(brokers.questions == 1 && counted(bench, key) == 0)
        try bench.bring((key, [2]), to: grown)
        try bench.bring((key, [3]), to: partition(key))
        bench.wait(milliseconds: 70_000)
        #expect(brokers.questions == 1 && counted(bench, key) == 0, "it was published too soon after the change")
        bench.publishedAt = 3_600_000
        try bench.bring((key, [4]), to: grown)
        try bench.bring((key, [5]), to: partition(key))
        bench.wait(milliseconds: 70_000)
        #expect(brokers.questions == 2 && counted(bench, key) == 1)
        #expect(bench.lines.metadata(of: "number of partitions changed") == [["before": "6", "now": "12"]])
    }

    @Test("Records that are read again for a topic that lagged count once")
    func readAgain() throws {
        let bench = bench()
        defer { bench.shard.leave() }
        let wrong = wrong(ShardBench.news)
        bench.assign(wrong)
        bench.gateway.answers[ShardBench.news] = { _ in .missingTopic }
        try bench.bring((ShardBench.news, [1]), (ShardBench.news, [2]), to: wrong)
        bench.wait(milliseconds: 5000)
        #expect(counted(bench) == 2)
        bench.gateway.answers = [:]
        bench.wait(milliseconds: 300_000)
        #expect(!bench.reader.begins.isEmpty, "they were read again")
        #expect(try bench.outcomes().count == 2)
        #expect(counted(bench) == 2)
    }

    @Test("An answer that comes when the shard has left does no harm")
    func late() throws {
        let bench = bench()
        brokers.holds = true
        let wrong = wrong(ShardBench.news)
        bench.assign(wrong)
        try bench.bring((ShardBench.news, [1]), to: wrong)
        bench.wait(milliseconds: 3000)
        #expect(brokers.questions == 1)
        bench.shard.leave()
        brokers.answer()
    }
}
