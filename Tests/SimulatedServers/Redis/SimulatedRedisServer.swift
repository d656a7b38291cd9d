@testable import RedisClient
@testable import TokenState

/// A Redis server in memory, as far as roles ask one: strings, hashes, the time, and the rules of scripts in Swift.
///
/// Its answers are those of a real server: tests of scripts run on both (`TokenStore.Server`).
final class SimulatedRedisServer {
    /// The rule of a script.
    typealias Rule = @Sendable (SimulatedRedisServer, WrittenCommand) -> SimulatedReply

    /// UNIX nanoseconds.
    var clock: () -> Int64 = { 0 }
    /// Its clock tells a time that is so far ahead.
    var skewSeconds: Int64 = 0
    var hashes: [[UInt8]: [[UInt8]: [UInt8]]] = [:]
    var badges = BadgeModel()
    /// By the scripts' digests.
    var rules = SimulatedRedisServer.tokenRules
    /// Each with the time at which it goes.
    private var strings: [[UInt8]: (value: [UInt8], end: Int64)] = [:]

    /// The text of a key; setting it keeps it for ever.
    subscript(key: [UInt8]) -> String? {
        get { bytes(key).map { String(decoding: $0, as: UTF8.self) } }
        set { strings[key] = newValue.map { (value: Array($0.utf8), end: .max) } }
    }

    /// The keys of strings, in order.
    var keys: [[UInt8]] { strings.keys.filter { bytes($0) != nil }.sorted { $0.lexicographicallyPrecedes($1) } }

    private func bytes(_ key: [UInt8]) -> [UInt8]? {
        guard let known = strings[key], clock() < known.end else { return nil }
        return known.value
    }

    /// Sets a key, which goes after some time.
    func set(_ key: [UInt8], _ value: String, milliseconds: Int) {
        strings[key] = (Array(value.utf8), clock() + Int64(milliseconds) * 1_000_000)
    }

    func run(_ command: WrittenCommand) -> SimulatedReply {
        guard let script = command.script else { return run(command.words) }
        guard let rule = rules[script.digest] else {
            preconditionFailure("the simulated Redis does not know the script \(script.source)")
        }
        return rule(self, command)
    }

    private func run(_ words: [[UInt8]]) -> SimulatedReply {
        let name = String(decoding: words[0], as: UTF8.self)
        switch (name, words.count) {
        case ("TIME", 1): return time
        case ("PING", 1): return .status("PONG")
        case ("HGET", 3):
            guard bytes(words[1]) == nil else { return .wrongType }
            return hashes[words[1]]?[words[2]].map { .string($0) } ?? .null
        case ("HSET", 4):
            hashes[words[1], default: [:]][words[2]] = words[3]
            return .integer(1)
        case ("GET", 2):
            guard hashes[words[1]] == nil else { return .wrongType }
            return bytes(words[1]).map { .string($0) } ?? .null
        case ("SET", 3...5):
            // Behind the value nothing, NX, or PX and milliseconds.
            guard words.count != 4 || bytes(words[1]) == nil else { return .null }
            let life = words.count == 5 ? Int64(String(decoding: words[4], as: UTF8.self)) : nil
            strings[words[1]] = (words[2], life.map { clock() + $0 * 1_000_000 } ?? .max)
            hashes[words[1]] = nil
            return .status("OK")
        case ("DEL", 2):
            let isThere = bytes(words[1]) != nil || hashes[words[1]] != nil
            strings[words[1]] = nil
            hashes[words[1]] = nil
            return .integer(isThere ? 1 : 0)
        case ("PTTL", 2):
            guard bytes(words[1]) != nil, let end = strings[words[1]]?.end else { return .integer(-2) }
            return .integer(end == .max ? -1 : (end - clock()) / 1_000_000)
        case ("EVAL", 4...) where words[1] == Array(Self.call.utf8): return run(Array(words[3...]))
        default: preconditionFailure("the simulated Redis does not know \(name) of \(words.count) words")
        }
    }

    /// The script by which ``TokenStore`` calls any command.
    static let call = "return redis.call(unpack(ARGV))"

    /// UNIX nanoseconds as its clock tells them.
    var toldTime: Int64 { clock() + skewSeconds * 1_000_000_000 }

    private var time: SimulatedReply {
        let (seconds, rest) = toldTime.quotientAndRemainder(dividingBy: 1_000_000_000)
        return .array([.text("\(seconds)"), .text("\(rest / 1000)")])
    }
}
