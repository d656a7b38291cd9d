import Testing

@testable import PipelineCore

@Suite("Records in wrong partitions are told when it is sure that they are wrong")
final class PlacementWatchTests {
    private static let start: Int64 = 1_000_000

    private var watch = PlacementWatch(partitionCount: 6, seenAt: start)

    private func time(_ seconds: Int) -> MonotonicTime { MonotonicTime(nanoseconds: 0) + .seconds(seconds) }

    private func suspect(
        _ offset: Int64,
        topic: Int32 = 3,
        in partition: Int32 = 1,
        expected: Int32 = 4,
        at seconds: Int? = 1
    ) {
        watch.suspect(
            topic: topic,
            found: partition,
            expected: expected,
            offset: offset,
            publishedAt: seconds.map { Self.start + Int64($0) * 1000 }
        )
    }

    private func asks(at seconds: Int) -> Bool { watch.takeQuestion(now: time(seconds)) }

    private func answer(_ count: Int32?, at seconds: Int) -> [PlacementWatch.Misplaced] {
        watch.answered(count, unixMilliseconds: Self.start + Int64(seconds) * 1000, now: time(seconds))
    }

    @Test("Records count once the brokers have said that the number of partitions is the same")
    func confirmed() {
        #expect(!asks(at: 0), "nothing is asked without need")
        suspect(7)
        suspect(9, topic: 2, in: 0, expected: 5)
        suspect(8, in: 2)
        #expect(asks(at: 1))
        #expect(!asks(at: 100), "one question at a time")
        #expect(
            answer(6, at: 2) == [
                .init(topic: 2, records: 1, found: 0, expected: 5, isToBeTold: true),
                .init(topic: 3, records: 2, found: 2, expected: 4, isToBeTold: true),
            ]
        )
    }

    @Test("A record that comes behind the question waits for the next one, a minute later")
    func behindTheQuestion() {
        suspect(7)
        #expect(asks(at: 1))
        suspect(8)
        #expect(answer(6, at: 2).map(\.records) == [1])
        #expect(!asks(at: 60) && asks(at: 61))
        #expect(answer(6, at: 62).map(\.records) == [1])
        #expect(!asks(at: 1000))
    }

    @Test("A topic is counted each time, and told once in ten minutes")
    func alarms() {
        var told: [Bool] = []
        for minute in 1...12 {
            suspect(Int64(minute))
            if minute == 5 { suspect(1, topic: 9, in: 3) }
            #expect(asks(at: minute * 60))
            let found = answer(6, at: minute * 60)
            told.append(found[0].isToBeTold)
            #expect(found.count == (minute == 5 ? 2 : 1))
            if minute == 5 { #expect(found[1].isToBeTold, "each topic has its own time") }
        }
        #expect(told.enumerated().filter(\.element).map(\.offset) == [0, 10])
    }

    @Test("A record that was published before the number was first seen, or at an unknown time, is not judged")
    func older() {
        suspect(7, at: -1)
        suspect(8, at: nil)
        #expect(!asks(at: 1))
        suspect(9, at: 0)
        #expect(asks(at: 1))
    }

    @Test("When partitions were added no publisher is accused, nor for what it does before it learns of it")
    func growth() {
        suspect(7, at: 100)
        #expect(asks(at: 101))
        suspect(8, at: 101)
        #expect(answer(12, at: 102).isEmpty && watch.partitionCount == 12)
        #expect(!asks(at: 200), "what was suspected by the old number is forgotten")
        suspect(9, at: 701)
        #expect(!asks(at: 800))
        suspect(10, at: 702)
        #expect(asks(at: 800))
        #expect(answer(12, at: 801).map(\.records) == [1])
    }

    @Test("Without an answer no publisher is accused, and the broker is asked again")
    func noAnswer() {
        suspect(7)
        #expect(asks(at: 1))
        suspect(8, in: 2)
        #expect(answer(nil, at: 2).isEmpty)
        #expect(!asks(at: 30) && asks(at: 61))
        #expect(answer(6, at: 62) == [.init(topic: 3, records: 2, found: 2, expected: 4, isToBeTold: true)])
    }

    @Test("An answer that there is no partition is none")
    func noPartition() {
        suspect(7)
        #expect(asks(at: 1))
        #expect(answer(0, at: 2).isEmpty && watch.partitionCount == 6)
        #expect(asks(at: 61))
        #expect(answer(6, at: 62).map(\.records) == [1])
    }

    @Test("A record that is read again is not counted again")
    func readAgain() {
        suspect(7)
        suspect(8)
        suspect(7)
        suspect(8)
        suspect(7, in: 2)
        #expect(asks(at: 1))
        suspect(8)
        suspect(9)
        #expect(answer(6, at: 2).map(\.records) == [3])
        #expect(asks(at: 61))
        #expect(answer(6, at: 62).map(\.records) == [1])
    }
}
