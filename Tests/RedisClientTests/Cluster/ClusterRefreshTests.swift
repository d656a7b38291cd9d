import NIOCore
import Testing

@testable import RedisClient

@Suite("When the map of slots is asked for")
struct ClusterRefreshTests {
    private var refresh = ClusterRefresh(
        settings: .init(
            interval: .seconds(30),
            minimumInterval: .seconds(1),
            timeout: .seconds(2),
            delay: { .seconds(Int64($0)) }
        ),
        now: .second(0)
    )

    /// A question is due at that second.
    private mutating func asks(at second: Int64) -> Bool {
        refresh.timerFired(now: .second(second))
    }

    @Test("The first question is asked at once, the next after the interval")
    mutating func interval() {
        var asked = asks(at: 0)
        #expect(asked)
        refresh.succeeded(isSettled: true, now: .second(1))
        #expect(refresh.nextDeadline == .second(31))
        asked = asks(at: 30)
        #expect(!asked)
        asked = asks(at: 31)
        #expect(asked)
    }

    @Test("A hint brings the question forward, a storm of hints only to the minimum interval")
    mutating func hints() {
        _ = asks(at: 0)
        refresh.succeeded(isSettled: true, now: .second(0))
        for _ in 0..<1000 { refresh.request(now: .second(0)) }
        #expect(refresh.nextDeadline == .second(1))
        _ = asks(at: 1)
        refresh.succeeded(isSettled: true, now: .second(1))
        refresh.request(now: .second(10))
        #expect(refresh.nextDeadline == .second(10))
    }

    @Test("A hint during the question asks once more: the answer may be older")
    mutating func hintMeanwhile() {
        _ = asks(at: 0)
        refresh.request(now: .second(0))
        refresh.succeeded(isSettled: true, now: .second(0))
        #expect(refresh.nextDeadline == .second(1))
    }

    @Test("Failures, silence and incomplete maps wait longer each time; a hint does not cut that short")
    mutating func failures() {
        _ = asks(at: 0)
        refresh.failed(now: .second(0))
        #expect(refresh.nextDeadline == .second(1))
        _ = asks(at: 1)
        #expect(refresh.nextDeadline == .second(3))
        // No server answered within the time-out.
        let asked = asks(at: 3)
        #expect(!asked && refresh.nextDeadline == .second(5))
        refresh.request(now: .second(3))
        #expect(refresh.nextDeadline == .second(5))
        _ = asks(at: 5)
        refresh.succeeded(isSettled: false, now: .second(5))
        #expect(refresh.nextDeadline == .second(8))
        _ = asks(at: 8)
        refresh.succeeded(isSettled: true, now: .second(8))
        refresh.request(now: .second(20))
        _ = asks(at: 20)
        refresh.failed(now: .second(20))
        #expect(refresh.nextDeadline == .second(21))
    }

    @Test("An answer that comes when another server was asked meanwhile is too old")
    mutating func lateAnswer() {
        _ = asks(at: 0)
        let first = refresh.question
        #expect(refresh.isAwaiting(first))
        _ = asks(at: 2)
        #expect(!refresh.isAwaiting(first))
        _ = asks(at: 3)
        #expect(!refresh.isAwaiting(first) && refresh.isAwaiting(refresh.question))
    }
}

@Suite("What a cluster keeps back")
struct ParkedCommandsTests {
    private func command(_ slot: UInt16, deadline: NIODeadline?) -> ClusterCommand {
        ClusterCommand(
            slot: RedisSlot(number: slot),
            bytes: ByteBuffer(repeating: 0, count: 10),
            patience: ClusterPatience(deadline: deadline),
            completion: .closure { _ in }
        )
    }

    private func numbers(_ commands: [ClusterCommand]) -> [UInt16] { commands.map(\.slot.number) }

    @Test("It is bounded in number and bytes, and hands out in order, the overdue apart")
    func bounds() {
        var parked = ParkedCommands(limitCommands: 3, limitBytes: 1000)
        parked.append(command(1, deadline: .second(5)), due: .second(9))
        parked.append(command(2, deadline: nil), due: .second(8))
        #expect(!parked.isFull)
        parked.append(command(3, deadline: .second(6)), due: .second(9))
        #expect(parked.isFull)
        let (expired, others) = parked.takeAll(now: .second(5))
        #expect(numbers(expired) == [1] && numbers(others) == [2, 3])
        #expect(!parked.isFull && parked.count == 0 && parked.nextDue == nil)
        var small = ParkedCommands(limitCommands: 100, limitBytes: 20)
        small.append(command(1, deadline: nil), due: .second(1))
        #expect(!small.isFull)
        small.append(command(1, deadline: nil), due: .second(1))
        #expect(small.isFull)
        _ = small.takeAll(now: .second(0))
        #expect(!small.isFull)
    }

    @Test("Each waits for its own time, however long the others do")
    func due() {
        var parked = ParkedCommands(limitCommands: 10, limitBytes: 1000)
        #expect(parked.nextDue == nil)
        parked.append(command(1, deadline: nil), due: .second(7))
        parked.append(command(2, deadline: .second(4)), due: .second(4))
        parked.append(command(3, deadline: nil), due: .second(4) + ParkedCommands.slack)
        #expect(parked.nextDue == .second(4))
        let early = parked.takeDue(now: .second(3))
        #expect(early.expired.isEmpty && early.others.isEmpty)
        let (expired, others) = parked.takeDue(now: .second(4))
        #expect(numbers(expired) == [2] && numbers(others) == [3])
        #expect(parked.nextDue == .second(7) && parked.count == 1)
    }
}
