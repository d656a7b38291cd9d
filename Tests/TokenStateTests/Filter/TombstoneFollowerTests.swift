import APNsProtocol
import BelfrySupport
import NIOCore
import NIOEmbedded
import PipelineCore
import Testing

@testable import KafkaClient
@testable import PipelineTestSupport
@testable import SimulatedServers
@testable import TokenState

/// The follower of push.tombstones, on a clock and a topic of the test.
@Suite("Follower of push.tombstones")
struct TombstoneFollowerTests {
    private final class Bench {
        static let maxAge = Duration.seconds(40)

        let eventLoop = EmbeddedEventLoop()
        let topic: SimulatedTopic
        let log = LogLines()
        let filters: DeadTokenSets
        let follower: TombstoneFollower

        /// - Parameter starts: whether it looks by itself.
        init(partitions: Int = 1, starts: Bool = true, _ prepare: (SimulatedTopic) -> Void = { _ in }) {
            topic = SimulatedTopic("push.tombstones", partitions: partitions)
            prepare(topic)
            filters = DeadTokenSets(
                maxAge: Self.maxAge,
                memoryBytes: .max,
                writer: eventLoop,
                readers: [eventLoop],
                logger: log.logger
            ) { environment, _ in environment == TokenStore.environment }
            follower = TombstoneFollower(
                eventLoop: eventLoop,
                reader: topic,
                topic: topic.name,
                partitions: partitions,
                filters: filters,
                logger: log.logger
            )
            // Its beginning stands for a time that is not known.
            eventLoop.advanceTime(by: .seconds(1))
            guard starts else { return }
            follower.start()
            eventLoop.run()
        }

        var now: MonotonicTime { MonotonicTime(eventLoop.now) }
        var isTrusted: Bool { filters.isComplete(now: now) }

        func wait(seconds: Int64) { eventLoop.advanceTime(by: .seconds(seconds)) }

        func stop() { follower.stop() }
    }

    @Test("What the publisher writes of deaths, revivals and removals ends in the filter")
    func reads() throws {
        let bench = Bench(partitions: 2) { topic in
            topic.append(.death(1), .dead(at: 6400))
            topic.append(.death(2), .dead(at: 6400, registeredAt: 6399), to: 1)
            topic.append(.death(3), .dead(at: 6400), to: 1)
        }
        defer { bench.stop() }
        #expect(bench.isTrusted && bench.filters.count == 3)
        #expect(bench.filters.holds(1) && bench.filters.holds(2) && bench.filters.holds(3) && !bench.filters.holds(4))
        bench.topic.append(.death(1), .revived(at: 6400))
        bench.topic.append(.death(2), .revived(at: 6399), to: 1)
        let token = [UInt8](repeating: 3, count: 32)
        bench.topic.append(nil, key: TombstonePublisher.key(bundleID: TokenStore.bundleID, token: token), to: 1)
        bench.wait(seconds: 1)
        #expect(!bench.filters.holds(1) && bench.filters.holds(2) && !bench.filters.holds(3))
    }

    @Test("A token that is dead for some kind of topic is in the filter, until it registers")
    func refusedKind() {
        let refused = TokenFacts(
            registeredAt: 64,
            tombstonedAt: 0,
            reason: .none,
            wasRevived: false,
            refused: [RefusedKind(kind: TopicKind(rawValue: 2), at: 6400)]
        )
        let bench = Bench { $0.append(.death(1), refused) }
        defer { bench.stop() }
        #expect(bench.filters.holds(1))
        bench.topic.append(.death(1), .revived(at: 6400))
        bench.wait(seconds: 1)
        #expect(!bench.filters.holds(1))
    }

    @Test("A record that cannot be read, and one of an environment that is not sent to, hold nothing up")
    func unreadable() {
        let bench = Bench { topic in
            topic.append([0xFF])
            topic.append(nil, key: Array("nonsense".utf8))
            topic.append([0xFF, 0xFF])
            topic.append(.death(1, environment: "elsewhere"), .dead(at: 1))
            topic.append(.death(2), .dead(at: 1))
        }
        defer { bench.stop() }
        #expect(bench.isTrusted && bench.filters.holds(2) && !bench.filters.holds(1) && bench.filters.count == 1)
        #expect(bench.log.messages == ["a record of push.tombstones cannot be read"], "once")
    }

