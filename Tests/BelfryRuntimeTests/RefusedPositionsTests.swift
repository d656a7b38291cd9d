import KafkaClient
import Testing

@testable import BelfryRuntime

@Suite("Positions that were not committed when partitions were given back")
struct RefusedPositionsTests {
    private func position(_ partition: Int32, _ offset: Int64) -> KafkaPartitionOffset {
        KafkaPartitionOffset(topic: "push.requests", partition: partition, offset: offset, metadata: "at \(offset)")
    }

    private func places(_ partitions: [Int32]) -> [KafkaTopicPartition] {
        partitions.map { KafkaTopicPartition(topic: "push.requests", partition: $0) }
    }

    @Test("a partition that comes back at once goes on where it was, with what was done beyond")
    func comesBack() {
        var refused = RefusedPositions()
        refused.note([position(3, 700), position(4, 80)])
        refused.keep(places([3, 4, 5]))
        #expect(refused.furthest(position(3, 500)) == position(3, 700))
        #expect(refused.furthest(position(5, 10)) == position(5, 10))
        // As far by offset: what was done beyond it may be more.
        #expect(refused.furthest(position(4, 80)) == position(4, 80))
    }

    @Test("a partition that somebody else had in between starts where the broker says")
    func wasElsewhere() {
        var refused = RefusedPositions()
        refused.note([position(3, 700)])
        refused.keep(places([4]))
        refused.keep(places([3, 4]))
        #expect(refused.furthest(position(3, 500)) == position(3, 500))
    }

    @Test("who was out of the group believes the broker alone")
    func wasOut() {
        var refused = RefusedPositions()
        refused.note([position(3, 700)])
        refused.forgetAll()
        refused.keep(places([3]))
        #expect(refused.furthest(position(3, 500)) == position(3, 500))
    }

    @Test("a position counts once, and not if the broker is further")
    func once() {
        var refused = RefusedPositions()
        refused.note([position(3, 700), position(4, 80)])
        refused.keep(places([3, 4]))
        #expect(refused.furthest(position(4, 90)) == position(4, 90))
        #expect(refused.furthest(position(3, 500)) == position(3, 700))
        #expect(refused.furthest(position(3, 500)) == position(3, 500))
    }
}
