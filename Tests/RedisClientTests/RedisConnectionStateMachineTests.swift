import NIOCore
import Testing

@testable import RedisClient

@Suite("Decisions of a Redis connection")
struct RedisConnectionStateMachineTests {
    @Test("It connects on start, once")
    func startsOnce() {
        let machine = TestMachine()
        #expect(machine.start())
        #expect(!machine.start())
    }

    @Test("Commands flow only after the last reply of the handshake")
    func handshake() {
        let machine = TestMachine(handshake: [.authenticate, .select, .ping])
        _ = machine.start()
        #expect(!machine.enqueue(1))
        guard case .shakeHands = machine.connected(now: .second(0)) else {
            Issue.record("no handshake")
            return
        }
        for _ in 0..<2 {
            guard case .none = machine.replied(error: nil) else {
                Issue.record("the handshake is not over")
                return
            }
            #expect(machine.flush(now: .second(0), isWritable: true) == 0)
        }
        guard case .ready = machine.replied(error: nil) else {
            Issue.record("the handshake is over")
            return
        }
        #expect(machine.flush(now: .second(0), isWritable: true) == 10)
    }

    @Test(
        "An error reply to any step but the name refuses the connection",
        arguments: [
            TestMachine.Machine.HandshakeStep.authenticate, .select, .ping,
        ]
    )
    func refused(step: TestMachine.Machine.HandshakeStep) {
        let machine = TestMachine(handshake: step == .ping ? [.ping] : [step, .ping])
        _ = machine.start()
        _ = machine.connected(now: .second(0))
        let error = RedisError.server(prefix: "ERR", message: "no")
        guard case .refused(step, error) = machine.replied(error: error) else {
            Issue.record("not refused")
            return
        }
    }

    @Test("A server that forbids naming is used all the same")
    func nameRefused() {
        let machine = TestMachine(handshake: [.setName, .ping])
        _ = machine.start()
        _ = machine.connected(now: .second(0))
        _ = machine.replied(error: .server(prefix: "NOPERM", message: ""))
        _ = machine.replied(error: nil)
        #expect(machine.isReady)
    }

    @Test("A server without room for one more client says so in place of the first answer, whatever was asked")
    func tooManyClients() {
        let error = RedisError.server(text: "ERR max number of clients reached")
        let machine = TestMachine(handshake: [.setName, .ping])
        _ = machine.start()
        _ = machine.connected(now: .second(0))
        guard case .refused(.setName, error) = machine.replied(error: error) else {
            Issue.record("taken for a matter of the name")
            return
        }
    }

    @Test("Commands of one turn leave in one flush, in order")
    func oneFlush() {
        let machine = TestMachine()
        machine.becomeReady()
        #expect(machine.enqueue(1, bytes: 3))
        #expect(!machine.enqueue(2, bytes: 4))
        #expect(machine.flush(now: .second(0), isWritable: true) == 7)
        #expect(machine.enqueue(3, bytes: 5))
        #expect(machine.flush(now: .second(0), isWritable: true) == 5)
        #expect([machine.completedByReply(), machine.completedByReply(), machine.completedByReply()] == [1, 2, 3])
    }

    @Test("A channel that takes no more leaves commands waiting")
    func unwritable() {
        let machine = TestMachine()
        machine.becomeReady()
        _ = machine.enqueue(1)
        #expect(machine.flush(now: .second(0), isWritable: false) == 0)
        #expect(machine.waitingCount == 1 && machine.inFlightCount == 0)
        #expect(machine.flush(now: .second(0), isWritable: true) == 10)
    }

    @Test("No more than the limit are in flight; the rest follows when there is room")
    func inFlightLimit() {
        let machine = TestMachine(inFlightLimitCommands: 2)
        machine.becomeReady()
        for command in 1...3 { _ = machine.enqueue(command, bytes: command) }
        #expect(machine.flush(now: .second(0), isWritable: true) == 3)
        #expect(machine.flush(now: .second(0), isWritable: true) == 0)
        #expect(machine.completedByReply() == 1)
        #expect(machine.flush(now: .second(0), isWritable: true) == 3)
    }

