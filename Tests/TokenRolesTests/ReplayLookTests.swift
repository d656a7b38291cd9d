import BelfrySupport
import NIOCore
import NIOEmbedded
import PipelineCore
import RedisClient
import Testing

@testable import PipelineTestSupport
@testable import TokenRoles
@testable import TokenState

/// The looks of a ``RecordReplay`` at masters of which some do not answer.
@Suite struct ReplayLookTests {
    /// Masters whose answers the test decides.
    private final class Masters: ReplicationSource {
        let loop = EmbeddedEventLoop()
        var eventLoop: any EventLoop { loop }
        var onMasters: (() -> Void)?
        /// Replication IDs; nil: no answer in time.
        var histories: [RedisAddress: String?]

        init(_ histories: [RedisAddress: String?]) {
            self.histories = histories
        }

        var masterAddresses: [RedisAddress] { histories.keys.sorted() }

        func info(
            _ section: String,
            _ completion: @escaping ([(RedisAddress, Result<RedisInfo, RedisError>)]) -> Void
        ) {
            completion(
                masterAddresses.map { master in
                    guard let history = histories[master] ?? nil else {
                        return (master, .failure(.timeout(after: .seconds(1))))
                    }
                    return (master, .success(RedisInfo("role:master\r\nmaster_replid:\(history)\r\n")))
                }
            )
        }

        /// Lets time pass.
        func pass(_ seconds: Int64) { loop.advanceTime(by: .seconds(seconds)) }

        var now: MonotonicTime { MonotonicTime(loop.now) }
    }

    private let first = RedisAddress(host: "first", port: 1)
    private let second = RedisAddress(host: "second", port: 1)

    @Test("A master that does not answer keeps nobody out of the group for longer than a while, and the log names it")
    func oneSilent() {
        let masters = Masters([first: "a", second: nil])
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
        let masters = Masters([first: "a", second: "b"])
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