    @Test("A turn takes a part of a long topic, so that the loop's other work has its own; the rest follows at once")
    func longTopic() {
        let bench = Bench(starts: false) { topic in
            for _ in 0..<2500 { topic.append(.death(1), .dead(at: 1)) }
            topic.append(.death(2), .dead(at: 1))
        }
        defer { bench.stop() }
        bench.follower.turn()
        #expect(bench.filters.holds(1) && !bench.filters.holds(2))
        bench.eventLoop.advanceTime(by: .milliseconds(1))
        #expect(bench.filters.holds(2))
    }

    @Test("A reader that cannot begin is tried again at the pace of questions, with a line each")
    func cannotBegin() {
        let bench = Bench { topic in
            topic.append(.death(1), .dead(at: 1))
            topic.beginFailure = .closed("reading")
        }
        defer { bench.stop() }
        bench.wait(seconds: 5)
        // At 0, 1, 2, 3, 4 and 5 s, give or take what the turns' interval makes of it.
        #expect((5...6).contains(bench.topic.begins.count))
        #expect(bench.topic.questions == bench.topic.begins.count)
        #expect(bench.log.messages.count == bench.topic.begins.count)
        #expect(Set(bench.log.messages) == ["push.tombstones cannot be read; trying again"])
        #expect(!bench.isTrusted && !bench.filters.holds(1))
        bench.topic.beginFailure = nil
        bench.wait(seconds: 2)
        #expect(bench.isTrusted && bench.filters.holds(1))
    }

    @Test("While the broker is away the filter ages; too old it is not trusted, and is again once it has caught up")
    func away() throws {
        let bench = Bench { $0.append(.death(1), .dead(at: 1)) }
        defer { bench.stop() }
        let since = try #require(bench.filters.completeSince)
        bench.topic.failure = .closed("watermarks")
        bench.topic.append(.death(2), .dead(at: 1))
        bench.wait(seconds: 39)
        #expect(bench.filters.completeSince == since && bench.isTrusted)
        bench.wait(seconds: 2)
        #expect(bench.filters.completeSince == since, "its age is told on")
        #expect(!bench.isTrusted)
        #expect(bench.log.messages.last { !$0.hasPrefix("the ends") } == Self.tooOld)

        bench.topic.failure = nil
        bench.wait(seconds: 1)
        #expect(bench.isTrusted && bench.filters.holds(1) && bench.filters.holds(2))
        #expect(try #require(bench.filters.completeSince) > since)
        #expect(bench.topic.begins.map(\.offset) == [0], "it went on where it was")
    }

    private static let tooOld = "the filter of dead tokens is too old; Redis is asked for every token"

    @Test("The ends are asked for four times in the filter's longest age, and not more often")
    func questions() {
        let bench = Bench()
        defer { bench.stop() }
        bench.wait(seconds: 9)
        #expect(bench.topic.questions == 1)
        bench.wait(seconds: 2)
        #expect(bench.topic.questions == 2)
    }

    @Test("What is read is complete as of the time before the question, however long the answer takes")
    func slowAnswer() {
        let bench = Bench(starts: false)
        defer { bench.stop() }
        let askedAt = bench.now
        bench.topic.onQuestion = { bench.wait(seconds: 3) }
        bench.follower.turn()
        #expect(bench.filters.completeSince == askedAt && bench.now > askedAt)
    }

    @Test("One that has not come to the end of every partition is not trusted")
    func notAtTheEnd() {
        let bench = Bench(partitions: 2) { topic in
            topic.append(.death(1), .dead(at: 1))
            topic.append(.death(2), .dead(at: 1), to: 1)
            // Held back by the broker.
            topic.partitions[1].end = 2
        }
        defer { bench.stop() }
        bench.wait(seconds: 12)
        #expect(!bench.isTrusted && bench.filters.completeSince == nil && bench.filters.holds(2))
        bench.topic.append(.death(3), .dead(at: 1), to: 1)
        bench.wait(seconds: 1)
        #expect(bench.isTrusted)
    }

