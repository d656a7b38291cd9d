import NIOCore
import Testing

@testable import RedisClient

/// The machine with numbers for commands, as a class: `#expect` cannot call what mutates a value.
final class TestMachine {
    typealias Machine = RedisConnectionStateMachine<Int>

    private var machine: Machine

    init(
        handshake: [Machine.HandshakeStep] = [.ping],
        commandTimeout: TimeAmount? = .seconds(10),
        waitingLimitCommands: Int = 100,
        waitingLimitBytes: Int = 1000,
        inFlightLimitCommands: Int = 100
    ) {
        machine = Machine(
            settings: .init(
                handshake: handshake,
                commandTimeout: commandTimeout,
                handshakeTimeout: .seconds(5),
                waitingLimitCommands: waitingLimitCommands,
                waitingLimitBytes: waitingLimitBytes,
                inFlightLimitCommands: inFlightLimitCommands
            )
        )
    }

    var isReady: Bool { machine.isReady }
    var waitingCount: Int { machine.waitingCount }
    var waitingBytes: Int { machine.waitingBytes }
    var inFlightCount: Int { machine.inFlightCount }
    var nextDeadline: NIODeadline? { machine.nextDeadline }

    func start() -> Bool { machine.start() }
    func connected(now: NIODeadline) -> Machine.ConnectedAction { machine.connected(now: now) }
    func demandMaster(now: NIODeadline = .second(0)) -> [Machine.HandshakeStep] { machine.demandMaster(now: now) }
    func toldRole(isReplica: Bool) -> Machine.ReplyAction { machine.toldRole(isReplica: isReplica) }
    func foundReplica() { machine.foundReplica() }
    var departed: String? { machine.departed }
    func lost(reason: String) -> Machine.Loss? { machine.lost(reason: reason) }
    func backOffElapsed() -> Bool { machine.backOffElapsed() }
    func close() -> [Machine.Failed] { machine.close() }
    func admit() -> RedisError? { machine.admit() }
    func flush(now: NIODeadline, isWritable: Bool) -> Int { machine.flush(now: now, isWritable: isWritable) }
    func replied(error: RedisError?) -> Machine.ReplyAction { machine.replied(error: error) }
    func timerFired(now: NIODeadline) -> Machine.TimerAction { machine.timerFired(now: now) }

    /// Returns whether a flush is to be scheduled.
    func enqueue(_ command: Int, bytes: Int = 10, now: NIODeadline = .second(0)) -> Bool {
        #expect(machine.admit() == nil)
        return machine.enqueue(command, byteCount: bytes, now: now)
    }

    func becomeReady(now: NIODeadline = .second(0)) {
        _ = machine.start()
        _ = machine.backOffElapsed()
        _ = machine.connected(now: now)
        for _ in 0..<5 where !machine.isReady {
            if case .role = machine.replied(error: nil) { _ = machine.toldRole(isReplica: false) }
        }
        #expect(machine.isReady)
    }

    /// Lets a reply arrive; returns whose it is.
    func completedByReply() -> Int? {
        guard case .complete(let command, _) = machine.replied(error: nil) else { return nil }
        return command
    }
}

extension NIODeadline {
    /// So many seconds after the epoch of NIO's clock.
    static func second(_ second: Int64) -> NIODeadline { .uptimeNanoseconds(0) + .seconds(second) }
}
