import PipelineCore
import Testing

@Suite struct FollowedTopicTests {
    private func time(_ seconds: UInt64) -> MonotonicTime { MonotonicTime(nanoseconds: seconds * 1_000_000_000) }

    private func holds(_ extents: Range<Int64>...) -> [FollowedTopic.Extent] {
        extents.map { .init(start: $0.lowerBound, end: $0.upperBound) }
    }

    /// A topic of one partition that was read to its end at second 1.
    private func topic(readTo end: Int64) -> FollowedTopic {
        var topic = FollowedTopic(partitions: 1, interval: .seconds(10))
        _ = topic.answered(holds(0..<end), askedAt: time(1))
        topic.advance(0, to: end)
        return topic
    }

    @Test("Reading begins where the partitions begin, and is complete once every one has come to the end named")
    func completeness() {
        var topic = FollowedTopic(partitions: 2, interval: .seconds(10))
        #expect(topic.isLost && topic.completeAsOf == nil)
        #expect(topic.answered(holds(5..<7, 0..<3), askedAt: time(10)) == .begin(at: [5, 0]))
        #expect(!topic.isLost)
        topic.advance(0, to: 7)
        topic.advance(1, to: 2)
        #expect(topic.completeAsOf == nil)
        topic.advance(1, to: 4)
        #expect(topic.completeAsOf == time(10))
        #expect(topic.answered(holds(5..<7, 0..<4), askedAt: time(20)) == .goOn)
        #expect(topic.completeAsOf == time(20), "nothing came since")
    }

    @Test("A topic that holds nothing is complete as soon as it is known to")
    func empty() {
        var topic = FollowedTopic(partitions: 2, interval: .seconds(10))
        #expect(topic.answered(holds(0..<0, 7..<7), askedAt: time(3)) == .begin(at: [0, 7]))
        #expect(topic.completeAsOf == time(3))
    }

    @Test("A question that is open is not put off by newer ones")
    func openQuestion() {
        var topic = FollowedTopic(partitions: 1, interval: .seconds(10))
        _ = topic.answered(holds(0..<10), askedAt: time(1))
        topic.advance(0, to: 5)
        #expect(topic.answered(holds(0..<20), askedAt: time(2)) == .goOn)
        topic.advance(0, to: 10)
        #expect(topic.completeAsOf == time(1))
        topic.advance(0, to: 20)
        #expect(topic.completeAsOf == time(1), "the end that was named meanwhile is asked for again")
        _ = topic.answered(holds(0..<20), askedAt: time(3))
        #expect(topic.completeAsOf == time(3))
    }

    @Test("The reader does not wait for records that compaction took before or behind it")
    func compaction() {
        var topic = FollowedTopic(partitions: 1, interval: .seconds(10))
        _ = topic.answered(holds(0..<100), askedAt: time(1))
        for offset in [3, 40, 41] as [Int64] { topic.advance(0, to: offset + 1) }
        #expect(topic.answered(holds(42..<100), askedAt: time(2)) == .goOn, "its first segment went")
        #expect(topic.completeAsOf == nil)
        topic.advance(0, to: 100)
        #expect(topic.completeAsOf == time(1))
        topic.advance(0, to: 50)
        #expect(topic.answered(holds(42..<100), askedAt: time(3)) == .goOn)
        #expect(topic.completeAsOf == time(3), "a reader does not read backwards")
    }

