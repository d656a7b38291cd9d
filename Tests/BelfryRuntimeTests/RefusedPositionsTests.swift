import KafkaClient
import Testing

@testable import BelfryRuntime

@Suite("Positions that were not committed when partitions were given back")
struct RefusedPositionsTests {
    private func position(_ partition: Int32, _ offset: Int64) -> KafkaPartitionOffset {
        KafkaPartitionOffset(topic: "push.requests", partition: partition, offset: offset, metadata: "at \(offset)")
    }

    private func parked(_ partition: Int32, _ offset: Int64) -> KafkaPartitionOffset {
        KafkaPartitionOffset(topic: "push.parked", partition: partition, offset: offset)
    }

    /// Where to go on in push.requests with a partition that the broker says was committed up to an offset.
    private func source(_ partition: Int32, _ offset: Int64, after refused: RefusedPositions) -> KafkaPartitionOffset {
        refused.furthest(AssignmentStart(source: position(partition, offset), parked: parked(partition, 0))).source
    }

    private func places(_ partitions: [Int32]) -> [KafkaTopicPartition] {
        partitions.map { KafkaTopicPartition(topic: "push.requests", partition: $0) }
    }

    @Test("a partition that comes back at once goes on where it was, with what was done beyond")
    func comesBack() {
        var refused = RefusedPositions()
        refused.note([position(3, 700), position(4, 80)])
        refused.keep(places([3, 4, 5]))
        #expect(source(3, 500, after: refused) == position(3, 700))
        #expect(source(5, 10, after: refused) == position(5, 10))
        // As far by offset: what was done beyond it may be more.
        #expect(source(4, 80, after: refused) == position(4, 80))
    }

    @Test("a partition that somebody else had in between starts where the broker says")
    func wasElsewhere() {
        var refused = RefusedPositions()
        refused.note([position(3, 700)])
        refused.keep(places([4]))
        refused.keep(places([3, 4]))
        #expect(source(3, 500, after: refused) == position(3, 500))
    }

    @Test("who was out of the group believes the broker alone")
    func wasOut() {
        var refused = RefusedPositions()
        refused.note([position(3, 700)])
        refused.forgetAll()
        refused.keep(places([3]))
        #expect(source(3, 500, after: refused) == position(3, 500))
    }

    @Test("a position counts once, and not if the broker is further")
    func once() {
        var refused = RefusedPositions()
        refused.note([position(3, 700), position(4, 80)])
        refused.keep(places([3, 4]))
        #expect(source(4, 90, after: refused) == position(4, 90))
        #expect(source(3, 500, after: refused) == position(3, 700))
        refused.forget(AssignmentStart(source: position(3, 700), parked: parked(3, 0)))
        #expect(source(3, 500, after: refused) == position(3, 500))
    }

    @Test("where copies lie goes with the position that counts them as done")
    func together() {
        var refused = RefusedPositions()
        refused.note([position(3, 700), parked(3, 60), position(4, 80), parked(4, 7), position(5, 9)])
        refused.keep(places([3, 4, 5]))
        func start(_ partition: Int32, _ offset: Int64) -> AssignmentStart {
            refused.furthest(AssignmentStart(source: position(partition, offset), parked: parked(partition, 90)))
        }
        #expect(start(3, 500) == AssignmentStart(source: position(3, 700), parked: parked(3, 60), isRefused: true))
        #expect(start(4, 500) == AssignmentStart(source: position(4, 500), parked: parked(4, 90)))
        #expect(start(5, 8) == AssignmentStart(source: position(5, 9), parked: parked(5, 90), isRefused: true))
    }
}
