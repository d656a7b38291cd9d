import KafkaClient
import LocalPipeline
import Testing

@testable import belfry_chaos

@Suite("The time until a standby takes over, in a chaos run")
struct TakeoverMeterTests {
    private static let place = KafkaTopicPartition(topic: "push.registrations", partition: 0)
    private var meter = TakeoverMeter(session: .seconds(6))

    /// A look at the partition, of which 1000 records are known.
    private mutating func look(_ committed: Int64, at second: Int, of place: KafkaTopicPartition = place) {
        meter.look(place, committed: committed, end: 1000, now: .seconds(second))
    }

    private mutating func signal(_ signal: TakeoverMeter.Signal, at second: Int, holds: Bool = true) {
        meter.signalled("one", by: signal, [Self.place], holds: holds, now: .seconds(second))
    }

    @Test("A kill is measured from the signal to the first position that changes after it")
    mutating func kill() {
        look(10, at: 1)
        signal(.kill, at: 2)
        meter.ended("one")
        look(12, at: 3)
        look(12, at: 8)
        #expect(meter.finished.isEmpty && meter.longest == .seconds(6))
        look(20, at: 9)
        look(30, at: 10)
        #expect(meter.finished == [.init(member: "one", signal: .kill, place: Self.place, time: .seconds(7))])
        #expect(meter.longest == .seconds(7) && meter.late.isEmpty)
    }

    @Test("What a member that was told to stop still commits is no takeover")
    mutating func stop() {
        look(10, at: 1)
        signal(.stop, at: 2)
        for second in 3...5 { look(Int64(10 * second), at: second) }
        #expect(meter.finished.isEmpty)
        meter.ended("one")
        look(60, at: 6)
        look(61, at: 7)
        #expect(meter.finished.map(\.time) == [.seconds(5)])
    }

    @Test("A position that falls has changed: what was applied lately is applied again")
    mutating func again() {
        look(10, at: 1)
        signal(.kill, at: 2)
        meter.ended("one")
        look(10, at: 3)
        look(4, at: 4)
        #expect(meter.finished.count == 1)
    }

    @Test("A group that has no position is no change")
    mutating func noPosition() {
        look(10, at: 1)
        signal(.kill, at: 2)
        meter.ended("one")
        look(10, at: 3)
        look(-1001, at: 4)
        #expect(meter.finished.isEmpty)
    }

    @Test("Time does not count while nothing waits")
    mutating func idle() {
        look(1000, at: 1)
        signal(.kill, at: 2)
        meter.ended("one")
        look(1000, at: 3)
        look(1000, at: 50)
        #expect(meter.longest == .zero && meter.late.isEmpty)
        meter.look(Self.place, committed: 1000, end: 1001, now: .seconds(51))
        meter.look(Self.place, committed: 1001, end: 1001, now: .seconds(53))
        #expect(meter.finished.map(\.time) == [.seconds(2)])
    }

    @Test("Time does not count while a server is away or has just come back")
    mutating func outage() {
        look(10, at: 1)
        signal(.kill, at: 2)
        meter.ended("one")
        look(10, at: 4)
        meter.serverLeft()
        look(10, at: 20)
        meter.serversReturned(now: .seconds(21), settling: .seconds(5))
        look(10, at: 25)
        #expect(meter.longest == .seconds(2))
        look(10, at: 27)
        look(11, at: 28)
        #expect(meter.finished.map(\.time) == [.seconds(4)])
    }

    @Test("A member that never takes over is late, without an end")
    mutating func never() {
        look(10, at: 1)
        signal(.kill, at: 2)
        meter.ended("one")
        look(10, at: 18)
        #expect(meter.late.isEmpty)
        look(10, at: 19)
        #expect(meter.late.map(\.member) == ["one"] && meter.longest == .seconds(17))
    }

    @Test("A signal is measured when another member took over from one that had the partition, not from a standby")
    mutating func measured() {
        look(10, at: 1)
        signal(.kill, at: 2, holds: false)
        meter.ended("one")
        look(10, at: 3)
        look(11, at: 4)
        #expect(meter.finished.count == 1 && meter.unmeasured == [.kill, .stop])
        signal(.kill, at: 5)
        meter.ended("one")
        look(11, at: 6)
        #expect(meter.unmeasured == [.kill, .stop], "under way")
        look(12, at: 7)
        #expect(meter.unmeasured == [.stop])
    }

    @Test("A run of two minutes that measured no takeover of a holder after a signal proves nothing of it")
    mutating func complaints() {
        func complaints(seconds: Int) -> [String] {
            TokenTrial.Result(
                registrations: 1,
                feedback: 1,
                strangeTuples: 0,
                audit: TokenBooks.Audit(),
                takeovers: meter,
                seconds: seconds
            ).complaints
        }
        #expect(complaints(seconds: 119) == [] && complaints(seconds: 120).count == 2)
        look(10, at: 1)
        for signal in TakeoverMeter.Signal.allCases {
            self.signal(signal, at: 2)
            meter.ended("one")
        }
        look(10, at: 3)
        look(11, at: 4)
        #expect(complaints(seconds: 120) == [])
    }

    @Test("Partitions are apart, and without a signal nothing is measured")
    mutating func apart() {
        #expect(meter.longest == nil)
        let other = KafkaTopicPartition(topic: "push.feedback", partition: 0)
        look(10, at: 1)
        signal(.kill, at: 2)
        meter.ended("one")
        look(10, at: 3)
        look(5, at: 4, of: other)
        look(6, at: 5, of: other)
        #expect(meter.finished.isEmpty)
    }
}
