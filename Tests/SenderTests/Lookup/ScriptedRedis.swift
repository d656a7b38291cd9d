import NIOCore
import NIOEmbedded
import PipelineCore
import PortTestSupport
import PushTopics

@testable import RedisClient
@testable import TokenState

/// Knows nothing of any token but its registration, remembers requests, takes every tombstone since that, and answers
/// for windows what it is told. While it is away nothing is answered in time; while it is mute, nothing before it is
/// closed. It refuses at once what it has no room for.
final class ScriptedRedis: RedisPipeline {
    var isAway = false
    var isMute = false
    /// For how many more questions; calls of scripts, and questions for the number of a tag's buckets or for the time,
    /// do not count.
    var room = Int.max
    /// The answer of ``CoalesceScript``: milliseconds.
    var window: Int64 = 0
    /// Refuses the next requests that it is to remember, each with the first of these.
    var refusals: [RedisError] = []
    /// The answer to every question about a token; nil: it knows nothing of any.
    var refusal: RedisError?
    /// Loses the connection before the next answers about a tag's buckets, so many times.
    var lostDirectoryAnswers = 0
    /// Keys of the requests that it remembers, in order.
    var remembered: [[UInt8]] = []
    /// Keys of the requests that it was asked for, in order.
    private(set) var askedRequests: [[UInt8]] = []
    /// The numbers of tokens.
    private(set) var badges = BadgeModel()
    /// Keys of the numbers that were changed or taken back, in order.
    private(set) var badgeKeys: [[UInt8]] = []
    /// Refuses the next changes of numbers, and takings back, each with the first of these.
    var badgeRefusals: [RedisError] = []
    /// The marks of partitions that were read, by key.
    var marks: [[UInt8]: String] = [:]
    /// Its clock, UNIX milliseconds.
    var clock: Int64 = 0
    /// The last registration of every token, UNIX seconds; 0: it knows of none. A tombstone is newer, or is not taken.
    var registeredAt: Int64 = 0
    /// Refuses the next tombstones, each with the first of these.
    var tombstoneRefusals: [RedisError] = []
    /// Times of the tombstones that it was told of, UNIX seconds.
    private(set) var tombstones: [Int] = []
    /// But for those for the number of a tag's buckets.
    private(set) var questions = 0
    private(set) var directoryQuestions = 0
    private(set) var windowQuestions = 0
    private let eventLoop: EmbeddedEventLoop
    private var unanswered: [RedisConnection.Completion] = []
    private var isClosed = false
    private static let timeout = TimeAmount.seconds(1)
    /// Questions that are put to a closed connection; more would go on for ever.
    private static let patience = 100

    init(on eventLoop: EmbeddedEventLoop) {
        self.eventLoop = eventLoop
    }

    var isReady: Bool { !isAway && !isClosed }

    func start() {}

    func send(
        slot: RedisSlot,
        _ write: (inout RedisCommandWriter) -> Void,
        _ completion: @escaping RedisConnection.Completion
    ) {
        let words = WrittenCommand(write).words
        if Self.asksForDirectory(words) {
            directoryQuestions += 1
            if lostDirectoryAnswers > 0 {
                lostDirectoryAnswers -= 1
                return refuse(.maybeExecuted(reason: "the connection was lost"), completion)
            }
            return answer(.null, completion)
        }
        if words.count > 1, words[1].suffix(10) == Array("}:position".utf8)[...] {
            if words.count > 2, !isAway, !isMute { marks[words[1]] = String(decoding: words[2], as: UTF8.self) }
            let known = words.count > 2 ? nil : marks[words[1]]
            return answer(known.map { .string(Array($0.utf8)) } ?? .null, completion)
        }
        questions += 1
        guard words[0] != Array("TIME".utf8) else {
            return answer(.strings(["\(clock / 1000)", "\(clock % 1000 * 1000)"]), completion)
        }
        guard room > 0 else { return completion(.failure(.notSent(reason: "no room"))) }
        room -= 1
        switch String(decoding: words[0], as: UTF8.self) {
        case "GET":
            askedRequests.append(words[1])
            answer(remembered.contains(words[1]) ? .integer(1) : .null, completion)
        case "SET":
            if !refusals.isEmpty { return refuse(refusals.removeFirst(), completion) }
            if !isMute, !isAway { remembered.append(words[1]) }
            answer(.null, completion)
        case "HGET":
            if let refusal { return refuse(refusal, completion) }
            answer(.null, completion)
        default:
            answer(.null, completion)
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
        questions += 1
        switch script.digest {
        case CoalesceScript.coalesce.digest:
            windowQuestions += 1
            answer(.integer(window), completion)
        case TokenScripts.tombstone.digest:
            // Directory, bucket, number of buckets, token, time, reason.
            let call = WrittenCommand(keyCount: keyCount, argumentCount: argumentCount, write)
            let seconds = call.number(4) ?? 0
            tombstones.append(seconds)
            if !tombstoneRefusals.isEmpty { return refuse(tombstoneRefusals.removeFirst(), completion) }
            let isDead = Int64(seconds) > registeredAt
            let death = isDead ? [Int64(seconds), Int64(call.number(5) ?? 0)] : [0, 0]
            answer(.integers([registeredAt] + death + [0, 1]), completion)
        case BadgeScript.change.digest, BadgeScript.takeBack.digest:
            if !badgeRefusals.isEmpty { return refuse(badgeRefusals.removeFirst(), completion) }
            guard !isMute, !isAway else { return answer(.null, completion) }
            let words = WrittenCommand(keyCount: keyCount, argumentCount: argumentCount, write).words
            let arguments = Array(words.dropFirst())
            badgeKeys.append(words[0])
            let isChange = script.digest == BadgeScript.change.digest
            let number =
                isChange ? badges.change(words[0], arguments) : badges.takeBack(words[0], arguments)
            answer(.integer(Int64(number)), completion)
        default:
            answer(.null, completion)
        }
    }

    /// The number of the token whose number was changed first.
    var badge: UInt32? { badgeKeys.first.map { badges.number($0) } }

    private static func asksForDirectory(_ words: [[UInt8]]) -> Bool {
        words.dropFirst().contains { $0.starts(with: Array("n3:{".utf8)) }
    }

    private func refuse(_ error: RedisError, _ completion: @escaping RedisConnection.Completion) {
        eventLoop.execute { completion(.failure(error)) }
    }

    private func answer(_ reply: ScriptedReply, _ completion: @escaping RedisConnection.Completion) {
        if isClosed {
            if questions + directoryQuestions < Self.patience { completion(.failure(.closed)) }
        } else if isMute {
            unanswered.append(completion)
        } else if isAway {
            _ = eventLoop.scheduleTask(in: Self.timeout) { completion(.failure(.timeout(after: Self.timeout))) }
        } else {
            eventLoop.execute { reply.hand(to: completion) }
        }
    }

    func close() {
        isClosed = true
        let unanswered = unanswered
        self.unanswered = []
        for completion in unanswered { completion(.failure(.closed)) }
    }
}
