import NIOCore
import NIOEmbedded
import PipelineCore
import PortTestSupport
import PushTopics
import TokenState

@testable import RedisClient

/// Knows nothing of any token, remembers requests, and answers for windows what it is told. While it is away nothing is
/// answered in time; while it is mute, nothing before it is closed. What it has no room for is refused at once.
final class ScriptedRedis: RedisPipeline {
    var isAway = false
    var isMute = false
    /// For how many more questions, calls of scripts and questions for the number of a tag's buckets apart.
    var room = Int.max
    /// The answer of ``CoalesceScript``: milliseconds.
    var window: Int64 = 0
    /// Refuses the next requests that it is to remember, each with the first of these.
    var refusals: [RedisError] = []
    /// Keys of the requests that it remembers, in order.
    var remembered: [[UInt8]] = []
    /// Keys of the requests that it was asked for, in order.
    private(set) var askedRequests: [[UInt8]] = []
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
            return answer(.null, completion)
        }
        questions += 1
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
        let isWindow = script.digest == CoalesceScript.coalesce.digest
        questions += 1
        if isWindow { windowQuestions += 1 }
        answer(isWindow ? .integer(window) : .null, completion)
    }

    private static func asksForDirectory(_ words: [[UInt8]]) -> Bool {
        words.dropFirst().contains { $0.starts(with: Array("n2:{".utf8)) }
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
