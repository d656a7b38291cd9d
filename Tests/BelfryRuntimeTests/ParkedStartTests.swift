import NIOEmbedded
import Testing

@testable import BelfryRuntime
@testable import KafkaClient
@testable import PipelineCore

/// What an assignment makes of what the ones before left in push.parked.
@Suite("An assignment that takes parked lag over")
struct ParkedStartTests {
    private let source = KafkaTopicPartition(topic: "push.requests", partition: 3)
    private let parked = KafkaTopicPartition(topic: "push.parked", partition: 3)

    private func withShard(_ body: (WorkerShard, ScriptedGroup, EmbeddedEventLoop) throws -> Void) rethrows {
        let eventLoop = EmbeddedEventLoop()
        let group = ScriptedGroup()
        let shard = WorkerShard.scripted(group, on: eventLoop)
        shard.start()
        defer { shard.leave() }
        try body(shard, group, eventLoop)
    }

    /// Lag of one topic from copy 10 on, and segments, as a commit says it.
    private func metadata(_ segments: [ParkedSegments.Segment]) -> String {
        var lags = ParkedLags()
        lags.lags = [.init(topic: 77, cursor: 10)]
        lags.segments = ParkedSegments(segments)
        return lags.encoded(committedOffset: 10, limitBytes: 4096).text
    }

    private func commit(_ group: ScriptedGroup, _ segments: [ParkedSegments.Segment]) {
        group.committedOffset = 0
        group.committedPositions = [
            source: .init(source, offset: 500),
            parked: .init(parked, offset: 10, metadata: metadata(segments)),
        ]
        group.end = 40
    }

    @Test("consumes everything from the committed position on, and says that older copies of it are orphans")
    func takesOver() throws {
        try withShard { shard, group, eventLoop in
            commit(group, [.init(start: 0, source: 0, writer: "w")])
            shard.assign([source])
            let state = try #require(shard.assigned[3])
            #expect(state.startOffset == 500)
            eventLoop.advanceTime(by: .seconds(1))
            let position = try #require(group.commits.first?.first { $0.topic == parked.topic })
            let lags = try ParkedLags(decoding: position.metadata, committedOffset: position.offset)
            #expect(position.offset == 10 && lags.lags.map(\.topic) == [77])
            #expect(
                lags.segments.segments == [
                    .init(start: 10, source: 0, writer: "w"), .init(start: 40, source: 500, writer: "z"),
                ]
            )
        }
    }

    @Test("does what the last one did again, if there is no room to say that there was one more")
    func noRoom() throws {
        try withShard { shard, group, _ in
            commit(group, (0..<64).map { .init(start: 10 + Int64($0), source: 300 + Int64($0), writer: "w") })
            group.end = 100
            shard.assign([source])
            let state = try #require(shard.assigned[3])
            #expect(group.answers.last?.map(\.offset) == [363])
            #expect(state.startOffset == 363)
            let segments = state.parking.segments.segments
            #expect(segments.count == 64)
            #expect(segments.last == .init(start: 73, source: 363, writer: "z"))
        }
    }

    @Test("knows nothing of writers where push.parked was made anew")
    func madeAnew() throws {
        try withShard { shard, group, _ in
            commit(group, [.init(start: 10, source: 0, writer: "v"), .init(start: 50, source: 300, writer: "w")])
            shard.assign([source])
            let state = try #require(shard.assigned[3])
            #expect(state.parking.segments.segments == [.init(start: 40, source: 500, writer: "z")])
        }
    }

    @Test("goes on behind what it had done before, and commits that, where a commit was refused")
    func refused() {
        withShard { shard, group, eventLoop in
            commit(group, [.init(start: 0, source: 0, writer: "w")])
            shard.refused.note([.init(source, offset: 600), .init(parked, offset: 40)])
            shard.assign([source])
            #expect(group.answers.last?.map(\.offset) == [600])
            eventLoop.advanceTime(by: .seconds(1))
            #expect(group.commits.first == [.init(source, offset: 600), .init(parked, offset: 40)])
        }
    }
}