    @Test("Records deleted before they were read, or an end that moved back: it begins anew and is not complete")
    func anotherTopic() {
        // Retention overtook the reader.
        var behind = topic(readTo: 9)
        #expect(behind.answered(holds(10..<20), askedAt: time(2)) == .begin(at: [10]))
        #expect(behind.completeAsOf == nil)
        behind.advance(0, to: 19)
        #expect(behind.completeAsOf == nil)
        behind.advance(0, to: 20)
        #expect(behind.completeAsOf == time(2))

        // Made anew, shorter than what was read.
        var shorter = topic(readTo: 9)
        #expect(shorter.answered(holds(0..<5), askedAt: time(2)) == .begin(at: [0]))
        #expect(shorter.completeAsOf == nil)
        shorter.advance(0, to: 5)
        #expect(shorter.completeAsOf == time(2))

        // Longer than at the last question, shorter than what was read since.
        var since = topic(readTo: 9)
        since.advance(0, to: 30)
        #expect(since.answered(holds(0..<29), askedAt: time(2)) == .begin(at: [0]))

        // Longer than what was read, shorter than it was.
        var unread = FollowedTopic(partitions: 1, interval: .seconds(10))
        _ = unread.answered(holds(0..<100), askedAt: time(1))
        unread.advance(0, to: 10)
        #expect(unread.answered(holds(0..<50), askedAt: time(2)) == .begin(at: [0]))
        unread.advance(0, to: 50)
        #expect(unread.completeAsOf == time(2), "the old end is not waited for")

        // Shorter than it was told to be since.
        var grown = FollowedTopic(partitions: 1, interval: .seconds(10))
        _ = grown.answered(holds(0..<100), askedAt: time(1))
        #expect(grown.answered(holds(0..<200), askedAt: time(2)) == .goOn)
        #expect(grown.answered(holds(0..<150), askedAt: time(3)) == .begin(at: [0]))

        // One partition is enough.
        var second = FollowedTopic(partitions: 2, interval: .seconds(10))
        _ = second.answered(holds(0..<0, 0..<3), askedAt: time(1))
        second.advance(1, to: 3)
        #expect(second.answered(holds(0..<0, 0..<2), askedAt: time(2)) == .begin(at: [0, 0]))
    }

    @Test("A reader that cannot go on is not complete until it has come to the end again, whatever was asked before")
    func lost() {
        var topic = topic(readTo: 9)
        _ = topic.answered(holds(0..<20), askedAt: time(2))
        topic.lost(now: time(3))
        #expect(topic.isLost && topic.completeAsOf == nil)
        topic.advance(0, to: 20)
        #expect(topic.isLost && topic.completeAsOf == nil)
        #expect(topic.answered(holds(4..<20), askedAt: time(4)) == .begin(at: [4]))
        #expect(topic.completeAsOf == nil)
        topic.advance(0, to: 20)
        #expect(topic.completeAsOf == time(4))
    }

    @Test("A topic that is gone is another one if it comes back; a broker that does not answer changes nothing")
    func gone() {
        var topic = topic(readTo: 9)
        topic.notAnswered(now: time(2), isGone: false)
        #expect(!topic.isLost && topic.completeAsOf == time(1))
        topic.notAnswered(now: time(3), isGone: true)
        #expect(topic.isLost && topic.completeAsOf == nil)
        #expect(topic.answered(holds(0..<9), askedAt: time(4)) == .begin(at: [0]))
        #expect(topic.completeAsOf == nil)
    }

    @Test("It asks at once, then at its interval, and a second after a failure if that is sooner")
    func questions() {
        var topic = FollowedTopic(partitions: 1, interval: .seconds(10))
        #expect(topic.isQuestionDue(now: time(0)))
        _ = topic.answered(holds(0..<9), askedAt: time(5))
        #expect(!topic.isQuestionDue(now: time(14)) && topic.isQuestionDue(now: time(15)))
        topic.notAnswered(now: time(20), isGone: false)
        #expect(!topic.isQuestionDue(now: time(20)) && topic.isQuestionDue(now: time(21)))
        _ = topic.answered(holds(0..<9), askedAt: time(21))
        topic.lost(now: time(22))
        #expect(!topic.isQuestionDue(now: time(22)) && topic.isQuestionDue(now: time(23)))
        topic.lost(now: time(23))
        #expect(topic.isQuestionDue(now: time(23)), "that it is still lost puts nothing off")

        var hasty = FollowedTopic(partitions: 1, interval: .milliseconds(250))
        hasty.notAnswered(now: time(1), isGone: true)
        let soon = time(1) + .milliseconds(250)
        #expect(!hasty.isQuestionDue(now: time(1)) && hasty.isQuestionDue(now: soon))
    }
}
