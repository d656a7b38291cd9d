import NIOCore
import PushTopics

@testable import RedisClient

/// A client of a ``SimulatedRedisServer`` of its own; the contract is that of `RedisConnection`.
///
/// On an event loop a command runs when it is sent, and its reply arrives when the loop runs. Without one the test
/// says when each command runs, and when its reply arrives.
final class SimulatedRedis: WrittenPipeline {
    /// The course of a command.
    enum Fate {
        case runs
        /// It does not run, and has this reply.
        case answered(SimulatedReply)
        /// It does not run. An error that says so at once comes before the sending returns.
        case failed(RedisError)
        /// It does not run, and has no answer in time.
        case timedOut
        /// It does not run, and has no answer before the end.
        case unanswered
    }

    private struct Open {
        let number: Int
        let command: WrittenCommand
        let completion: RedisConnection.Completion
        /// Nil: it has not run.
        var reply: SimulatedReply?
    }

    let server = SimulatedRedisServer()
    /// Every command times out.
    var isAway = false
    /// No command has an answer before the end.
    var isMute = false
    /// The next commands of a kind fail, each with the first of these.
    var refusals: [WrittenCommand.Kind: [RedisError]] = [:]
    /// Asked about all other commands, unless it is away or mute.
    var fate: (WrittenCommand) -> Fate = { _ in .runs }
    var detours = 0
    /// All commands so far.
    private(set) var sent: [WrittenCommand] = []
    /// Commands that ran, or were answered as if they had.
    private(set) var answered: [WrittenCommand] = []
    private(set) var isClosed = false

    static let timeout = TimeAmount.seconds(1)
    static let lost = RedisError.maybeExecuted(reason: "connection lost")
    /// Most commands that are put to it in all once it is closed: more would go on for ever.
    private static let patience = 100

    private let eventLoop: (any EventLoop)?
    /// Without an answer, oldest first.
    private var open = CircularBuffer<Open>()

    init(on eventLoop: (any EventLoop)? = nil) {
        self.eventLoop = eventLoop
    }

    var isReady: Bool { !isAway && !isClosed }

    /// The server's clock, UNIX milliseconds; it stands still.
    var clock: Int64 {
        get { server.clock() / 1_000_000 }
        set { server.clock = { newValue * 1_000_000 } }
    }

    /// Commands of a kind so far.
    func count(_ kind: WrittenCommand.Kind) -> Int { sent.count { $0.kind == kind } }

    func start() {}

    func take(_ command: WrittenCommand, _ completion: @escaping RedisConnection.Completion) {
        sent.append(command)
        guard !isClosed else {
            if sent.count < Self.patience { completion(.failure(.closed)) }
            return
        }
        let fate = decide(command)
        if case .failed(.notSent(let reason)) = fate { return completion(.failure(.notSent(reason: reason))) }
        open.append(Open(number: sent.count, command: command, completion: completion))
        guard let loop = eventLoop?.assumeIsolated() else { return }
        let number = sent.count
        switch fate {
        case .runs:
            run(open.count - 1)
            loop.execute { self.end(number) }
        case .answered(let reply):
            answered.append(command)
            loop.execute { self.end(number, reply) }
        case .failed(let error): loop.execute { self.end(number, .error(error)) }
        case .timedOut:
            _ = loop.scheduleTask(in: Self.timeout) { self.end(number, .error(.timeout(after: Self.timeout))) }
        case .unanswered: break
        }
    }

    private func decide(_ command: WrittenCommand) -> Fate {
        if !refusals.isEmpty, let refusal = refusals[command.kind]?.first {
            refusals[command.kind]?.removeFirst()
            if refusals[command.kind]?.isEmpty == true { refusals[command.kind] = nil }
            return .failed(refusal)
        }
        return isAway ? .timedOut : isMute ? .unanswered : fate(command)
    }

    /// A command ends, with its reply or another one.
    private func end(_ number: Int, _ reply: SimulatedReply? = nil) {
        guard let place = open.firstIndex(where: { $0.number == number }) else { return }
        let command = open.remove(at: place)
        guard let reply = reply ?? command.reply else { preconditionFailure("a command is answered that has not run") }
        reply.hand(to: command.completion)
    }

    func close() {
        isClosed = true
        fail(.maybeExecuted(reason: "closed"))
    }

    /// The connection is lost: no open command has an answer.
    func lose() { fail(Self.lost) }

    private func fail(_ error: RedisError) {
        let lost = open
        open = []
        for command in lost { command.completion(.failure(error)) }
    }

    // MARK: Steps

    /// The names of the commands without an answer, oldest first.
    var openNames: [String] { open.map(\.command.name) }

    /// An open command runs.
    func run(_ index: Int) {
        let place = open.index(open.startIndex, offsetBy: index)
        open[place].reply = server.run(open[place].command)
        answered.append(open[place].command)
    }

    /// The reply of an open command that has run arrives.
    func handOver(_ index: Int) { end(open[open.index(open.startIndex, offsetBy: index)].number) }

    /// A round trip: all open commands run, and are answered in their order. What that leads to is open afterwards.
    func answerAll() {
        let count = open.count
        for index in 0..<count { run(index) }
        for _ in 0..<count { handOver(0) }
    }
}
