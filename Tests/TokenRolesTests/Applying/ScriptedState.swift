import NIOCore
import NIOEmbedded
import PortTestSupport
import PushTopics

@testable import RedisClient
@testable import TokenState

/// Token state that takes every change, or answers as it is told. Commands are answered when the event loop runs.
final class ScriptedState: RedisPipeline {
    /// Answers to changes of single tokens.
    var errors: [String: RedisError] = [:]
    /// Answers to all calls of a script.
    var scriptErrors: [RedisScript: RedisError] = [:]
    /// The facts with which changes of single tokens are answered, one after the other; then, and of other tokens, that
    /// the token has registered.
    var facts: [String: [TokenFacts]] = [:]
    /// Its clock, UNIX milliseconds.
    var clock: Int64 = 0
    /// Nothing is answered in time.
    var isAway = false
    /// Changes of these tokens are not answered in time.
    var silent: Set<String> = []
    /// The tokens that were changed, in order.
    private(set) var changed: [String] = []
    /// The scripts that made these changes.
    private(set) var scripts: [RedisScript] = []
    /// Changes that were asked for.
    private(set) var calls = 0
    private(set) var isClosed = false

    private let eventLoop: EmbeddedEventLoop
    private static let timeout = TimeAmount.seconds(1)

    init(on eventLoop: EmbeddedEventLoop) {
        self.eventLoop = eventLoop
    }

    var isReady: Bool { !isAway && !isClosed }

    func start() {}

    func close() { isClosed = true }

    func send(
        slot: RedisSlot,
        _ write: (inout RedisCommandWriter) -> Void,
        _ completion: @escaping RedisConnection.Completion
    ) {
        guard WrittenCommand(write).words == [Array("TIME".utf8)] else {
            return completion(.failure(.notSent(reason: "an applier calls scripts only")))
        }
        eventLoop.execute { [clock] in
            ScriptedReply.strings(["\(clock / 1000)", "\(clock % 1000 * 1000)"]).hand(to: completion)
        }
    }

    func evaluate(
        _ script: RedisScript,
        slot: RedisSlot,
        keyCount: Int,
        argumentCount: Int,
        _ write: (inout RedisCommandWriter) -> Void,
        _ completion: @escaping RedisConnection.Completion
    ) {
        calls += 1
        guard !isClosed else { return completion(.failure(.closed)) }
        // Directory, bucket, number of buckets, the token's hash and the token, …
        let call = WrittenCommand(keyCount: keyCount, argumentCount: argumentCount, write)
        let token = String(decoding: call.words[3].dropFirst(TokenPlace.hashBytes), as: UTF8.self)
        guard !isAway, !silent.contains(token) else {
            _ = eventLoop.scheduleTask(in: Self.timeout) { completion(.failure(.timeout(after: Self.timeout))) }
            return
        }
        eventLoop.execute { [self] in
            if let error = errors[token] ?? scriptErrors[script] { return completion(.failure(error)) }
            changed.append(token)
            scripts.append(script)
            ScriptedReply.integers(answer(about: token)).hand(to: completion)
        }
    }

    /// The facts about the token, and the number of its bucket's tokens.
    private func answer(about token: String) -> [Int64] {
        guard let next = facts[token]?.first else { return [1, 0, 0, 0, 1] }
        facts[token]?.removeFirst()
        return [
            Int64(next.registeredAt), Int64(next.tombstonedAt), Int64(next.reason.rawValue), next.wasRevived ? 1 : 0, 1,
        ]
    }
}
