import NIOCore
import PushTopics

@testable import RedisClient
@testable import SimulatedServers
@testable import TokenRoles
@testable import TokenState

/// An applier's connection to Redis. What was sent may be carried out though no answer comes, and after the process is
/// gone.
final class ApplyingPipeline: WrittenPipeline, ReplicationSource {
    var onMasters: (() -> Void)?
    private unowned let world: ApplyingWorld
    private let loop: SimulatedEventLoop
    /// Counts connections, so that a reply to a former one is not taken for one of this.
    private var connection = 0
    private var isClosed = false

    private static let masters = (0..<ApplyingRedis.masters).map { RedisAddress(host: "simulated", port: $0 + 1) }
    private static let patience = VirtualTime.seconds(1)
    private static let timedOut = RedisError.timeout(after: .seconds(1))
    private static let lost = RedisError.maybeExecuted(reason: "connection lost")

    init(world: ApplyingWorld, loop: SimulatedEventLoop) {
        self.world = world
        self.loop = loop
    }

    var isReady: Bool { !isClosed }

    func start() {}

    func close() { isClosed = true }

    /// The connection is lost, and made again.
    func lose() {
        connection += 1
        loop.deliver(after: world.dice.time(1...1000)) { [weak self] in self?.onMasters?() }
    }

    func take(_ command: WrittenCommand, _ completion: @escaping RedisConnection.Completion) {
        guard !isClosed else { return completion(.failure(.closed)) }
        let change = ApplyingChange(command)
        guard !world.redis.isAway(ApplyingRedis.master(of: change.token)) else { return timeOut(change, completion) }
        world.clock.after(world.dice.time(0...5)) { [weak self, world, connection] in
            // If the connection was lost meanwhile, Redis has perhaps read the command.
            let wasRead = self?.connection == connection || world.dice.chance(50)
            self?.answer(wasRead ? world.redis.make(change) : .failure(Self.lost), connection, completion)
        }
    }

    private func timeOut(_ change: ApplyingChange, _ completion: @escaping RedisConnection.Completion) {
        if world.dice.chance(30) { _ = world.redis.make(change) }
        loop.deliver(after: Self.patience) { [weak self] in
            guard let self, !isClosed else { return }
            completion(.failure(Self.timedOut))
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
            case .success(let numbers): SimulatedReply.integers(numbers).hand(to: completion)
            case .failure(let error): completion(.failure(error))
            }
        }
    }

    // MARK: ReplicationSource

    var eventLoop: any EventLoop { loop }

    var masterAddresses: [RedisAddress] { Self.masters }

    /// Each master answers for itself, and the last answer, or the patience with it, ends the question.
    func info(
        _ section: String,
        _ completion: @escaping ([(RedisAddress, Result<RedisInfo, RedisError>)]) -> Void
    ) {
        let silent = Self.masters.indices.filter(world.redis.isAway)
        let connection = connection
        world.clock.after(silent.isEmpty ? world.dice.time(0...5) : Self.patience) { [weak self, world] in
            guard let self else { return }
            let isLost = connection != self.connection
            let answers = Self.masters.indices.map { master in
                (Self.masters[master], answer(of: master, isSilent: silent.contains(master), isLost: isLost))
            }
            loop.deliver(after: world.dice.time(0...4)) { [weak self] in
                if let self, !isClosed { completion(answers) }
            }
        }
    }

    private func answer(of master: Int, isSilent: Bool, isLost: Bool) -> Result<RedisInfo, RedisError> {
        if isSilent { return .failure(Self.timedOut) }
        if isLost { return .failure(Self.lost) }
        return .success(RedisInfo("role:master\r\nmaster_replid:\(world.redis.replicationID(of: master))\r\n"))
    }
}