    @Test("A topic made anew is read from its beginning before the filter is trusted; known deaths are not forgotten")
    func madeAnew() {
        let bench = Bench { topic in
            for token in 1...5 as ClosedRange<UInt8> { topic.append(.death(token), .dead(at: 1)) }
        }
        defer { bench.stop() }
        bench.topic.partitions[0] = .init()
        bench.topic.append(.death(7), .dead(at: 1))
        // Its other record comes later than the answer that tells of it.
        bench.topic.partitions[0].end = 2
        bench.wait(seconds: 11)
        #expect(bench.topic.begins.map(\.offset) == [0, 0])
        #expect(!bench.isTrusted && bench.filters.completeSince == nil)
        #expect(bench.log.messages == ["push.tombstones is read from its beginning again", Self.tooOld])
        bench.topic.partitions[0].end = 1
        bench.topic.append(.death(8), .dead(at: 1))
        bench.wait(seconds: 1)
        #expect(bench.isTrusted)
        for token in [1, 2, 3, 4, 5, 7, 8] as [UInt8] { #expect(bench.filters.holds(token)) }
        #expect(!bench.filters.holds(6))
    }

    @Test("A topic that is gone for a while is read from its beginning, were it as long as the one before")
    func gone() {
        let bench = Bench { $0.append(.death(1), .dead(at: 1)) }
        defer { bench.stop() }
        bench.topic.failure = .unknownTopic
        bench.topic.partitions[0] = .init()
        bench.topic.append(.death(2), .dead(at: 1))
        bench.wait(seconds: 11)
        #expect(!bench.isTrusted && bench.filters.completeSince == nil)
        bench.topic.failure = nil
        bench.wait(seconds: 2)
        #expect(bench.isTrusted && bench.filters.holds(2) && bench.topic.begins.count == 2)
    }

    @Test("Compaction's holes, and a beginning that moved up to where the reader is, hold nothing up")
    func compacted() {
        let bench = Bench { topic in
            for token in 1...9 as ClosedRange<UInt8> { topic.append(.death(token), .dead(at: 1)) }
            topic.partitions[0].records.removeAll { [0, 3, 4, 7].contains($0.offset) }
        }
        defer { bench.stop() }
        #expect(bench.isTrusted && bench.filters.count == 5)
        bench.topic.partitions[0].start = 9
        bench.topic.partitions[0].records = []
        bench.wait(seconds: 39)
        #expect(bench.isTrusted && bench.topic.begins.count == 1 && bench.log.messages.isEmpty)
        bench.topic.append(.death(1), .dead(at: 1))
        bench.wait(seconds: 1)
        #expect(bench.filters.count == 6)
    }

    @Test("The end of a partition may lie behind its last record, where something was that is no record")
    func partitionEnd() {
        let bench = Bench { topic in
            topic.append(.death(1), .dead(at: 1))
            topic.partitions[0].end = 3
        }
        defer { bench.stop() }
        bench.wait(seconds: 1)
        #expect(!bench.isTrusted)
        bench.topic.partitions[0].notice = (.partitionEnd, 3)
        bench.wait(seconds: 1)
        #expect(bench.isTrusted && bench.topic.begins.count == 1 && bench.log.messages.isEmpty)
    }

    @Test("An offset that is out of range: nothing is trusted until all was read from the beginning, with one line")
    func outOfRange() {
        let bench = Bench(partitions: 2) { topic in
            topic.append(.death(1), .dead(at: 1))
            topic.append(.death(2), .dead(at: 1), to: 1)
        }
        defer { bench.stop() }
        #expect(bench.isTrusted)
        bench.topic.partitions[0].notice = (.autoOffsetReset, 1)
        bench.topic.partitions[1].notice = (.autoOffsetReset, 1)
        bench.eventLoop.advanceTime(by: .milliseconds(100))
        #expect(!bench.isTrusted && bench.filters.completeSince == nil)
        #expect(bench.log.messages == ["push.tombstones is read from its beginning again", Self.tooOld])
        // The rest of the partition.
        bench.topic.partitions[0].start = 5
        bench.topic.partitions[0].end = 5
        bench.topic.append(.death(3), .dead(at: 1))
        bench.wait(seconds: 1)
        #expect(bench.topic.begins.map(\.offset) == [0, 0, 5, 0])
        #expect(bench.isTrusted && bench.filters.holds(3) && bench.filters.count == 3)
    }

    @Test("A filter that is followed no longer is not trusted")
    func stops() {
        let bench = Bench()
        #expect(bench.isTrusted)
        bench.stop()
        #expect(!bench.isTrusted && bench.topic.isClosed)
        bench.wait(seconds: 60)
        #expect(bench.topic.questions == 1)
    }
}
