import NIOCore

@testable import BelfryRuntime
@testable import RedisClient

/// The Redis server of a world: what is known of each token, by its key.
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
        var record = tokens[key] ?? TokenRecord.none
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
        case "MGET":
            answer(arguments.dropFirst().map(value), at: root, in: &arena)
        case "EVALSHA":
            arena.set(root, .init(kind: .integer, count: 0, value: tombstone(arguments, by: worker)))
        case let other:
            preconditionFailure("the simulated Redis does not know \(other ?? "an empty command")")
        }
        return root
    }

    private func value(_ key: [UInt8]) -> [UInt8]? {
        guard let record = tokens[key] else { return nil }
        func bytes(_ number: UInt32) -> [UInt8] { withUnsafeBytes(of: number.littleEndian) { Array($0) } }
        let head = [TokenRecord.version, record.reason.rawValue]
        return head + bytes(record.registeredAt) + bytes(record.tombstonedAt) + [0, 0]
    }

    private func answer(_ values: [[UInt8]?], at root: Int, in arena: inout ReplyArena) {
        guard let first = arena.reserve(nodes: values.count) else { return }
        arena.set(root, .init(kind: .array, count: UInt32(values.count), value: Int64(first)))
        for (index, value) in values.enumerated() {
            if let value, let place = value.withUnsafeBytes({ arena.append($0) }) {
                arena.set(first + index, .init(kind: .string, count: UInt32(value.count), value: Int64(place)))
            } else {
                arena.set(first + index, .init(kind: .null, count: 0, value: 0))
            }
        }
    }

    /// The script's rule: only if the last registration is older. Arguments: EVALSHA, digest, 1, key, time, reason.
    private func tombstone(_ arguments: [[UInt8]], by worker: SimulatedWorker) -> Int64 {
        let key = arguments[3]
        var record = tokens[key] ?? TokenRecord.none
        guard let at = UInt32(String(decoding: arguments[4], as: UTF8.self)), at > record.registeredAt else { return 0 }
        if at > record.tombstonedAt {
            record.tombstonedAt = at
            record.reason = .invalid
            tokens[key] = record
            world.auditor.tombstoned(key, by: worker)
        }
        return 1
    }
}

extension TokenRecord {
    /// Nothing is known of the token.
    fileprivate static var none: TokenRecord {
        let bytes: [UInt8] = [version, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
        guard let record = bytes.withUnsafeBytes({ TokenRecord($0) }) else {
            preconditionFailure("an empty record can be read")
        }
        return record
    }
}
