import NIOCore
import NIOPosix
import RedisClient
import TestSupport

/// A ``RedisCluster`` for tests, which run outside of its event loop. The test closes it.
final class TestClusterClient: Sendable {
    typealias Outcome = Result<ReplyValue, RedisError>

    let eventLoop: any EventLoop
    let states: AsyncStream<RedisConnectionState>
    private let cluster: NIOLoopBoundBox<RedisCluster>

    init(ports: [Int], _ configure: (inout RedisCluster.Configuration) -> Void = { _ in }) async throws {
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        var configuration = RedisCluster.Configuration(
            seeds: ports.map { RedisEndpoint(host: "127.0.0.1", port: $0) }
        ) { endpoint in
            var configuration = RedisConnection.Configuration(endpoint: endpoint)
            configuration.delay = { _ in .milliseconds(5) }
            configuration.commandTimeout = .seconds(60)
            return configuration
        }
        configure(&configuration)
        let (states, continuation) = AsyncStream<RedisConnectionState>.makeStream()
        self.eventLoop = eventLoop
        self.states = states
        cluster = try await eventLoop.submit { [configuration] in
            let cluster = RedisCluster(configuration: configuration, eventLoop: eventLoop)
            cluster.onStateChange = { continuation.yield($0) }
            cluster.start()
            return NIOLoopBoundBox(cluster, eventLoop: eventLoop)
        }.get()
    }

    /// Runs on the event loop.
    func run<Value: Sendable>(_ body: @escaping @Sendable (RedisCluster) throws -> Value) async throws -> Value {
        try await eventLoop.submit { [cluster] in try body(cluster.value) }.get()
    }

    /// Sends commands in one turn of the event loop, each to the slot of its first argument.
    func start(_ commands: [[String]]) -> [EventLoopFuture<Outcome>] {
        let promises = commands.map { _ in eventLoop.makePromise(of: Outcome.self) }
        eventLoop.execute { [cluster] in
            for (words, promise) in zip(commands, promises) {
                cluster.value.send(slot: RedisSlot(key: words[1])) { writer in
                    writer.command(Self.names[words[0]] ?? "UNKNOWN", argumentCount: words.count - 1)
                    for word in words.dropFirst() { writer.argument(word) }
                } _: {
                    promise.succeed($0.map { ReplyValue($0) })
                }
            }
        }
        return promises.map(\.futureResult)
    }

    func command(_ words: String...) async throws -> Outcome {
        try await start([words])[0].get()
    }

    /// The outcomes of commands sent together.
    func all(_ commands: [[String]]) async throws -> [Outcome] {
        var outcomes: [Outcome] = []
        for future in start(commands) { outcomes.append(try await future.get()) }
        return outcomes
    }

    func evaluate(_ script: RedisScript, keys: [String], arguments: [String] = []) -> EventLoopFuture<Outcome> {
        let promise = eventLoop.makePromise(of: Outcome.self)
        eventLoop.execute { [cluster] in
            cluster.value.evaluate(
                script,
                slot: RedisSlot(key: keys[0]),
                keyCount: keys.count,
                argumentCount: arguments.count
            ) { writer in
                for word in keys + arguments { writer.argument(word) }
            } _: {
                promise.succeed($0.map { ReplyValue($0) })
            }
        }
        return promise.futureResult
    }

    /// The number of keys on each master, by a command to the server itself.
    func keyCounts() async throws -> [RedisAddress: ReplyValue] {
        var counts: [RedisAddress: ReplyValue] = [:]
        for master in try await run({ $0.masterAddresses }) {
            let promise = eventLoop.makePromise(of: Outcome.self)
            eventLoop.execute { [cluster] in
                cluster.value.send(to: master) {
                    $0.command("DBSIZE", argumentCount: 0)
                } _: {
                    promise.succeed($0.map { ReplyValue($0) })
                }
            }
            counts[master] = try await promise.futureResult.get().get()
        }
        return counts
    }

    func connected() async {
        for await case .connected in states { return }
    }

    func close() async throws {
        try await run { $0.close() }
    }

    private static let names: [String: StaticString] = [
        "GET": "GET", "INCR": "INCR", "MGET": "MGET", "SET": "SET",
    ]
}
