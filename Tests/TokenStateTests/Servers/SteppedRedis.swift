import PortTestSupport
import PushTopics

@testable import RedisClient

/// A Redis server whose test says when each command runs, and when its answer arrives. It knows HGET and GET.
final class SteppedRedis: RedisPipeline {
    private struct Command {
        let words: [[UInt8]]
        let completion: RedisConnection.Completion
        /// Nil: it has not run.
        var reply: ScriptedReply?
    }

    var hashes: [[UInt8]: [[UInt8]: [UInt8]]] = [:]
    var strings: [[UInt8]: String] = [:]
    var detours = 0
    /// The names of all commands so far.
    private(set) var names: [String] = []
    /// Commands without an answer, oldest first.
    private var open: [Command] = []

    var isReady: Bool { true }
    /// The names of the commands without an answer, oldest first.
    var openNames: [String] { open.map { Self.name(of: $0.words) } }

    func start() {}

    func close() {}

    func send(
        slot: RedisSlot,
        _ write: (inout RedisCommandWriter) -> Void,
        _ completion: @escaping RedisConnection.Completion
    ) {
        let words = WrittenCommand(write).words
        names.append(Self.name(of: words))
        open.append(Command(words: words, completion: completion))
    }

    func evaluate(
        _ script: RedisScript,
        slot: RedisSlot,
        keyCount: Int,
        argumentCount: Int,
        _ write: (inout RedisCommandWriter) -> Void,
        _ completion: @escaping RedisConnection.Completion
    ) {
        completion(.failure(.notSent(reason: "look-ups call no scripts")))
    }

    /// Runs an open command.
    func run(_ index: Int) {
        let words = open[index].words
        let value = words.count == 3 ? hashes[words[1]]?[words[2]] : strings[words[1]].map { Array($0.utf8) }
        open[index].reply = value.map { .string($0) } ?? .null
    }

    /// The answer of a command that has run arrives.
    func handOver(_ index: Int) {
        let command = open.remove(at: index)
        guard let reply = command.reply else { preconditionFailure("a command is answered that has not run") }
        reply.hand(to: command.completion)
    }

    /// The connection is lost: no open command has an answer.
    func lose() {
        let lost = open
        open = []
        for command in lost { command.completion(.failure(.maybeExecuted(reason: "connection lost"))) }
    }

    /// A round trip: all open commands run, and are answered in their order. What that leads to is open afterwards.
    func answerAll() {
        let count = open.count
        for index in 0..<count { run(index) }
        for _ in 0..<count { handOver(0) }
    }

    private static func name(of words: [[UInt8]]) -> String { String(decoding: words[0], as: UTF8.self) }
}
