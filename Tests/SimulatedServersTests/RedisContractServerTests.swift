import NIOCore
import PushTopics
import RedisClient
import Synchronization
import TestSupport
import Testing

@testable import PipelineTestSupport
@testable import SimulatedServers

/// The promises of a client of Redis on which roles rely: the same tests on a real server and on the simulated one. The
/// promises of scripts are tested beside them, on both servers, too.
@Suite struct RedisContractServerTests {
    private static let timeout = TimeAmount.seconds(1)
    /// A command that has no answer in time.
    private static let silent: Command = ("BLPOP", ["nothing", "0"])

    /// Runs with a client of either server. The latter can be killed.
    private func withClient(
        of server: TokenStore.Server,
        _ body: (TokenStore, _ kill: () async throws -> Void) async throws -> Void
    ) async throws {
        let process = try server == .real ? RedisServerProcess() : nil
        let store =
            if let process {
                try await TokenStore(port: process.port, commandTimeout: Self.timeout)
            } else {
                try await TokenStore(unixMilliseconds: 1_800_000_000_000)
            }
        try await store.onSimulated { $0.fate = { $0.name == "BLPOP" ? .timedOut : .runs } }
        do {
            try await body(store) {
                process?.kill()
                try await store.onSimulated { $0.lose() }
            }
        } catch {
            try await store.close()
            throw error
        }
        try await store.close()
    }

    @Test("Commands run and are answered in the order sent, each once", arguments: TokenStore.both)
    func order(on server: TokenStore.Server) async throws {
        try await withClient(of: server) { store, _ async throws in
            let order = Order()
            let answers = try await store.answers(
                to: [("SET", ["a", "1"]), ("GET", ["a"]), ("DEL", ["a"]), ("GET", ["a"]), ("DEL", ["a"])],
                order
            )
            let expected: [SimulatedReply] = [.status("OK"), .text("1"), .integer(1), .null, .integer(0)]
            #expect(answers == expected.map { .success($0) } && order.numbers == Array(0..<5))
        }
    }

    @Test("An error is that of its command alone", arguments: TokenStore.both)
    func error(on server: TokenStore.Server) async throws {
        try await withClient(of: server) { store, _ async throws in
            let answers = try await store.answers(
                to: [
                    ("SET", ["a", "1"]), ("HGET", ["a", "f"]), ("HSET", ["h", "f", "2"]), ("GET", ["h"]),
                    ("GET", ["a"]),
                ]
            )
            let message = "Operation against a key holding the wrong kind of value"
            let error = Answer.failure(.server(prefix: "WRONGTYPE", message: message))
            #expect(answers == [.success(.status("OK")), error, .success(.integer(1)), error, .success(.text("1"))])
        }
    }

    @Test("A key is set once with NX, and goes with its time", arguments: TokenStore.both)
    func strings(on server: TokenStore.Server) async throws {
        try await withClient(of: server) { store, _ async throws in
            let answers = try await store.answers(
                to: [
                    ("SET", ["a", "1", "NX"]), ("SET", ["a", "2", "NX"]), ("PTTL", ["a"]),
                    ("SET", ["a", "3", "PX", "60000"]), ("PTTL", ["a"]), ("PTTL", ["b"]),
                ]
            )
            let life = try answers[4].get()
            #expect((50_000...60_000).contains { .integer($0) == life }, "\(life)")
            let others = [answers[0], answers[1], answers[2], answers[3], answers[5]]
            let expected: [SimulatedReply] = [.status("OK"), .null, .integer(-1), .status("OK"), .integer(-2)]
            #expect(others == expected.map { .success($0) })
        }
    }

    @Test("The time is seconds and microseconds as texts", arguments: TokenStore.both)
    func time(on server: TokenStore.Server) async throws {
        try await withClient(of: server) { store, _ async throws in
            guard case .array(let elements) = try await store.answers(to: [("TIME", [])])[0].get() else {
                Issue.record("no array")
                return
            }
            let numbers = elements.compactMap { element in
                if case .string(let bytes) = element { Int64(String(decoding: bytes, as: UTF8.self)) } else { nil }
            }
            #expect(numbers.count == 2 && numbers[0] > 1_700_000_000 && (0..<1_000_000).contains(numbers[1]))
        }
    }

    @Test("A command without an answer in time fails as such, and later ones are answered", arguments: TokenStore.both)
    func timeout(on server: TokenStore.Server) async throws {
        try await withClient(of: server) { store, _ async throws in
            #expect(try await store.answers(to: [Self.silent]) == [.failure(.timeout(after: Self.timeout))])
            #expect(try await store.answers(to: [("PING", [])]) == [.success(.status("PONG"))])
        }
    }

    @Test("A lost connection leaves open commands as perhaps executed, each once", arguments: TokenStore.both)
    func lost(on server: TokenStore.Server) async throws {
        try await withClient(of: server) { store, kill async throws in
            let open = store.start([("PING", []), Self.silent])
            // Its answer shows that both have been sent.
            #expect(try await open[0].get() == .success(.status("PONG")))
            try await kill()
            let answer = try await open[1].get()
            guard case .failure(.maybeExecuted) = answer else {
                Issue.record("\(answer)")
                return
            }
        }
    }

    @Test("The end fails open commands before it returns, and later ones at once", arguments: TokenStore.both)
    func closed(on server: TokenStore.Server) async throws {
        try await withClient(of: server) { store, _ async throws in
            let order = Order()
            let open = store.start([("PING", []), Self.silent], order)
            _ = try await open[0].get()
            let answers: [Answer] = try await store.collect(1) { clients, answer in
                clients.redis.close()
                order.add(2)
                clients.redis.send(Self.silent) {
                    order.add(3)
                    answer(0, $0)
                }
                order.add(4)
            }
            #expect(answers == [.failure(.closed)] && order.numbers == Array(0..<5))
            let answer = try await open[1].get()
            guard case .failure(.maybeExecuted) = answer else {
                Issue.record("\(answer)")
                return
            }
        }
    }
}

private typealias Answer = Result<SimulatedReply, RedisError>
private typealias Command = (name: StaticString, words: [String])

/// Numbers in the order in which they came.
private final class Order: Sendable {
    private let all = Mutex<[Int]>([])

    var numbers: [Int] { all.withLock { $0 } }

    func add(_ number: Int) { all.withLock { $0.append(number) } }
}

extension RedisPipeline {
    fileprivate func send(_ command: Command, _ answer: @escaping (Answer) -> Void) {
        send(slot: RedisSlot(key: Array((command.words.first ?? "").utf8))) { writer in
            writer.command(command.name, argumentCount: command.words.count)
            for word in command.words { writer.argument(word) }
        } _: {
            answer($0.map { SimulatedReply($0) })
        }
    }
}

extension TokenStore {
    /// Sends the commands in one turn.
    ///
    /// - Parameter order: of the answers.
    fileprivate func start(_ commands: [Command], _ order: Order = Order()) -> [EventLoopFuture<Answer>] {
        start(commands.count) { clients, answer in
            for (index, command) in commands.enumerated() {
                clients.redis.send(command) {
                    order.add(index)
                    answer(index, $0)
                }
            }
        }
    }

    fileprivate func answers(to commands: [Command], _ order: Order = Order()) async throws -> [Answer] {
        var answers: [Answer] = []
        for future in start(commands, order) { answers.append(try await future.get()) }
        return answers
    }
}
