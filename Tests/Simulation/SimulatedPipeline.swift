import NIOCore
import PushTopics

@testable import RedisClient
@testable import SimulatedServers

/// A worker's connection to Redis; the contract of `RedisConnection`: commands run and complete in order; when the
/// connection is lost, what was sent may have run, and what was not waits for the next one.
final class SimulatedPipeline: WrittenPipeline {
    private struct Command {
        var written: WrittenCommand
        var completion: RedisConnection.Completion
    }

    private static let timeout = VirtualTime.seconds(5)

    var onConnected: (() -> Void)?
    /// Nothing is answered before this time.
    private var hangsUntil: VirtualTime = 0
    private unowned let worker: SimulatedWorker
    private unowned let world: World
    private let loop: SimulatedEventLoop
    /// Sent, oldest first.
    private var inFlight = CircularBuffer<Command>()
    /// Commands in flight that the server has run: the oldest ones.
    private var hasRun = 0
    /// For the next connection.
    private var waiting: [Command] = []
    /// On their way, in the order of their commands.
    private var replies = CircularBuffer<SimulatedReply>()
    /// Counts connections, so that what belongs to a former one is not mistaken.
    private var connection = 0
    private(set) var isReady = false
    private var isClosed = false

    init(worker: SimulatedWorker, loop: SimulatedEventLoop) {
        self.worker = worker
        world = worker.world
        self.loop = loop
    }

    func start() {
        connect(after: world.dice.time(1...30))
    }

    func take(_ command: WrittenCommand, _ completion: @escaping RedisConnection.Completion) {
        enqueue(Command(written: command, completion: completion))
    }

    func close() {
        guard !isClosed else { return }
        isClosed = true
        isReady = false
        fail(inFlight.map { ($0, .maybeExecuted(reason: "closed")) } + waiting.map { ($0, .closed) })
    }

    /// The process is gone: its commands get no replies, and their completions are let go.
    func die() {
        isClosed = true
        inFlight.removeAll()
        waiting = []
    }

    /// The server, or the way to it, does not answer.
    func hang(for time: VirtualTime) {
        hangsUntil = max(hangsUntil, world.clock.now + time)
    }

    /// The connection is lost; a part of what was sent has run.
    func lose() {
        guard isReady, !isClosed else { return }
        let run = inFlight.isEmpty ? 0 : world.dice.pick(0...inFlight.count)
        for command in inFlight.prefix(run).dropFirst(hasRun) { _ = execute(command) }
        disconnect(.maybeExecuted(reason: "connection lost"))
    }

    private func disconnect(_ error: RedisError) {
        let failed = inFlight
        inFlight = []
        hasRun = 0
        replies = []
        isReady = false
        connection += 1
        let away = world.redis.awayUntil
        connect(after: (away > world.clock.now ? away - world.clock.now : 0) + world.dice.time(10...800))
        fail(failed.map { ($0, error) })
    }

    private func connect(after delay: VirtualTime) {
        loop.deliver(after: delay) { [weak self] in
            guard let self, !isClosed else { return }
            guard !world.redis.isAway else { return connect(after: world.dice.time(100...500)) }
            isReady = true
            let commands = waiting
            waiting = []
            for command in commands { enqueue(command) }
            onConnected?()
        }
    }

    private func enqueue(_ command: Command) {
        guard !isClosed else { return command.completion(.failure(.closed)) }
        guard isReady else { return waiting.append(command) }
        inFlight.append(command)
        let connection = connection
        let hangs = hangsUntil > world.clock.now ? hangsUntil - world.clock.now : 0
        if hangs >= Self.timeout {
            loop.deliver(after: Self.timeout) { [weak self] in
                guard let self, connection == self.connection, !isClosed else { return }
                disconnect(.timeout(after: .nanoseconds(Int64(Self.timeout))))
            }
        } else {
            world.clock.after(hangs + world.dice.time(0...4)) { [weak self] in self?.runNext(connection) }
        }
    }

    /// The server runs the oldest command that it has not run, and its reply comes after a while.
    private func runNext(_ connection: Int) {
        guard connection == self.connection, !isClosed, !loop.isDead,
            hasRun < inFlight.count
        else { return }
        let command = inFlight[offset: hasRun]
        hasRun += 1
        replies.append(execute(command))
        loop.deliver(after: world.dice.time(0...4)) { [weak self] in
            guard let self, connection == self.connection, !isClosed else { return }
            deliver(replies.removeFirst())
        }
    }

    private func execute(_ command: Command) -> SimulatedReply {
        world.redis.execute(command.written, by: worker)
    }

    /// Replies come in the order of the commands, so that each is the oldest one's.
    private func deliver(_ reply: SimulatedReply) {
        let command = inFlight.removeFirst()
        hasRun -= 1
        reply.hand(to: command.completion)
    }

    private func fail(_ failed: [(command: Command, error: RedisError)]) {
        for (command, error) in failed { command.completion(.failure(error)) }
    }
}
