import NIOCore

@testable import BelfryRuntime
@testable import RedisClient

/// The Redis server of a world: what is known of each token, by its bucket and the token. No bundle is large enough for a second
/// bucket.
final class SimulatedRedis {
    private unowned let world: World
    private(set) var tokens: [[UInt8]: TokenRecord] = [:]
    private(set) var awayUntil: VirtualTime = 0

    init(world: World) {
        self.world = world
    }

    var isAway: Bool { world.clock.now < awayUntil }

    func goAway(for time: VirtualTime) {
        awayUntil = max(awayUntil, world.clock.now + time)
    }

    /// The app registered a token.
    func register(key: [UInt8], at seconds: UInt32) {
        var record = tokens[key] ?? TokenRecord()
        guard seconds > record.registeredAt else { return }
        record.registeredAt = seconds
        if record.tombstonedAt <= seconds {
            record.tombstonedAt = 0
            record.reason = .none
        }
        tokens[key] = record
        if !record.isDead { world.auditor.registered(key) }
    }

    /// Executes a command of the shard.
    func execute(_ arguments: [[UInt8]], by worker: SimulatedWorker, replyInto arena: inout ReplyArena) -> Int {
        arena.reset()
        guard let root = arena.reserve(nodes: 1) else { return 0 }
        switch arguments.first.map({ String(decoding: $0, as: UTF8.self) }) {
        case "HGET":
            answer(tokens[arguments[1] + arguments[2]]?.bytes, at: root, in: &arena)
        case "EVALSHA" where arguments[1] == TokenScripts.read.digest:
            answer(tokens[arguments[4] + arguments[6]]?.bytes, at: root, in: &arena)
        case "EVALSHA" where arguments[1] == TokenScripts.tombstone.digest:
            answer(tombstone(arguments, by: worker), at: root, in: &arena)
        case let other:
            preconditionFailure("the simulated Redis does not know \(other ?? "an empty command")")
        }
        return root
    }

    private func answer(_ value: [UInt8]?, at root: Int, in arena: inout ReplyArena) {
        guard let value, let place = value.withUnsafeBytes({ arena.append($0) }) else {
            return arena.set(root, .init(kind: .null, count: 0, value: 0))
        }
        arena.set(root, .init(kind: .string, count: UInt32(value.count), value: Int64(place)))
    }

    private func answer(_ facts: TokenRecord, at root: Int, in arena: inout ReplyArena) {
        let numbers = [Int64(facts.registeredAt), Int64(facts.tombstonedAt), Int64(facts.reason.rawValue), 0, 1]
        guard let first = arena.reserve(nodes: numbers.count) else { return }
        arena.set(root, .init(kind: .array, count: UInt32(numbers.count), value: Int64(first)))
        for (index, number) in numbers.enumerated() {
            arena.set(first + index, .init(kind: .integer, count: 0, value: number))
        }
    }

    /// The script's rule: only if the last registration is older. Arguments: EVALSHA, digest, 2, directory, bucket, buckets, token,
    /// time, reason.
    private func tombstone(_ arguments: [[UInt8]], by worker: SimulatedWorker) -> TokenRecord {
        let key = arguments[4] + arguments[6]
        var record = tokens[key] ?? TokenRecord()
        guard let at = UInt32(String(decoding: arguments[7], as: UTF8.self)), at > record.registeredAt else {
            return record
        }
        if at > record.tombstonedAt {
            record.tombstonedAt = at
            record.reason = .invalid
            tokens[key] = record
            world.auditor.tombstoned(key, by: worker)
        }
        return record
    }
}
