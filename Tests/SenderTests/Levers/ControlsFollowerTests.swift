import NIOEmbedded
import PipelineCore
import PushTopics
import Testing

@testable import KafkaClient
@testable import PipelineTestSupport
@testable import Sender
@testable import SimulatedServers

/// The follower of push.controls, on a clock and a topic of the test.
@Suite("Follower of push.controls")
struct ControlsFollowerTests {
    private static let isAnother = "push.controls is another topic now; levers that it does not have are off"
    private static let news = AppControls.Name(environment: "sandbox", bundleID: "com.example.news")

    private final class Bench {
        let eventLoop = EmbeddedEventLoop()
        let topic = SimulatedTopic("push.controls")
        let log = LogLines()
        private(set) var told: [AppControls] = []
        private(set) var completeAsOf: MonotonicTime?
        private var follower: ControlsFollower?

        init(_ prepare: (SimulatedTopic) throws -> Void = { _ in }) rethrows {
            try prepare(topic)
            eventLoop.advanceTime(by: .seconds(1))
            let follower = ControlsFollower(
                eventLoop: eventLoop,
                reader: topic,
                topic: topic.name,
                partitions: 1,
                logger: log.logger
            ) { [unowned self] in
                told.append($0)
            } onComplete: { [unowned self] in
                completeAsOf = $0
            }
            self.follower = follower
            follower.start()
            eventLoop.run()
        }

        var age: Duration? { completeAsOf.map { $0.elapsed(until: MonotonicTime(eventLoop.now)) } }

        func wait(milliseconds: Int64) { eventLoop.advanceTime(by: .milliseconds(milliseconds)) }

        func stop() { follower?.stop() }
    }

    private static func pull(_ setting: AppControl.Setting, in topic: SimulatedTopic) throws {
        let value = try ControlRecord.value(setting, of: news, reason: "test")
        topic.append(value, key: ControlRecord.key(setting.lever, of: news))
    }

    private static func turnOff(_ lever: AppControl.Lever, in topic: SimulatedTopic) {
        topic.append(nil, key: ControlRecord.key(lever, of: news))
    }

    @Test("Nothing is told before the topic was read to its end; then all levers at once, and each change")
    func tells() throws {
        let bench = try Bench { topic in
            topic.failure = .closed("broker")
            try Self.pull(.pause, in: topic)
            try Self.pull(.pace(notificationsPerSecond: 7), in: topic)
        }
        defer { bench.stop() }
        bench.wait(milliseconds: 5000)
        #expect(bench.told.isEmpty && bench.age == nil)
        bench.topic.failure = nil
        bench.wait(milliseconds: 2000)
        #expect(bench.told == [bench.told[0]])
        #expect(bench.told[0][Self.news] == AppControl(isPaused: true, notificationsPerSecond: 7))
        Self.turnOff(.pause, in: bench.topic)
        bench.wait(milliseconds: 100)
        #expect(bench.told.count == 2 && bench.told[1][Self.news] == AppControl(notificationsPerSecond: 7))
    }

    @Test("An empty topic has no levers, which is told, too")
    func empty() throws {
        let bench = try Bench()
        defer { bench.stop() }
        #expect(bench.told == [AppControls()])
    }

    @Test("A record that makes no sense sets nothing and is told with its offset; those behind it count")
    func nonsense() throws {
        let bench = try Bench { topic in
            topic.append([1, 2, 3], key: Array("nonsense".utf8))
            topic.append([0xFF], key: ControlRecord.key(.pause, of: Self.news))
            try Self.pull(.pace(notificationsPerSecond: 7), in: topic)
        }
        defer { bench.stop() }
        #expect(bench.told.map { $0[Self.news] } == [AppControl(notificationsPerSecond: 7)])
        let lines = bench.log.metadata(of: "a record of push.controls makes no sense; it sets nothing")
        #expect(lines.map { $0["offset"] } == ["0", "1"])
    }

    @Test("While the broker is away the levers stay, and the age of what is known grows")
    func away() throws {
        let bench = try Bench { try Self.pull(.pause, in: $0) }
        defer { bench.stop() }
        bench.topic.failure = .closed("broker")
        bench.wait(milliseconds: 60_000)
        #expect(bench.told.count == 1)
        #expect(try #require(bench.age) >= .seconds(59))
        bench.topic.failure = nil
        bench.wait(milliseconds: 3000)
        #expect(try #require(bench.age) <= .seconds(3))
    }

    @Test("Another topic under the name is read from its beginning; until its end the levers stay as they were")
    func replaced() throws {
        let bench = try Bench { topic in
            try Self.pull(.pause, in: topic)
            try Self.pull(.pace(notificationsPerSecond: 7), in: topic)
        }
        defer { bench.stop() }
        bench.topic.partitions = [SimulatedTopic.Partition()]
        try Self.pull(.pace(notificationsPerSecond: 9), in: bench.topic)
        bench.wait(milliseconds: 3000)
        #expect(bench.told.last?[Self.news] == AppControl(notificationsPerSecond: 9))
        #expect(bench.told.count == 2, "never without levers in between")
        #expect(bench.log.levels(of: Self.isAnother) == [.critical])
    }

    @Test("A topic that was deleted and comes back with fewer levers is told of as well")
    func deleted() throws {
        let bench = try Bench { try Self.pull(.pause, in: $0) }
        defer { bench.stop() }
        bench.topic.failure = .unknownTopic
        bench.wait(milliseconds: 3000)
        #expect(bench.told.count == 1, "what was told holds")
        bench.topic.partitions = [SimulatedTopic.Partition()]
        bench.topic.failure = nil
        bench.wait(milliseconds: 3000)
        #expect(bench.told.last == AppControls())
        #expect(bench.log.levels(of: Self.isAnother) == [.critical])
    }

    @Test("A topic that is read again and has what it had is no matter")
    func readAgain() throws {
        let bench = try Bench { try Self.pull(.pause, in: $0) }
        defer { bench.stop() }
        bench.topic.partitions[0].notice = (.autoOffsetReset, 1)
        bench.wait(milliseconds: 5000)
        #expect(bench.topic.begins.count == 2 && bench.told.count == 1)
        #expect(bench.log.levels(of: Self.isAnother).isEmpty)
    }

    @Test("A reader that cannot begin tries again")
    func cannotBegin() throws {
        let bench = try Bench { topic in
            try Self.pull(.pause, in: topic)
            topic.beginFailure = .closed("reading")
        }
        defer { bench.stop() }
        bench.wait(milliseconds: 3000)
        #expect(bench.told.isEmpty && bench.topic.begins.count >= 2)
        bench.topic.beginFailure = nil
        bench.wait(milliseconds: 2000)
        #expect(bench.told.map { $0[Self.news].isPaused } == [true])
    }
}
