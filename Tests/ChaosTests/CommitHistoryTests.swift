import PipelineCore
import Testing

@testable import belfry_chaos

@Suite("What invariant 3 allows to be repeated in a chaos run")
struct CommitHistoryTests {
    private static let topic = AppHash(bundleID: news, environment: "")
    private static let news = "com.example.news"
    private static let other = "com.example.sport"
    private static let place = RequestPartition(.normal, 1)
    private var history = CommitHistory(delaySeconds: 3, patienceSeconds: 2)

    private func isDone(_ offset: Int64, token: UInt32 = 0, of topic: String = news, at second: UInt32) -> Bool {
        history.isDone(.init(offset: offset, token: token), topic: topic, partition: Self.place, before: second)
    }

    private func position(_ laggards: [(topic: AppHash, cursor: Int64)], next: Int64) -> PositionMetadata.Position {
        PositionMetadata.choose(laggards, liveNext: next, limitBytes: 4096) { topic, _ in
            var done = DoneRanges()
            let start = DoneRanges.Position(offset: 12, token: 3)
            if topic == Self.topic { done.append(start..<DoneRanges.Position(offset: 13, token: 0)) }
            return done
        }
    }

    @Test("What a stored position has behind it is done, from as long after it as notifications may be on their way")
    mutating func behindCursor() {
        let stored = position([], next: 20)
        history.note(partition: Self.place, offset: stored.offset, metadata: stored.metadata, second: 100)
        #expect(!isDone(19, at: 103))
        #expect(isDone(19, at: 104))
        #expect(!isDone(20, at: 200))
        #expect(!isDone(19, at: 2))
    }

    @Test("A worker can have found done what was seen stored no later than notifications may be on their way")
    mutating func mayBeDone() {
        let stored = position([], next: 20)
        history.note(partition: Self.place, offset: stored.offset, metadata: stored.metadata, second: 100)
        func mayBeDone(_ offset: Int64, by second: UInt32) -> Bool {
            history.mayBeDone(.init(offset: offset, token: 0), topic: Self.news, partition: Self.place, by: second)
        }
        #expect(mayBeDone(19, by: 97) && !mayBeDone(19, by: 96) && !mayBeDone(20, by: 200))
    }

    @Test("A laggard's own cursor counts for it, and what is marked done beyond it; for others the offset does")
    mutating func laggards() {
        let stored = position([(Self.topic, 10)], next: 20)
        history.note(partition: Self.place, offset: stored.offset, metadata: stored.metadata, second: 100)
        #expect(isDone(9, at: 110) && !isDone(10, at: 110) && !isDone(12, token: 2, at: 110))
        #expect(isDone(12, token: 3, at: 110) && !isDone(13, at: 110))
        #expect(isDone(19, of: Self.other, at: 110))
    }

    @Test("A mark that a later position had no room for counts no more; a cursor does, whatever follows")
    mutating func droppedMark() {
        let marked = position([(Self.topic, 10)], next: 20)
        history.note(partition: Self.place, offset: marked.offset, metadata: marked.metadata, second: 100)
        let bare = PositionMetadata.choose([(Self.topic, 10)], liveNext: 20, limitBytes: 35) { _, _ in DoneRanges() }
        history.note(partition: Self.place, offset: bare.offset, metadata: bare.metadata, second: 106)
        history.note(partition: Self.place, offset: marked.offset, metadata: marked.metadata, second: 106)
        #expect(isDone(12, token: 3, at: 105) && !isDone(12, token: 3, at: 106) && !isDone(12, token: 3, at: 109))
        #expect(isDone(12, token: 3, at: 110), "the last look by then marks it")
        #expect(isDone(9, at: 106))
    }

    @Test("The position that stood there at the time counts, not a later one; partitions and lanes are apart")
    mutating func changes() {
        for (offset, second) in [(20, 100), (20, 150), (30, 160), (31, 160)] as [(Int64, UInt32)] {
            let stored = position([], next: offset)
            history.note(partition: Self.place, offset: stored.offset, metadata: stored.metadata, second: second)
        }
        #expect(!isDone(25, at: 163) && isDone(25, at: 164) && isDone(30, at: 164))
        for other in [RequestPartition(.normal, 0), .init(.urgent, 1), .init(.bulk, 1)] {
            #expect(!history.isDone(.init(offset: 0, token: 0), topic: Self.news, partition: other, before: 200))
        }
    }

    @Test("What the broker does not have any more after a stop may be sent again, from before the stop on")
    mutating func forgotten() {
        for (offset, second) in [(30, 100), (20, 112)] as [(Int64, UInt32)] {
            let stored = position([], next: offset)
            history.note(partition: Self.place, offset: stored.offset, metadata: stored.metadata, second: second)
        }
        #expect(isDone(25, at: 110))
        history.note(.init(start: 104, end: 110))
        #expect(!isDone(25, at: 110) && isDone(19, at: 110))
    }

    @Test("Metadata that no version writes is counted, and nothing is concluded from it")
    mutating func unreadable() {
        history.note(partition: Self.place, offset: 20, metadata: "9;", second: 100)
        history.note(partition: Self.place, offset: -1001, metadata: "", second: 101)
        #expect(history.unreadable == 1)
        #expect(!isDone(0, at: 200))
    }

    @Test("While the broker is away longer than a worker's patience nothing may be sent, until it is back")
    mutating func outage() {
        history.note(.init(start: 100, end: 108))
        #expect(!history.isUnpermitted(at: 105) && history.isUnpermitted(at: 106) && history.isUnpermitted(at: 108))
        #expect(!history.isUnpermitted(at: 109))
    }
}
