import NIOCore
import PortTestSupport

@testable import RedisClient
@testable import Sender
@testable import TokenState

/// The Redis server of a world: what is known of each token, by its bucket and field. No bundle is large enough for
/// a second bucket.
final class SimulatedRedis {
    private unowned let world: World
    private(set) var tokens: [[UInt8]: TokenRecord] = [:]
    private(set) var awayUntil: VirtualTime = 0
    /// Its clock is so far ahead.
    var skewSeconds: Int64 = 0
    /// Tokens that were asked for.
    private(set) var lookUps = 0
    /// Tokens whose buckets hold something of another type.
    private(set) var brokenTokens: Set<Int> = []
    /// Tokens of which that was so, up to when.
    private var mendedTokens: [Int: VirtualTime] = [:]
    /// Strings, with the time at which each goes.
    private var strings: [[UInt8]: (value: String, end: VirtualTime)] = [:]
    private(set) var badges = BadgeModel()
    /// Buckets that hold a token which was registered.
    private var registeredBuckets: Set<[UInt8]> = []
    /// Of a reply that is an error.
    static let wrongType = -1

    init(world: World) {
        self.world = world
    }

    var isAway: Bool { world.clock.now < awayUntil }

    func goAway(for time: VirtualTime) {
        awayUntil = max(awayUntil, world.clock.now + time)
    }

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
        var record = tokens[key] ?? TokenRecord()
        guard seconds > record.registeredAt else { return }
        record.registeredAt = seconds
        if record.tombstonedAt <= seconds {
            record.tombstonedAt = 0
            record.reason = .none
        }
        tokens[key] = record
        registeredBuckets.insert(Array(key.dropLast(World.fieldBytes)))
        if !record.isDead { world.auditor.registered(key) }
    }

    /// Some worker has noted that it committed a position of the partition.
    func isMarked(_ partition: Int32) -> Bool {
        string(Array("m:{\(World.requests):\(partition)}:position".utf8)) != nil
    }

    /// Executes a command of the shard.
    func execute(_ arguments: [[UInt8]], by worker: SimulatedWorker, replyInto arena: inout ReplyArena) -> Int {
        arena.reset()
        guard let root = arena.reserve(nodes: 1) else { return 0 }
        if !brokenTokens.isEmpty, isBroken(arguments) { return Self.wrongType }
        switch arguments.first.map({ String(decoding: $0, as: UTF8.self) }) {
        case "HGET":
            lookUps += 1
            answer(tokens[arguments[1] + arguments[2]]?.bytes, at: root, in: &arena)
        case "EVALSHA" where arguments[1] == TokenScripts.tombstone.digest:
            answer(tombstone(arguments, by: worker), at: root, in: &arena)
        case "GET": answer(string(arguments[1]).map { Array($0.utf8) }, at: root, in: &arena)
        case "SET" where arguments.count == 3:
            strings[arguments[1]] = (String(decoding: arguments[2], as: UTF8.self), .max)
            answer(Array("OK".utf8), at: root, in: &arena)
        case "SET":
            write(arguments[1], String(decoding: arguments[2], as: UTF8.self), milliseconds: Self.number(arguments[4]))
            answer(Array("OK".utf8), at: root, in: &arena)
        case "EVALSHA" where arguments[1] == CoalesceScript.coalesce.digest:
            answer(coalesce(arguments[3], arguments[4...].map(Self.number)), at: root, in: &arena)
        case "EVALSHA" where arguments[1] == MissingCertificates.miss.digest:
            answer(missedSince(arguments[3], arguments[4...].map(Self.number)), at: root, in: &arena)
        case "EVALSHA" where arguments[1] == RegisteredTokenSearch.script.digest:
            answer(registeredBuckets.contains(arguments[3]) ? 1 : 0, at: root, in: &arena)
        case "EVALSHA" where arguments[1] == BadgeScript.change.digest:
            answer(badges.change(arguments[3], Array(arguments[4...])), at: root, in: &arena)
        case "EVALSHA" where arguments[1] == BadgeScript.takeBack.digest:
            answer(badges.takeBack(arguments[3], Array(arguments[4...])), at: root, in: &arena)
        case "TIME": answerTime(at: root, in: &arena)
        case "DEL": answer(strings.removeValue(forKey: arguments[1]) == nil ? 0 : 1, at: root, in: &arena)
        case let other:
            preconditionFailure("the simulated Redis does not know \(other ?? "an empty command")")
        }
        return root
    }

    private func isBroken(_ arguments: [[UInt8]]) -> Bool {
        let isScript = arguments.count > 6 && arguments[2] == [UInt8(ascii: "2")]
        guard isScript || arguments.count == 3,
            let token = world.tokens.byKey[isScript ? arguments[4] + arguments[6] : arguments[1] + arguments[2]]
        else { return false }
        return brokenTokens.contains(token)
    }

    private static func number(_ text: [UInt8]) -> Int { Int(String(decoding: text, as: UTF8.self)) ?? 0 }

    private func string(_ key: [UInt8]) -> String? {
        guard let known = strings[key], world.clock.now < known.end else { return nil }
        return known.value
    }

    private func write(_ key: [UInt8], _ value: String, milliseconds: Int) {
        strings[key] = (value, world.clock.now + .milliseconds(milliseconds))
    }

    /// The script's rule. Arguments: now, window, stamp (milliseconds, offset), whether it is due.
    private func coalesce(_ key: [UInt8], _ arguments: [Int]) -> Int {
        let (now, window, isDue) = (arguments[0], arguments[1], arguments[4] == 1)
        let stamp = (arguments[2], arguments[3])
        let value = string(key).map { $0.split(separator: " ").compactMap { Int($0) } }
        var opened = value?[0] ?? 0
        var sent = value.map { ($0[1], $0[2]) } ?? (-1, -1)
        func write() { self.write(key, "\(opened) \(sent.0) \(sent.1)", milliseconds: max(1, 2 * window)) }
        if stamp == sent { return 0 }
        if stamp < sent { return isDue ? -1 : 0 }
        if opened == 0, value != nil || !isDue {
            opened = now
            write()
            return window
        }
        if opened > 0 {
            let rest = min(window, opened + window - now)
            if rest > 0 { return rest }
        }
        if isDue {
            opened = 0
            sent = stamp
            write()
        }
        return 0
    }

    /// The script's rule. Arguments: now, life, whether it begins anew.
    private func missedSince(_ key: [UInt8], _ arguments: [Int]) -> Int {
        let known = arguments[2] == 0 ? string(key).flatMap { Int($0) } : nil
        let since = known ?? arguments[0]
        write(key, "\(since)", milliseconds: arguments[1])
        return since
    }

    private func answer(_ number: Int, at root: Int, in arena: inout ReplyArena) {
        arena.set(root, .init(kind: .integer, count: 0, value: Int64(number)))
    }

    private func answer(_ value: [UInt8]?, at root: Int, in arena: inout ReplyArena) {
        guard let value, let place = value.withUnsafeBytes({ arena.append($0) }) else {
            return arena.set(root, .init(kind: .null, count: 0, value: 0))
        }
        arena.set(root, .init(kind: .string, count: UInt32(value.count), value: Int64(place)))
    }

    /// The server's clock is right unless it was set, whatever those of the workers say.
    var unixSeconds: Int64 { Int64(World.unixSeconds(world.clock.now)) + skewSeconds }

    private func answerTime(at root: Int, in arena: inout ReplyArena) {
        let microseconds = (world.clock.now - World.start) % .seconds(1) / 1000
        let texts = ["\(unixSeconds)", "\(microseconds)"]
        guard let first = arena.reserve(nodes: texts.count) else { return }
        arena.set(root, .init(kind: .array, count: UInt32(texts.count), value: Int64(first)))
        for (index, text) in texts.enumerated() { answer(Array(text.utf8), at: first + index, in: &arena) }
    }

    private func answer(_ facts: TokenRecord, at root: Int, in arena: inout ReplyArena) {
        let numbers = [Int64(facts.registeredAt), Int64(facts.tombstonedAt), Int64(facts.reason.rawValue), 0, 1]
        guard let first = arena.reserve(nodes: numbers.count) else { return }
        arena.set(root, .init(kind: .array, count: UInt32(numbers.count), value: Int64(first)))
        for (index, number) in numbers.enumerated() {
            arena.set(first + index, .init(kind: .integer, count: 0, value: number))
        }
    }

    /// The script's rule: only if the last registration is older. Arguments: EVALSHA, digest, 2, directory, bucket,
    /// buckets, field, time, reason.
    private func tombstone(_ arguments: [[UInt8]], by worker: SimulatedWorker) -> TokenRecord {
        let key = arguments[4] + arguments[6]
        var record = tokens[key] ?? TokenRecord()
        guard let at = UInt32(String(decoding: arguments[7], as: UTF8.self)), at > record.registeredAt else {
            return record
        }
        world.auditor.dated(at, by: worker)
        if at > record.tombstonedAt {
            record.tombstonedAt = at
            record.reason = .invalid
            tokens[key] = record
            world.auditor.tombstoned(key, by: worker)
        }
        return record
    }
}
