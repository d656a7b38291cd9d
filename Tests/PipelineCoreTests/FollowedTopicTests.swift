import PipelineCore
import Testing

@Suite struct FollowedTopicTests {
    private func time(_ seconds: UInt64) -> MonotonicTime { MonotonicTime(nanoseconds: seconds * 1_000_000_000) }

    @Test("What was read is complete as of the question, once every partition has come to the end that was named")
    func completeness() {
        var topic = FollowedTopic(starts: [5, 0])
        #expect(topic.completeAsOf == nil)
        topic.asked(at: time(10), ends: [7, 3])
        topic.advance(0, to: 7)
        topic.advance(1, to: 2)
        #expect(topic.completeAsOf == nil)
        topic.advance(1, to: 4)
        #expect(topic.completeAsOf == time(10))
        topic.asked(at: time(20), ends: [7, 4])
        #expect(topic.completeAsOf == time(20), "nothing came since")
    }

    @Test("A question that is open is not put off by newer ones")
    func openQuestion() {
        var topic = FollowedTopic(starts: [0])
        topic.asked(at: time(1), ends: [10])
        topic.advance(0, to: 5)
        topic.asked(at: time(2), ends: [20])
        topic.advance(0, to: 10)
        #expect(topic.completeAsOf == time(1))
        #expect(topic.isComplete(within: .seconds(3), now: time(4)))
        #expect(!topic.isComplete(within: .seconds(3), now: time(5)))
    }

    @Test("Who begins a partition anew is not complete, whatever was asked before")
    func restart() {
        var topic = FollowedTopic(starts: [0])
        topic.asked(at: time(1), ends: [0])
        #expect(topic.completeAsOf == time(1))
        topic.asked(at: time(2), ends: [9])
        topic.restart(0, at: 3)
        topic.advance(0, to: 9)
        #expect(topic.completeAsOf == nil)
        topic.asked(at: time(4), ends: [9])
        #expect(topic.completeAsOf == time(4))
    }
}