    @Test("Commands handed to a lost channel may have run; the others go out on the next one")
    func lost() {
        let machine = TestMachine()
        machine.becomeReady()
        _ = machine.enqueue(1)
        _ = machine.flush(now: .second(0), isWritable: true)
        _ = machine.enqueue(2)
        let loss = machine.lost(reason: "reset")
        #expect(loss?.failed.map(\.completion) == [1])
        #expect(loss?.failed.map(\.error) == [.maybeExecuted(reason: "reset")])
        machine.becomeReady()
        #expect(machine.flush(now: .second(0), isWritable: true) == 10)
        #expect(machine.completedByReply() == 2)
    }

    @Test("Attempts count the failures in a row, from 1 on, and again from 1 after commands flowed")
    func attempts() {
        let machine = TestMachine()
        _ = machine.start()
        #expect(machine.lost(reason: "refused")?.attempt == 1)
        #expect(machine.backOffElapsed())
        _ = machine.connected(now: .second(0))
        #expect(machine.lost(reason: "refused")?.attempt == 2)
        machine.becomeReady()
        #expect(machine.lost(reason: "reset")?.attempt == 1)
    }

    @Test("A loss is told once, and a second back-off does not connect twice")
    func lostOnce() {
        let machine = TestMachine()
        #expect(machine.lost(reason: "") == nil)
        machine.becomeReady()
        #expect(machine.lost(reason: "") != nil)
        #expect(machine.lost(reason: "") == nil)
        #expect(machine.backOffElapsed())
        #expect(!machine.backOffElapsed())
    }

    @Test("Too many waiting commands, or bytes, are refused at once with the reason for the wait")
    func boundedQueue() {
        let byCount = TestMachine(waitingLimitCommands: 2)
        _ = byCount.start()
        _ = byCount.lost(reason: "host down")
        _ = byCount.enqueue(1)
        _ = byCount.enqueue(2)
        guard case .notSent(let reason) = byCount.admit() else {
            Issue.record("not refused")
            return
        }
        #expect(reason.contains("host down") && reason.contains("2 commands"))

        let byBytes = TestMachine(waitingLimitBytes: 15)
        _ = byBytes.enqueue(1, bytes: 14)
        _ = byBytes.enqueue(2, bytes: 100)
        guard case .notSent = byBytes.admit() else {
            Issue.record("not refused")
            return
        }
        byBytes.becomeReady()
        _ = byBytes.flush(now: .second(0), isWritable: true)
        #expect(byBytes.admit() == nil)
    }

    @Test("A command that waits too long was not sent, says why, and gives back its bytes")
    func waitsTooLong() {
        let machine = TestMachine()
        _ = machine.start()
        _ = machine.lost(reason: "host down")
        _ = machine.enqueue(1, bytes: 3, now: .second(0))
        _ = machine.enqueue(2, bytes: 4, now: .second(5))
        #expect(machine.nextDeadline == .second(10))
        let action = machine.timerFired(now: .second(10))
        #expect(action.expired.map(\.completion) == [1])
        #expect(action.expired.map(\.error) == [.notSent(reason: "waited too long: host down")])
        #expect(action.expiredBytes == 3 && machine.waitingBytes == 4)
        #expect(action.loss == nil)
        #expect(machine.nextDeadline == .second(15))
    }

