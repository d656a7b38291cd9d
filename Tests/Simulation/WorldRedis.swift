@testable import RedisClient
@testable import Sender
@testable import SimulatedServers
@testable import TokenState

/// The Redis server of a world, and its troubles. No bundle is large enough for a second bucket.
final class WorldRedis {
    private unowned let world: World
    private let server = SimulatedRedisServer()
    private(set) var awayUntil: VirtualTime = 0
    /// Tokens that were asked for.
    private(set) var lookUps = 0
    /// Tokens whose buckets hold something of another type.
    private(set) var brokenTokens: Set<Int> = []
    /// Tokens of which that was so, up to when.
    private var mendedTokens: [Int: VirtualTime] = [:]

    init(world: World) {
        self.world = world
        server.clock = { [unowned world] in Self.unixNanoseconds(world.clock.now) }
        server.rules[MissingCertificates.miss.digest] = SimulatedRedisServer.missedSince
    }

    private static func unixNanoseconds(_ time: VirtualTime) -> Int64 {
        Int64(World.unixSeconds(World.start)) * 1_000_000_000 + Int64(time - World.start)
    }

    var isAway: Bool { world.clock.now < awayUntil }

    func goAway(for time: VirtualTime) {
        awayUntil = max(awayUntil, world.clock.now + time)
    }

    /// Its clock is so far ahead.
    var skewSeconds: Int64 {
        get { server.skewSeconds }
        set { server.skewSeconds = newValue }
    }

    /// The server's clock is right unless it was set, whatever those of the workers say.
    var unixSeconds: Int64 { server.toldTime / 1_000_000_000 }

    var badges: BadgeModel { server.badges }

    /// A token's bucket is overwritten with something of another type.
    func damage(token: Int) { brokenTokens.insert(token) }

    /// Every bucket is as it was.
    func mend() {
        for token in brokenTokens { mendedTokens[token] = world.clock.now }
        brokenTokens = []
    }

    /// A token's bucket could not be read at some time since then.
    func wasBroken(token: Int, since time: VirtualTime) -> Bool {
        brokenTokens.contains(token) || mendedTokens[token].map { time <= $0 } ?? false
    }

    /// The app registered a token.
    func register(key: [UInt8], at seconds: UInt32) {
        let (bucket, field) = (Array(key.dropLast(World.fieldBytes)), Array(key.suffix(World.fieldBytes)))
        var state = server.hashes[bucket]?[field].flatMap { TokenModel($0) } ?? TokenModel()
        guard seconds > state.registered else { return }
        _ = state.register(at: seconds)
        server.hashes[bucket, default: [:]][field] = state.value
        if !state.isDead { world.auditor.registered(key) }
    }

    /// Some worker has noted that it committed a position of the partition.
    func isMarked(_ partition: Int32) -> Bool {
        let place = world.laneMap.place(of: partition)
        return server[Array("m:{\(place.topic):\(place.partition)}:position".utf8)] != nil
    }

    /// Executes a command of the shard.
    func execute(_ command: WrittenCommand, by worker: SimulatedWorker) -> SimulatedReply {
        if !brokenTokens.isEmpty, isBroken(command) { return .wrongType }
        if command.script?.digest == TokenScripts.tombstone.digest { return tombstone(command, by: worker) }
        if command.name == "HGET" { lookUps += 1 }
        return server.run(command)
    }

    private func isBroken(_ command: WrittenCommand) -> Bool {
        let words = command.words
        guard command.keyCount == 2 || words.count == 3,
            let token = world.tokens.byKey[command.keyCount == 2 ? words[1] + words[3] : words[1] + words[2]]
        else { return false }
        return brokenTokens.contains(token)
    }

    private func tombstone(_ command: WrittenCommand, by worker: SimulatedWorker) -> SimulatedReply {
        let (bucket, field) = (command.words[1], command.words[3])
        func state() -> TokenModel { server.hashes[bucket]?[field].flatMap { TokenModel($0) } ?? TokenModel() }
        let former = state()
        if let at = command.number(4).flatMap({ UInt32(exactly: $0) }), at > former.registered {
            world.auditor.dated(at, by: worker)
        }
        let reply = server.run(command)
        if state() != former { world.auditor.tombstoned(bucket + field, by: worker) }
        return reply
    }
}
