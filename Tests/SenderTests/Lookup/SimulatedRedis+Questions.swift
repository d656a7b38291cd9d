@testable import PipelineTestSupport
@testable import RedisClient
@testable import SimulatedServers
@testable import TokenState

/// The questions of a worker, and what it left in Redis.
extension SimulatedRedis {
    /// Keys of the requests that it was asked for, in order.
    var askedRequests: [[UInt8]] {
        sent.filter { $0.name == "GET" && $0.words[1].starts(with: "d:".utf8) }.map { $0.words[1] }
    }

    /// Keys of the requests that it remembers, in order.
    var remembered: [[UInt8]] { answered.filter { $0.name == "SET" && $0.words.count == 5 }.map { $0.words[1] } }

    /// Keys of the numbers that were changed or taken back, in order.
    var badgeKeys: [[UInt8]] {
        let kinds: Set<WrittenCommand.Kind> = [.calls(BadgeScript.change), .calls(BadgeScript.takeBack)]
        return answered.filter { kinds.contains($0.kind) }.map { $0.words[0] }
    }

    /// The number of the token whose number was changed first.
    var badge: UInt32? { badgeKeys.first.map { server.badges.number($0) } }

    /// Times of the tombstones that it was told of, UNIX seconds.
    var tombstones: [Int] { sent.filter { $0.kind == .calls(TokenScripts.tombstone) }.compactMap { $0.number(4) } }

    /// Questions about windows.
    var windowQuestions: Int { count(.calls(CoalesceScript.coalesce)) }

    /// Answers every question about a window with this: milliseconds.
    func answerWindows(with milliseconds: Int64) {
        fate = { $0.kind == .calls(CoalesceScript.coalesce) ? .answered(.integer(milliseconds)) : .runs }
    }

    /// A token of 32 equal bytes is registered.
    func register(_ token: UInt8, ofBundle bundleID: String, at seconds: UInt32) {
        let place = TokenStore.layout.place(of: [UInt8](repeating: token, count: 32))
        let keys = TokenKeys(environment: TokenStore.environment, bundleID: bundleID)
        var state = TokenModel()
        _ = state.register(at: seconds)
        server.hashes[keys.bucket(0, tag: place.tag), default: [:]][
            TokenStore.layout.field(of: [UInt8](repeating: token, count: 32))
        ] = state.value
        server[keys.directory(tag: place.tag)] = "1"
    }
}
