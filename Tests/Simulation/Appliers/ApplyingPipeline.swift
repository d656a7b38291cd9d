import NIOCore
import PortTestSupport
import PushTopics

@testable import RedisClient

/// An applier's connection to Redis. What was sent may be carried out though no answer comes, and after the process is
/// gone.
final class ApplyingPipeline: RedisPipeline {
    private unowned let world: ApplyingWorld
    private let loop: SimulatedEventLoop
    /// Counts connections, so that a reply to a former one is not taken for one of this.
    private var connection = 0
    private var isClosed = false

    private static let timeoutMilliseconds = 1000
    private static let lost = RedisError.maybeExecuted(reason: "connection lost")

    init(world: ApplyingWorld, loop: SimulatedEventLoop) {
        self.world = world
        self.loop = loop
    }

    var isReady: Bool { !isClosed }

    func start() {}

    func close() { isClosed = true }

    func lose() { connection += 1 }

    func send(
        slot: RedisSlot,
        _ write: (inout RedisCommandWriter) -> Void,
        _ completion: @escaping RedisConnection.Completion
    ) {
        completion(.failure(.notSent(reason: "an applier calls scripts only")))
    }

    func evaluate(
        _ script: RedisScript,
        slot: RedisSlot,
        keyCount: Int,
        argumentCount: Int,
        _ write: (inout RedisCommandWriter) -> Void,
        _ completion: @escaping RedisConnection.Completion
    ) {
        guard !isClosed else { return completion(.failure(.closed)) }
        let change = ApplyingChange(script, .init(keyCount: keyCount, argumentCount: argumentCount, write))
        guard !world.redis.isAway else { return timeOut(change, completion) }
        world.clock.after(world.dice.time(0...5)) { [weak self, world, connection] in
            // Where the connection was lost meanwhile, Redis has perhaps read it.
            let wasRead = self?.connection == connection || world.dice.chance(50)
            self?.answer(wasRead ? world.redis.make(change) : .failure(Self.lost), connection, completion)
        }
    }

    private func timeOut(_ change: ApplyingChange, _ completion: @escaping RedisConnection.Completion) {
        if world.dice.chance(30) { _ = world.redis.make(change) }
        loop.deliver(after: .milliseconds(Self.timeoutMilliseconds)) { [weak self] in
            guard let self, !isClosed else { return }
            completion(.failure(.timeout(after: .milliseconds(Int64(Self.timeoutMilliseconds)))))
        }
    }

    private func answer(
        _ result: Result<[Int64], RedisError>,
        _ connection: Int,
        _ completion: @escaping RedisConnection.Completion
    ) {
        loop.deliver(after: world.dice.time(0...4)) { [weak self] in
            guard let self, !isClosed else { return }
            guard connection == self.connection else {
                return completion(.failure(Self.lost))
            }
            switch result {
            case .success(let numbers): ScriptedReply.integers(numbers).hand(to: completion)
            case .failure(let error): completion(.failure(error))
            }
        }
    }
}
