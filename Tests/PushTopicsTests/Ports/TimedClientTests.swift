import KafkaClient
import PipelineCore
import RedisClient
import Testing

@testable import PipelineTestSupport
@testable import PushTopics
@testable import SimulatedServers

/// Clients that measure.
@Suite struct TimedClientTests {
    /// Turned by the test.
    private final class Clock {
        var now = MonotonicTime(nanoseconds: 1_000_000_000)

        func pass(_ milliseconds: Int64) { now = now + .milliseconds(milliseconds) }
    }

    /// Keeps the numbers of the commands that were answered.
    private final class Receiver: RedisReceiver {
        private(set) var numbers: [Int] = []

        func received(_ result: Result<RedisReply, RedisError>, for number: Int) {
            if case .success = result { numbers.append(number) }
        }
    }

    @Test("Of records in flight one is measured at a time, from its producing to the broker's report")
    func producer() throws {
        let clock = Clock()
        let records = CollectingProducer()
        let producer = TimedProducer(records) { clock.now }
        for opaque: UInt64 in 1...3 {
            try producer.produce(topic: "t", partition: nil, key: nil, value: [1], headers: [], opaque: opaque)
            clock.pass(1)
        }
        #expect(records.records.map(\.number) == [1, 2, 3], "all are handed on")
        for opaque: UInt64 in [3, 1, 2] { producer.noteDelivery(opaque, error: nil) }
        #expect(producer.acknowledgements?.count == 1 && producer.acknowledgements?.sumSeconds == 0.003)
        try producer.produce(topic: "t", partition: nil, key: nil, value: [1], headers: [], opaque: 4)
        clock.pass(5)
        producer.noteDelivery(4, error: nil)
        #expect(producer.acknowledgements?.count == 2 && producer.acknowledgements?.sumSeconds == 0.008)
    }

    @Test("Of commands in flight one is measured at a time; one that fails is no round trip")
    func redis() {
        let clock = Clock()
        let slow = SimulatedRedis()
        let redis = TimedRedis(slow) { clock.now }
        var failures = 0
        for _ in 0..<2 {
            redis.send(slot: RedisSlot(key: "a")) {
                $0.command("PING", argumentCount: 0)
            } _: { result in
                if case .failure = result { failures += 1 }
            }
        }
        clock.pass(4)
        slow.lose()
        #expect(failures == 2 && redis.roundTrips?.count == 0)

        var replies = 0
        for _ in 0..<2 {
            redis.send(slot: RedisSlot(key: "a")) {
                $0.command("PING", argumentCount: 0)
            } _: { result in
                if case .success = result { replies += 1 }
            }
            clock.pass(1)
        }
        slow.answerAll()
        #expect(replies == 2 && redis.roundTrips?.count == 1 && redis.roundTrips?.sumSeconds == 0.002)
    }

    @Test("A command whose outcome goes to a receiver is measured like any other, and completes once")
    func receiver() {
        let clock = Clock()
        let slow = SimulatedRedis()
        let redis = TimedRedis(slow) { clock.now }
        let receiver = Receiver()
        for number in 7...8 {
            let slot = RedisSlot(key: "a")
            redis.send(slot: slot, { $0.command("PING", argumentCount: 0) }, to: receiver, number: number)
        }
        clock.pass(3)
        slow.answerAll()
        #expect(receiver.numbers == [7, 8])
        #expect(redis.roundTrips?.count == 1 && redis.roundTrips?.sumSeconds == 0.003)
    }
}
