import RedisClient
import Testing

@testable import PipelineTestSupport
@testable import TokenRoles
@testable import TokenState

/// The looks of a ``RecordReplay`` at masters of which some do not answer.
@Suite struct ReplayLookTests {
    private let first = RedisAddress(host: "first", port: 1)
    private let second = RedisAddress(host: "second", port: 1)

    @Test("A silent master keeps no member out of the group for longer than a while, and the log names it")
    func oneSilent() {
        let masters = ScriptedMasters([first: "a", second: nil])
        let lines = LogLines()
        var changes = 0
        let replay = RecordReplay(
            redis: masters,
            window: .seconds(600),
            topic: "push.feedback",
            logger: lines.logger,
            now: { masters.now }
        )
        replay.start { changes += 1 }
        masters.pass(29)
        #expect(!replay.isReady && changes == 0)
        #expect(lines.messages == ["partitions wait for a Redis server"])
        masters.pass(5)
        #expect(replay.isReady && !replay.isDue && changes == 1)
        #expect(lines.messages.dropFirst() == ["partitions begin without a Redis server"])
        masters.pass(60)
        #expect(lines.messages.count == 2 && changes == 1)
        masters.histories[second] = "b"
        masters.pass(5)
        #expect(replay.isDue && changes == 2)
        replay.close()
    }

    @Test("Masters that all answer let partitions begin at once, without a word")
    func allAnswer() {
        let masters = ScriptedMasters([first: "a", second: "b"])
        let lines = LogLines()
        let replay = RecordReplay(
            redis: masters,
            window: .seconds(600),
            topic: "push.feedback",
            logger: lines.logger,
            now: { masters.now }
        )
        replay.start {}
        #expect(replay.isReady && lines.messages.isEmpty)
        replay.close()
    }
}