    @Test("A late reply costs the connection: the overdue timed out, the others may have run")
    func timesOut() {
        let machine = TestMachine()
        machine.becomeReady()
        _ = machine.enqueue(1, now: .second(0))
        _ = machine.flush(now: .second(0), isWritable: true)
        _ = machine.enqueue(2, now: .second(3))
        _ = machine.flush(now: .second(3), isWritable: true)
        #expect(machine.timerFired(now: .second(9)).loss == nil)
        let loss = machine.timerFired(now: .second(10)).loss
        #expect(loss?.1.failed.map(\.completion) == [1, 2])
        #expect(
            loss?.1.failed.map(\.error) == [
                .timeout(after: .seconds(10)), .maybeExecuted(reason: "no reply within 10000 ms"),
            ]
        )
        #expect(!machine.isReady)
    }

    @Test("Once a flush is answered, the replies of the next one are due at their own time")
    func nextFlush() {
        let machine = TestMachine()
        machine.becomeReady()
        for (command, second) in [(1, 0), (2, 3)] as [(Int, Int64)] {
            _ = machine.enqueue(command, now: .second(second))
            _ = machine.flush(now: .second(second), isWritable: true)
        }
        #expect(machine.nextDeadline == .second(10))
        #expect(machine.completedByReply() == 1)
        #expect(machine.nextDeadline == .second(13))
        #expect(machine.timerFired(now: .second(10)).loss == nil)
        #expect(machine.timerFired(now: .second(13)).loss?.1.failed.map(\.completion) == [2])
        #expect(machine.nextDeadline == nil)
    }

    @Test("A command that waits too long behind others in flight leaves them, and those behind it, alone")
    func waitsTooLongBehind() {
        let machine = TestMachine(inFlightLimitCommands: 1)
        machine.becomeReady()
        for command in 1...3 { _ = machine.enqueue(command, bytes: command, now: .second(0)) }
        #expect(machine.flush(now: .second(5), isWritable: true) == 1)
        _ = machine.enqueue(4, bytes: 4, now: .second(6))
        let action = machine.timerFired(now: .second(10))
        #expect(action.expired.map(\.completion) == [2, 3] && action.expiredBytes == 5 && action.loss == nil)
        #expect(machine.inFlightCount == 1 && machine.waitingCount == 1)
        #expect(machine.completedByReply() == 1)
        #expect(machine.flush(now: .second(11), isWritable: true) == 4)
        #expect(machine.completedByReply() == 4)
    }

    @Test("A command that waited long for a connection gets its whole time for the reply")
    func freshDeadline() {
        let machine = TestMachine()
        _ = machine.start()
        _ = machine.enqueue(1, now: .second(0))
        machine.becomeReady(now: .second(9))
        _ = machine.flush(now: .second(9), isWritable: true)
        #expect(machine.timerFired(now: .second(18)).loss == nil)
        #expect(machine.timerFired(now: .second(19)).loss != nil)
    }

    @Test("A server that takes the connection and does not answer the login is given up")
    func silentLogin() {
        let machine = TestMachine(commandTimeout: nil)
        _ = machine.start()
        _ = machine.connected(now: .second(1))
        #expect(machine.nextDeadline == .second(6))
        #expect(machine.timerFired(now: .second(5)).loss == nil)
        #expect(machine.timerFired(now: .second(6)).loss?.1.attempt == 1)
    }

    @Test("Without a time-out nothing ever expires")
    func noTimeout() {
        let machine = TestMachine(commandTimeout: nil)
        machine.becomeReady()
        _ = machine.enqueue(1)
        _ = machine.flush(now: .second(0), isWritable: true)
        _ = machine.enqueue(2)
        #expect(machine.nextDeadline == nil)
        let action = machine.timerFired(now: .second(1_000_000))
        #expect(action.expired.isEmpty && action.loss == nil)
    }

    @Test("A reply to no command is a broken stream")
    func unsolicited() {
        let machine = TestMachine()
        machine.becomeReady()
        _ = machine.enqueue(1)
        guard case .unsolicited = machine.replied(error: nil) else {
            Issue.record("a command that was not sent was answered")
            return
        }
    }

    @Test("Closing fails what is in flight as maybe executed and what waits as closed; nothing happens after it")
    func closes() {
        let machine = TestMachine()
        machine.becomeReady()
        _ = machine.enqueue(1)
        _ = machine.flush(now: .second(0), isWritable: true)
        _ = machine.enqueue(2)
        let failed = machine.close()
        #expect(failed.map(\.completion) == [1, 2])
        #expect(failed.map(\.error) == [.maybeExecuted(reason: "the connection was closed"), .closed])
        #expect(machine.close().isEmpty)
        #expect(machine.admit() == .closed)
        #expect(!machine.start() && !machine.backOffElapsed() && machine.lost(reason: "") == nil)
        #expect(machine.nextDeadline == nil && machine.flush(now: .second(0), isWritable: true) == 0)
    }

    @Test("A channel that comes up after the close is closed")
    func closedWhileConnecting() {
        let machine = TestMachine()
        _ = machine.start()
        _ = machine.close()
        guard case .close = machine.connected(now: .second(0)) else {
            Issue.record("a closed connection shook hands")
            return
        }
    }
}
