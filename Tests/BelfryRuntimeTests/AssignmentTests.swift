import NIOEmbedded
import Testing

@testable import BelfryRuntime
@testable import KafkaClient

@Suite("What a shard answers to the group")
struct AssignmentTests {
    private let places = [3, 4].map { KafkaTopicPartition(topic: "push.requests", partition: $0) }

    private func withShard(_ body: (WorkerShard, ScriptedGroup) throws -> Void) rethrows {
        let group = ScriptedGroup()
        let shard = WorkerShard.scripted(group, on: EmbeddedEventLoop())
        shard.start()
        defer { shard.leave() }
        try body(shard, group)
    }

    @Test("partitions start where the group committed")
    func starts() {
        withShard { shard, group in
            group.committedOffset = 500
            shard.assign(places)
            #expect(group.answers.map { $0.map(\.offset) } == [[500, 500]])
            #expect(shard.hasJoined)
        }
    }

    @Test("an assignment of nothing is answered as well: the group waits for it")
    func nothing() {
        withShard { shard, group in
            shard.assign([])
            #expect(group.answers == [[]])
            #expect(shard.hasJoined)
        }
    }

    @Test("after partitions were given back, the assignment of nothing that follows is answered")
    func nothingMore() {
        withShard { shard, group in
            group.committedOffset = 500
            shard.assign(places)
            shard.revoke([places[0]], lost: false)
            #expect(group.revocations == 1)
            shard.assign([])
            #expect(group.answers.count == 2)
            #expect(shard.assigned.keys.sorted() == [4])
        }
    }

    @Test("while the broker does not tell positions nothing is answered, and the shard has not joined")
    func unknownPositions() {
        withShard { shard, group in
            shard.assign(places)
            #expect(group.answers.isEmpty)
            #expect(!shard.hasJoined)
            group.committedOffset = 7
            shard.requestPositions()
            #expect(group.answers.map { $0.map(\.offset) } == [[7, 7]])
        }
    }
}
