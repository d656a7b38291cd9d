import TestSupport
import Testing

@testable import PipelineCore

/// One partition with many topics, random credit, both readers, rewinds and take-overs.
@Suite struct PartitionModelTests {
    @Test(
        "Each record is taken in once, in order; a take-over skips what is done and repeats nothing said to be done",
        arguments: trials(150)
    )
    func run(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var partition = ModelPartition(random: &random)
        var assignment = try ModelAssignment(partition, near: 0)
        let topics = Set(partition.log.map(\.topic)).sorted()
        for _ in 0..<random.pick(100...700) {
            switch random.pick(0...99) {
            case 0..<20:
                partition.visible = min(partition.log.count, partition.visible + random.pick(1...20))
            case 20..<45:
                for _ in 0..<random.pick(1...20) { assignment.live(partition) }
            case 45..<65:
                assignment.catchUp(partition, records: random.pick(1...30), enough: random.pick(1...20))
            case 65..<80:
                let open = assignment.open.shuffled(using: &random)
                for each in open.prefix(random.pick(0...open.count)) {
                    assignment.settle(each.topic, each.number, each.token, &partition)
                }
            case 80..<86:
                let topic = topics[random.pick(0...topics.count - 1)]
                if assignment.stopped.remove(topic) == nil { assignment.stopped.insert(topic) }
            case 86..<90:
                assignment.rewind(topics[random.pick(0...topics.count - 1)])
            case 90..<97:
                try assignment.commit(&partition)
            default:
                assignment = try ModelAssignment(partition, near: random.chance(50) ? 500 : 0)
            }
        }
        // All works again, and no more comes.
        partition.visible = partition.log.count
        assignment.stopped = []
        var rounds = 0
        while partition.committed.offset < partition.end || partition.committed.metadata != "3;" {
            for _ in 0..<20 { assignment.live(partition) }
            assignment.catchUp(partition, records: 50, enough: 50)
            for each in assignment.open { assignment.settle(each.topic, each.number, each.token, &partition) }
            try assignment.commit(&partition)
            rounds += 1
            try #require(rounds < 2000, "some topic is never fed")
        }
        let all = partition.log.flatMap { record in (0..<record.tokens).map { record.position($0) } }
        #expect(partition.settled == Set(all))
    }

    @Test("A topic that does not work holds up no other: all others are taken in by the live reader")
    func isolation() throws {
        var random = SeededGenerator(seed: 5)
        var partition = ModelPartition(random: &random)
        let topics = Set(partition.log.map(\.topic)).sorted()
        try #require(topics.count > 2)
        var assignment = try ModelAssignment(partition, near: 0)
        assignment.stopped = [topics[0]]
        partition.visible = partition.log.count
        for _ in partition.log {
            assignment.live(partition)
            for each in assignment.open { assignment.settle(each.topic, each.number, each.token, &partition) }
        }
        try assignment.commit(&partition)
        let told = try PositionMetadata(
            decoding: partition.committed.metadata,
            committedOffset: partition.committed.offset
        )
        #expect(partition.committed.offset == (partition.log.last?.offset ?? 0) + 1)
        #expect(told.laggards.map(\.topic) == [topics[0]])
        #expect(told.laggards.map(\.cursor) == [partition.log.first { $0.topic == topics[0] }?.offset])
    }
}
