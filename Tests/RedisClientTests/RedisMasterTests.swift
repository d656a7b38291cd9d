import NIOCore
import Testing

@testable import RedisClient

@Suite("Decisions about a server that has to be a master")
struct RedisMasterTests {
    private static let readOnly = RedisError.server(text: "READONLY You can't write against a read only replica.")

    /// A machine with commands 1, 2, … in flight, each of as many bytes as its number.
    private func machine(inFlight count: Int) -> TestMachine {
        let machine = TestMachine()
        _ = machine.demandMaster()
        machine.becomeReady()
        for command in stride(from: 1, through: count, by: 1) { _ = machine.enqueue(command, bytes: command) }
        _ = machine.flush(now: .second(0), isWritable: true)
        return machine
    }

    @Test("Its role is asked for at the login, before it is asked to serve")
    func asks() {
        let machine = TestMachine(handshake: [.authenticate, .ping])
        #expect(machine.demandMaster().isEmpty)
        _ = machine.start()
        guard case .shakeHands(let steps) = machine.connected(now: .second(0)) else {
            Issue.record("no handshake")
            return
        }
        #expect(steps == [.authenticate, .role, .ping])
    }

    @Test("A server that tells that it is a replica is given up, and the back-off grows until a master is there")
    func replica() {
        let machine = TestMachine()
        _ = machine.demandMaster()
        _ = machine.start()
        for attempt in 1...3 {
            _ = machine.connected(now: .second(0))
            guard case .role = machine.replied(error: nil), case .replica = machine.toldRole(isReplica: true) else {
                Issue.record("a replica was taken")
                return
            }
            #expect(machine.lost(reason: "a replica")?.attempt == attempt)
            #expect(machine.backOffElapsed())
        }
        machine.becomeReady()
        #expect(machine.lost(reason: "reset")?.attempt == 1)
    }

    @Test("A server that does not tell its role is used")
    func untold() {
        let machine = TestMachine()
        _ = machine.demandMaster()
        _ = machine.start()
        _ = machine.connected(now: .second(0))
        guard case .none = machine.replied(error: .server(prefix: "NOPERM", message: "")) else {
            Issue.record("the role is not for every user to ask for")
            return
        }
        _ = machine.replied(error: nil)
        #expect(machine.isReady)
    }

    @Test("A server that is demanded to be a master while it serves tells so before it gets another command")
    func demandedLater() {
        let machine = TestMachine()
        machine.becomeReady()
        _ = machine.enqueue(1)
        #expect(machine.demandMaster() == [.role, .ping])
        #expect(machine.flush(now: .second(0), isWritable: true) == 0)
        _ = machine.replied(error: nil)
        _ = machine.toldRole(isReplica: false)
        _ = machine.replied(error: nil)
        #expect(machine.flush(now: .second(0), isWritable: true) == 10)
        // One that has commands to answer is not asked in between.
        #expect(machine.demandMaster().isEmpty)
        #expect(machine.completedByReply() == 1)
    }

    @Test(
        "A command that a replica refuses goes to the next server, before those that waited, whatever the word",
        arguments: [
            "READONLY You can't write against a read only replica.",
            "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
            "LOADING Redis is loading the dataset in memory",
            "ERR Error running script (call to f_a1): @user_script:1: @user_script: 1: -READONLY You can't write",
        ]
    )
    func keeps(answer: String) {
        let machine = machine(inFlight: 3)
        _ = machine.enqueue(4, bytes: 4)
        guard case .keep(byteCount: 1) = machine.replied(error: .server(text: answer)) else {
            Issue.record("a command that has not run was completed")
            return
        }
        #expect(!machine.isReady && machine.departed == nil, "it has others to answer")
        #expect(machine.flush(now: .second(0), isWritable: true) == 0)
        #expect(machine.completedByReply() == 2)
        guard case .keep(byteCount: 3) = machine.replied(error: .server(text: answer)) else {
            Issue.record("a command that has not run was completed")
            return
        }
        #expect(machine.departed?.contains(answer) == true)
        let loss = machine.lost(reason: "a replica")
        #expect(loss?.failed.isEmpty == true)
        #expect(machine.waitingCount == 3 && machine.waitingBytes == 8)
        machine.becomeReady()
        #expect(machine.flush(now: .second(0), isWritable: true) == 8)
        #expect([machine.completedByReply(), machine.completedByReply(), machine.completedByReply()] == [1, 3, 4])
    }

    @Test("A refusal of a master is told, and costs no connection", arguments: ["OOM", "NOREPLICAS", "MISCONF", "ERR"])
    func masterRefuses(prefix: String) {
        let machine = machine(inFlight: 1)
        guard case .complete(1, byteCount: 1) = machine.replied(error: .server(prefix: prefix, message: "no")) else {
            Issue.record("the command was not completed")
            return
        }
        #expect(machine.isReady)
    }

    @Test("A node of a cluster, which need not be a master, is not given up for its refusal")
    func node() {
        let machine = TestMachine()
        machine.becomeReady()
        _ = machine.enqueue(1)
        _ = machine.flush(now: .second(0), isWritable: true)
        guard case .complete(1, _) = machine.replied(error: Self.readOnly) else {
            Issue.record("the command was not completed")
            return
        }
        #expect(machine.isReady)
    }

    @Test("A server that turns out to be a replica is left once it has answered what is in flight")
    func found() {
        let machine = machine(inFlight: 2)
        #expect(machine.completedByReply() == 1)
        machine.foundReplica()
        #expect(!machine.isReady && machine.departed == nil)
        #expect(machine.completedByReply() == 2)
        #expect(machine.departed != nil)
    }

    @Test("A replica that falls silent, or goes, leaves what it refused to the next server; the rest may have run")
    func silent() {
        for isSilent in [true, false] {
            let machine = machine(inFlight: 2)
            _ = machine.replied(error: Self.readOnly)
            let loss = isSilent ? machine.timerFired(now: .second(10)).loss?.1 : machine.lost(reason: "reset")
            #expect(loss?.failed.map(\.completion) == [2])
            #expect(machine.waitingCount == 1 && machine.waitingBytes == 1)
        }
    }

    @Test("What a replica refused keeps its time, fails as not sent when that is over, and as closed at the close")
    func keptTime() {
        let machine = machine(inFlight: 1)
        _ = machine.replied(error: Self.readOnly)
        _ = machine.lost(reason: "a replica")
        #expect(machine.nextDeadline == .second(10))
        let action = machine.timerFired(now: .second(10))
        #expect(action.expired.map(\.error) == [.notSent(reason: "waited too long: a replica")])
        #expect(action.expiredBytes == 1)

        let closed = self.machine(inFlight: 2)
        _ = closed.replied(error: Self.readOnly)
        let failed = closed.close()
        #expect(failed.map(\.completion) == [2, 1])
        #expect(failed.last?.error == .closed)
    }

    @Test("The back-off for a replica that does not tell its role grows, though each connection to it serves at first")
    func growing() {
        let machine = TestMachine()
        _ = machine.demandMaster()
        _ = machine.start()
        for attempt in 1...3 {
            _ = machine.connected(now: .second(0))
            _ = machine.replied(error: .server(prefix: "NOPERM", message: ""))
            _ = machine.replied(error: nil)
            _ = machine.enqueue(attempt)
            _ = machine.flush(now: .second(0), isWritable: true)
            _ = machine.replied(error: Self.readOnly)
            #expect(machine.lost(reason: "a replica")?.attempt == attempt)
            _ = machine.backOffElapsed()
        }
    }
}
