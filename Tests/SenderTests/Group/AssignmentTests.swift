import NIOEmbedded
import Testing

@testable import KafkaClient
@testable import Sender
@testable import SimulatedServers

@Suite("What a shard answers to the group")
struct AssignmentTests {
    private let places = [3, 4].map { KafkaTopicPartition(topic: "push.requests", partition: $0) }

    private func withShard(_ body: (WorkerShard, SimulatedMember, EmbeddedEventLoop) throws -> Void) rethrows {
        let eventLoop = EmbeddedEventLoop()
        let group = SimulatedMember(on: eventLoop, topic: "push.requests")
        let shard = WorkerShard.scripted(group, on: eventLoop)
        shard.start()
        defer { shard.leave() }
        try body(shard, group, eventLoop)
    }

    @Test("Partitions start where the group committed")
    func starts() {
        withShard { shard, group, eventLoop in
            group.committedOffset = 500
            shard.assign(places)
            #expect(group.answers.isEmpty && !shard.stages.group.hasJoined, "the broker is asked first")
            eventLoop.run()
            #expect(group.answers.map { $0.map(\.offset) } == [[500, 500]])
            #expect(shard.stages.group.hasJoined)
        }
    }

    @Test("An assignment of nothing is answered as well: the group waits for it")
    func nothing() {
        withShard { shard, group, _ in
            shard.assign([])
            #expect(group.answers == [[]])
            #expect(shard.stages.group.hasJoined)
        }
    }

    @Test("After partitions were given back, the assignment of nothing that follows is answered")
    func nothingMore() {
        withShard { shard, group, eventLoop in
            group.committedOffset = 500
            shard.assign(places)
            eventLoop.run()
            shard.revoke([places[0]], lost: false)
            eventLoop.run()
            #expect(group.revocations == 1)
            shard.assign([])
            #expect(group.answers.count == 2)
            #expect(shard.stages.group.assigned.keys.sorted() == [4])
        }
    }

    @Test("A rebalance leaves a shard ready, but not one that does not end; a shard without partitions stands by")
    func rejoining() {
        withShard { shard, group, eventLoop in
            group.committedOffset = 7
            #expect(!shard.report().hasJoined)
            shard.assign(places)
            eventLoop.run()
            shard.revoke(places, lost: false)
            eventLoop.advanceTime(by: .seconds(30))
            #expect(group.revocations == 1)
            #expect(shard.report().hasJoined)
            eventLoop.advanceTime(by: .seconds(60))
            #expect(!shard.report().hasJoined)
            shard.assign([])
            #expect(shard.report().hasJoined)
        }
    }

    @Test("While the broker does not tell positions nothing is answered, and the shard has not joined")
    func unknownPositions() {
        withShard { shard, group, eventLoop in
            group.isAway = true
            shard.assign(places)
            eventLoop.advanceTime(by: .seconds(10))
            #expect(group.answers.isEmpty)
            #expect(!shard.stages.group.hasJoined)
            group.isAway = false
            group.committedOffset = 7
            eventLoop.advanceTime(by: .seconds(1))
            #expect(group.answers.map { $0.map(\.offset) } == [[7, 7]])
        }
    }

    @Test(
        "An assignment that was taken back whole is answered, though the question about it fails",
        arguments: [false, true]
    )
    func takenBackWhole(lost: Bool) {
        withShard { shard, group, eventLoop in
            group.isAway = true
            shard.assign(places)
            shard.revoke(places, lost: lost)
            eventLoop.advanceTime(by: .seconds(10))
            #expect(group.answers == [[]], "the group waits for it")
            #expect(group.revocations == 1 && shard.stages.group.assigned.isEmpty)
            group.isAway = false
            group.committedOffset = 7
            shard.assign([places[1]])
            eventLoop.run()
            #expect(group.answers.map { $0.map(\.offset) } == [[], [7]])
        }
    }

    @Test("A partition that is taken back before the broker told its position is not begun")
    func takenBack() {
        withShard { shard, group, eventLoop in
            group.committedOffset = 7
            shard.assign(places)
            shard.revoke([places[0]], lost: true)
            eventLoop.advanceTime(by: .seconds(2))
            #expect(shard.stages.group.assigned.keys.sorted() == [4])
            #expect(group.answers.map { $0.map(\.partition) } == [[4]])
        }
    }
}
