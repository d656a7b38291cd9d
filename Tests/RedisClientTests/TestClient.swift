import NIOCore
import NIOPosix
import RedisClient

/// A ``RedisConnection`` for tests, which run outside of its event loop. The test closes it.
final class TestClient: Sendable {
    typealias Outcome = Result<ReplyValue, RedisError>

    let eventLoop: any EventLoop
    /// Every change of state, from the start on.
    let states: AsyncStream<RedisConnectionState>
    private let connection: NIOLoopBoundBox<RedisConnection>

    init(
        _ endpoint: RedisEndpoint,
        on eventLoop: any EventLoop = MultiThreadedEventLoopGroup.singleton.next(),
        _ configure: (inout RedisConnection.Configuration) -> Void = { _ in }
    ) async throws {
        var configuration = RedisConnection.Configuration(endpoint: endpoint)
        configuration.delay = { _ in .milliseconds(5) }
        configure(&configuration)
        let (states, continuation) = AsyncStream<RedisConnectionState>.makeStream()
        self.eventLoop = eventLoop
        self.states = states
        connection = try await eventLoop.submit { [configuration] in
            let connection = RedisConnection(configuration: configuration, eventLoop: eventLoop)
            connection.onStateChange = { continuation.yield($0) }
            connection.start()
            return NIOLoopBoundBox(connection, eventLoop: eventLoop)
        }.get()
    }

    convenience init(
        port: Int,
        _ configure: (inout RedisConnection.Configuration) -> Void = { _ in }
    ) async throws {
        try await self.init(RedisEndpoint(host: "127.0.0.1", port: port), configure)
    }

    /// Runs on the event loop.
    func run<Value: Sendable>(_ body: @escaping @Sendable (RedisConnection) throws -> Value) async throws -> Value {
        try await eventLoop.submit { [connection] in try body(connection.value) }.get()
    }

    /// Sends the commands in one turn of the event loop; the words of each are separated by spaces.
    func start(_ commands: [String]) -> [EventLoopFuture<Outcome>] {
        let promises = commands.map { _ in eventLoop.makePromise(of: Outcome.self) }
        eventLoop.execute { [connection] in
            for (command, promise) in zip(commands, promises) {
                connection.value.send(words: command) { promise.succeed($0.map { ReplyValue($0) }) }
            }
        }
        return promises.map(\.futureResult)
    }

    func all(_ commands: [String]) async throws -> [Outcome] {
        var outcomes: [Outcome] = []
        for future in start(commands) { outcomes.append(try await future.get()) }
        return outcomes
    }

    func command(_ command: String) async throws -> Outcome {
        try await all([command])[0]
    }

    func evaluate(_ script: RedisScript, keys: [String] = [], arguments: [String] = []) -> EventLoopFuture<Outcome> {
        let promise = eventLoop.makePromise(of: Outcome.self)
        eventLoop.execute { [connection] in
            connection.value.evaluate(script, keyCount: keys.count, argumentCount: arguments.count) { writer in
                for word in keys + arguments { writer.argument(word) }
            } _: {
                promise.succeed($0.map { ReplyValue($0) })
            }
        }
        return promise.futureResult
    }

    /// The first disconnection from now on.
    func disconnection() async -> RedisDisconnection? {
        for await case .disconnected(let disconnection) in states { return disconnection }
        return nil
    }

    func connected() async {
        for await case .connected in states { return }
    }

    func close() async throws {
        try await run { $0.close() }
    }
}

extension RedisConnection {
    func send(words command: String, _ completion: @escaping Completion) {
        // By bytes: some values are megabytes, and splitting these by characters would hold the event loop up.
        let words = command.utf8.split(separator: UInt8(ascii: " ")).map { String(Substring($0)) }
        send { writer in
            // Only the first word has a static type; ECHO and its like have all others as arguments.
            writer.command(Self.names[words[0]] ?? "UNKNOWN", argumentCount: words.count - 1)
            for word in words.dropFirst() { writer.argument(word) }
        } _: {
            completion($0)
        }
    }

    /// Sends an ECHO of so many bytes.
    func sendEcho(byteCount: Int, _ completion: @escaping Completion) {
        send { writer in
            writer.command("ECHO", argumentCount: 1)
            writer.argument(byteCount: byteCount) { $0.initializeMemory(as: UInt8.self, repeating: 0x78) }
        } _: {
            completion($0)
        }
    }

    private static let names: [String: StaticString] = [
        "AUTH": "AUTH", "BLPOP": "BLPOP", "CLIENT": "CLIENT", "ECHO": "ECHO", "EXEC": "EXEC", "GET": "GET",
        "INCR": "INCR", "LPUSH": "LPUSH", "MGET": "MGET", "MULTI": "MULTI", "PING": "PING", "SCRIPT": "SCRIPT",
        "SET": "SET", "STRLEN": "STRLEN",
    ]
}
