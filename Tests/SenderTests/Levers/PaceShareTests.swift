import PushSchemas
import Testing

@testable import Sender

/// The parts of a pace that shards have.
@Suite("Shares of a pace")
struct PaceShareTests {
    private static let bundle = "com.example.news"
    private static let all = Array(Int32(0)..<12)

    private static func share(
        _ share: PaceShare,
        of partitions: [Int32],
        hasShards: Bool = false,
        used: Set<Int32> = []
    ) -> Double {
        share.share(of: partitions, hasShards: hasShards, isUsed: used.contains)
    }

    @Test("A bundle with one key has all of its pace in that key's partition")
    func oneKey() {
        let home = KafkaPartitioner.murmur2Partition(key: Self.bundle, count: 12)
        for spread in [nil, 1] as [UInt32?] {
            let share = PaceShare(bundleID: Self.bundle, spread: spread, partitionCount: 12)
            #expect(Self.share(share, of: [home]) == 1)
            #expect(Self.share(share, of: Self.all.filter { $0 != home }) == 0)
        }
    }

    @Test("A spread bundle's partitions have the shares of the keys in them, and all together the whole pace")
    func spread() {
        let share = PaceShare(bundleID: Self.bundle, spread: 64, partitionCount: 12)
        let sum = Self.all.reduce(0) { $0 + Self.share(share, of: [$1], hasShards: true) }
        #expect(abs(sum - 1) < 1e-9)
        let first = KafkaPartitioner.murmur2Partition(key: "\(Self.bundle)#0", count: 12)
        let keys = (0..<64).count { KafkaPartitioner.murmur2Partition(key: "\(Self.bundle)#\($0)", count: 12) == first }
        #expect(Self.share(share, of: [first], hasShards: true) == Double(keys) / 64)
    }

    @Test("A bundle that is spread without saying so has the same share in each partition")
    func spreadUnsaid() {
        let share = PaceShare(bundleID: Self.bundle, spread: nil, partitionCount: 12)
        #expect(abs(Self.share(share, of: Self.all, hasShards: true) - 1) < 1e-9)
        #expect(Self.share(share, of: [3], hasShards: true) == 1.0 / 12)
    }

    @Test("Records that lie elsewhere than their keys lead go on, at the pace of one partition of all")
    func misplaced() {
        let home = KafkaPartitioner.murmur2Partition(key: Self.bundle, count: 12)
        let other = (home + 1) % 12
        let share = PaceShare(bundleID: Self.bundle, spread: 1, partitionCount: 12)
        #expect(Self.share(share, of: [other], used: [other]) == 1.0 / 12)
    }
}
