import NIOCore
import TestSupport
import Testing

@testable import RedisClient

/// Drives the machine with random inputs, legal for a shell, and keeps its own books about each command.
private struct Simulation {
    private enum Fate {
        case waiting(bytes: Int)
        case inFlight(bytes: Int)
        /// Refused by a replica that still has others to answer.
        case kept(bytes: Int)
        case done
    }

    private var random: SeededGenerator
    private let machine: TestMachine
    private var now = NIODeadline.second(0)
    /// By number of the command; commands are numbered in the order they were taken.
    private var fates: [Fate] = []
    private(set) var replies = 0
    private(set) var losses = 0
    private(set) var expiries = 0
    private(set) var returns = 0
    /// A channel is up, as the shell knows it.
    private var isConnected = false

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        machine = TestMachine(
            handshake: [.authenticate, .setName, .ping],
            waitingLimitCommands: 20,
            waitingLimitBytes: 300,
            inFlightLimitCommands: 8
        )
    }

    mutating func run(steps: Int) {
        if Bool.random(using: &random) { _ = machine.demandMaster(now: now) }
        _ = machine.start()
        for _ in 0..<steps {
            step()
            audit()
        }
        isConnected = false
        for (command, error) in machine.close() { settle(command, by: error, atClose: true) }
        for fate in fates {
            guard case .done = fate else {
                Issue.record("a command was never completed")
                return
            }
        }
    }

    private mutating func step() {
        now = now + .milliseconds(.random(in: 0...900, using: &random))
        switch Int.random(in: 0..<20, using: &random) {
        case 0..<6: send()
        case 6..<9: flush(isWritable: Bool.random(using: &random))
        case 9..<15: if isConnected, serverTalks() { reply() }
        case 15: lose()
        case 16..<18: connect()
        default: fireTimer()
        }
    }

    /// Mostly when asked.
    private mutating func serverTalks() -> Bool {
        !machine.isReady || machine.inFlightCount > 0 || Int.random(in: 0..<30, using: &random) == 0
    }

    private mutating func send() {
        if machine.admit() != nil {
            #expect(machine.waitingCount >= 20 || machine.waitingBytes >= 300)
            return
        }
        let bytes = Int.random(in: 1...40, using: &random)
        _ = machine.enqueue(fates.count, bytes: bytes, now: now)
        fates.append(.waiting(bytes: bytes))
    }

    private mutating func flush(isWritable: Bool) {
        let inFlightBefore = machine.inFlightCount
        var byteCount = machine.flush(now: now, isWritable: isWritable)
        #expect(byteCount == 0 || (machine.isReady && isWritable))
        // Exactly the oldest of the waiting ones, for that many bytes.
        for _ in inFlightBefore..<machine.inFlightCount {
            guard let (command, bytes) = oldestWaiting else {
                Issue.record("more was flushed than was waiting")
                return
            }
            byteCount -= bytes
            fates[command] = .inFlight(bytes: bytes)
        }
        #expect(byteCount == 0)
    }

    private var oldestWaiting: (command: Int, bytes: Int)? {
        for (command, fate) in fates.enumerated() {
            if case .waiting(let bytes) = fate { return (command, bytes) }
        }
        return nil
    }

    private mutating func reply() {
        let error: RedisError? =
            switch Int.random(in: 0..<16, using: &random) {
            case 0: .server(prefix: "ERR", message: "")
            case 1: .server(prefix: "READONLY", message: "")
            default: nil
            }
        let oldest = oldestInFlight
        switch machine.replied(error: error) {
        case .complete(let command, _):
            #expect(command == oldest?.command, "a reply belongs to the oldest in flight")
            fates[command] = .done
            replies += 1
        case .keep(let bytes):
            #expect(bytes == oldest?.bytes, "a refusal belongs to the oldest in flight")
            if let oldest { fates[oldest.command] = .kept(bytes: oldest.bytes) }
            returns += 1
        case .role:
            if case .replica = machine.toldRole(isReplica: Int.random(in: 0..<4, using: &random) == 0) { lose() }
        case .refused, .unsolicited, .replica: lose()
        case .none, .ready: break
        }
        if machine.departed != nil {
            #expect(machine.inFlightCount == 0, "a server that is left has answered all that it was sent")
            lose()
        }
    }

    private var oldestInFlight: (command: Int, bytes: Int)? {
        for (command, fate) in fates.enumerated() {
            if case .inFlight(let bytes) = fate { return (command, bytes) }
        }
        return nil
    }

    private mutating func connect() {
        guard machine.backOffElapsed() || !isConnected && losses == 0 else { return }
        guard case .shakeHands = machine.connected(now: now) else {
            Issue.record("a wanted channel was refused")
            return
        }
        isConnected = true
    }

    private mutating func lose() {
        guard let loss = machine.lost(reason: "lost") else { return }
        settle(loss)
    }

    private mutating func fireTimer() {
        let action = machine.timerFired(now: now)
        var byteCount = action.expiredBytes
        for (command, error) in action.expired {
            if case .waiting(let bytes) = fates[command] { byteCount -= bytes }
            settle(command, by: error)
            expiries += 1
        }
        #expect(byteCount == 0)
        if let (_, loss) = action.loss { settle(loss) }
        // Commands that a lost replica had refused wait again, and may be due: the timer is set for that.
        if action.loss == nil, let deadline = machine.nextDeadline {
            #expect(deadline > now, "what is due is dealt with")
        }
    }

    private mutating func settle(_ loss: TestMachine.Machine.Loss) {
        losses += 1
        isConnected = false
        for (command, error) in loss.failed { settle(command, by: error) }
        #expect(machine.inFlightCount == 0)
        for (command, fate) in fates.enumerated() {
            if case .kept(let bytes) = fate { fates[command] = .waiting(bytes: bytes) }
        }
    }

    private mutating func settle(_ command: Int, by error: RedisError, atClose: Bool = false) {
        switch fates[command] {
        case .inFlight: #expect(error.mayHaveExecuted, "what was handed over may have run")
        case .waiting, .kept: #expect(!error.mayHaveExecuted && (error == .closed) == atClose, "what waits has not run")
        case .done: Issue.record("command \(command) was completed twice")
        }
        fates[command] = .done
    }

    private func audit() {
        var waiting = 0
        var waitingBytes = 0
        var inFlight = 0
        for fate in fates {
            switch fate {
            case .waiting(let bytes):
                waiting += 1
                waitingBytes += bytes
            case .inFlight: inFlight += 1
            case .kept, .done: break
            }
        }
        #expect(machine.waitingCount == waiting && machine.waitingBytes == waitingBytes)
        #expect(machine.inFlightCount == inFlight && inFlight <= 8)
        #expect(waiting + inFlight == 0 || machine.nextDeadline != nil, "every command has a deadline")
    }
}

@Suite("Simulation of a Redis connection")
struct RedisConnectionSimulationTests {
    @Test(
        "Every command is completed once, and its error says truly whether it may have run",
        arguments: UInt64(0)..<200
    )
    func books(seed: UInt64) {
        var simulation = Simulation(seed: seed)
        simulation.run(steps: 400)
    }

    @Test("The simulation gets to replies, losses, expiries and refusals of replicas")
    func covers() {
        var counts = (replies: 0, losses: 0, expiries: 0, returns: 0)
        for seed in UInt64(0)..<40 {
            var simulation = Simulation(seed: seed)
            simulation.run(steps: 400)
            counts.replies += simulation.replies
            counts.losses += simulation.losses
            counts.expiries += simulation.expiries
            counts.returns += simulation.returns
        }
        #expect(counts.returns > 5)
        #expect(counts.replies > 300)
        #expect(counts.losses > 100)
        #expect(counts.expiries > 10)
    }
}
