import NIOCore
import NIOPosix
import PushSchemas
import PushTopics
import RedisClient
import TestSupport

@testable import SimulatedServers
@testable import TokenState

/// Token state in a real server or cluster, or in a simulated server, for tests. The test closes it.
final class TokenStore: Sendable {
    enum Server {
        case real, simulated
    }

    /// The servers that have to answer alike: tests that run on both hold the simulated one to its contract.
    static let both = [Server.real, .simulated]
    static let environment = "sandbox"
    static let bundleID = "com.example.news"
    /// The layout of tokens in the tests' servers.
    static let layout: TokenLayout = {
        guard let layout = TokenLayout(text: "3 000102030405060708090a0b0c0d0e0f") else { preconditionFailure() }
        return layout
    }()

    let eventLoop: any EventLoop
    private let clients: NIOLoopBoundBox<Clients>

    struct Clients {
        var redis: any RedisPipeline
        var table: TokenTable
    }

    convenience init(port: Int, commandTimeout: TimeAmount = .seconds(10)) async throws {
        try await self.init { eventLoop in
            var configuration = RedisConnection.Configuration(endpoint: RedisEndpoint(host: "127.0.0.1", port: port))
            configuration.commandTimeout = commandTimeout
            return RedisConnection(configuration: configuration, eventLoop: eventLoop)
        }
    }

    /// On a simulated server of its own, whose clock stands still.
    convenience init(unixMilliseconds: Int64) async throws {
        try await self.init { eventLoop in
            let redis = SimulatedRedis(on: eventLoop)
            redis.clock = unixMilliseconds
            return redis
        }
    }

    /// - Parameter commandTimeout: a test that meets a cluster which refuses commands for good does not hang.
    convenience init(cluster: RedisClusterProcess, commandTimeout: TimeAmount = .minutes(1)) async throws {
        try await self.init(ports: cluster.servers.map(\.port), commandTimeout: commandTimeout)
    }

    /// - Parameter ports: of servers of a cluster.
    convenience init(ports: [Int], commandTimeout: TimeAmount = .minutes(1)) async throws {
        let seeds = ports.map { RedisEndpoint(host: "127.0.0.1", port: $0) }
        try await self.init { eventLoop in
            let configuration = RedisCluster.Configuration(seeds: seeds) { endpoint in
                var configuration = RedisConnection.Configuration(endpoint: endpoint)
                configuration.commandTimeout = commandTimeout
                return configuration
            }
            return RedisCluster(configuration: configuration, eventLoop: eventLoop)
        }
    }

    /// Writes the layout where there is none, as the first role of an installation does.
    ///
    /// - Parameter connect: makes a client on its event loop.
    private init(_ connect: @escaping @Sendable (any EventLoop) -> any RedisPipeline) async throws {
        let eventLoop = MultiThreadedEventLoopGroup.singleton.any()
        self.eventLoop = eventLoop
        clients = try await eventLoop.submit {
            let redis = connect(eventLoop)
            redis.start()
            return NIOLoopBoundBox(Clients(redis: redis, table: TokenTable(redis, Self.layout)), eventLoop: eventLoop)
        }.get()
        let written: [Result<Void, RedisError>] = try await collect(1) { clients, answer in
            clients.redis.send(slot: TokenLayout.slot) {
                Self.layout.writeCreation(into: &$0)
            } _: { result in
                answer(0, result.map { _ in })
            }
        }
        try written[0].get()
    }

    /// Makes the changes, all at once; returns their answers.
    func make(_ changes: [TokenChange]) async throws -> [Result<TokenFacts, RedisError>] {
        try await collect(changes.count) { clients, answer in
            for (index, change) in changes.enumerated() {
                clients.table.make(change) { answer(index, $0) }
            }
        }
    }

    /// Records of the tokens, as the table finds them.
    func records(_ tokens: [[UInt8]], bundleID: String = TokenStore.bundleID) async throws -> [TokenRecord?] {
        try await collect(tokens.count) { clients, answer in
            let space = clients.table.space(environment: Self.environment, bundleID: bundleID)
            for (index, token) in tokens.enumerated() {
                clients.table.read(token, in: space) { answer(index, $0) }
            }
        }.map { try $0.get() }
    }

    /// Records of the tokens, as the look-up of a batch before sending finds them.
    func lookUps(_ tokens: [[UInt8]]) async throws -> [TokenRecord?] {
        try await collect(tokens.count) { clients, answer in
            let space = clients.table.space(environment: Self.environment, bundleID: Self.bundleID)
            clients.table.together {
                for (index, token) in tokens.enumerated() {
                    // Valid until the answer, as the contract wants it.
                    let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: token.count, alignment: 1)
                    bytes.copyBytes(from: token)
                    let place = UnsafeRawBufferPointer(bytes)
                    clients.table.look(up: place, in: space) { result in
                        answer(index, result.map { $0.flatMap { TokenRecord($0) } })
                        bytes.deallocate()
                    }
                }
            }
        }.map { try $0.get() }
    }

    /// Sets a token's value as it is, while its tag has one bucket.
    func set(_ token: [UInt8], _ value: [UInt8]) async throws {
        _ = try await bytes(Array("HSET".utf8), bucket(of: token), Self.layout.field(of: token), value)
    }

    /// Puts a value of another type in the place of a token's bucket, while its tag has one bucket.
    func setWrongType(_ token: [UInt8]) async throws {
        _ = try await bytes(Array("SET".utf8), bucket(of: token), Array("no hash".utf8))
    }

    /// The key of a token's bucket, while its tag has one.
    func bucket(of token: [UInt8]) -> [UInt8] {
        TokenKeys(environment: Self.environment, bundleID: Self.bundleID)
            .bucket(0, tag: Self.layout.place(of: token).tag)
    }

    /// The raw value of a key; nil if it does not exist.
    func value(_ key: [UInt8]) async throws -> [UInt8]? {
        try await bytes(Array("GET".utf8), key)
    }

    /// For how many milliseconds more the key is kept; negative: for ever, or it is gone.
    func timeToLive(of key: [UInt8]) async throws -> Int {
        Int(try await command(Array("PTTL".utf8), key) ?? "") ?? -3
    }

    /// Tells the client of a simulated server something; does nothing on a real one.
    func onSimulated(_ body: @escaping @Sendable (SimulatedRedis) -> Void) async throws {
        try await eventLoop.submit { [clients] in
            if let redis = clients.value.redis as? SimulatedRedis { body(redis) }
        }.get()
    }

    /// Something else that the table does.
    func table<Value: Sendable>(
        _ call: @escaping @Sendable (TokenTable, @escaping (Result<Value, RedisError>) -> Void) -> Void
    ) async throws -> Value {
        let answers: [Result<Value, RedisError>] = try await collect(1) { clients, answer in
            call(clients.table) { answer(0, $0) }
        }
        return try answers[0].get()
    }

    /// A command's answer as text; nil for null; the elements of an array one per line.
    func command(_ words: [UInt8]...) async throws -> String? {
        try await answer(to: words).map { String(decoding: $0, as: UTF8.self) }
    }

    /// A command's answer as bytes.
    func bytes(_ words: [UInt8]...) async throws -> [UInt8]? {
        try await answer(to: words)
    }

    func close() async throws {
        try await eventLoop.submit { [clients] in clients.value.redis.close() }.get()
    }

    private func answer(to words: [[UInt8]]) async throws -> [UInt8]? {
        let answers: [Result<[UInt8]?, RedisError>] = try await collect(1) { clients, answer in
            // The second word is the key, but for commands that are for single servers only.
            clients.redis.send(slot: RedisSlot(key: words.count > 1 ? words[1] : [])) { writer in
                writer.command("EVAL", argumentCount: 2 + words.count)
                writer.argument(SimulatedRedisServer.call)
                writer.argument(0)
                for word in words { writer.argument(word) }
            } _: { result in
                answer(0, result.map { Self.flat($0) })
            }
        }
        return try answers[0].get()
    }

    private static func flat(_ reply: RedisReply) -> [UInt8]? {
        if reply.isNull { return nil }
        if let number = reply.integer { return Array("\(number)".utf8) }
        if reply.kind == .array {
            return Array((0..<reply.count).map { flat(reply[$0]) ?? [] }.joined(separator: [UInt8(ascii: "\n")]))
        }
        return Array(reply.bytes)
    }

    /// Sends in one turn of the event loop what has so many answers.
    func start<Value: Sendable>(
        _ count: Int,
        _ send:
            @escaping @Sendable (Clients, _ answer: @escaping (Int, Result<Value, RedisError>) -> Void) -> Void
    ) -> [EventLoopFuture<Result<Value, RedisError>>] {
        let promises = (0..<count).map { _ in eventLoop.makePromise(of: Result<Value, RedisError>.self) }
        eventLoop.execute { [clients] in
            send(clients.value) { promises[$0].succeed($1) }
        }
        return promises.map(\.futureResult)
    }

    func collect<Value: Sendable>(
        _ count: Int,
        _ send:
            @escaping @Sendable (Clients, _ answer: @escaping (Int, Result<Value, RedisError>) -> Void) -> Void
    ) async throws -> [Result<Value, RedisError>] {
        var answers: [Result<Value, RedisError>] = []
        for future in start(count, send) { answers.append(try await future.get()) }
        return answers
    }
}

extension TokenChange {
    /// Of a token of the tests' bundle.
    static func of(_ token: [UInt8], _ kind: Kind) -> TokenChange {
        TokenChange(environment: TokenStore.environment, bundleID: TokenStore.bundleID, token: token, kind: kind)
    }
}

/// Runs with a server of its own and the token state in it.
func withTokenStore(
    on server: TokenStore.Server = .real,
    _ body: (TokenStore) async throws -> Void
) async throws {
    let process = try server == .real ? RedisServerProcess() : nil
    let store: TokenStore
    if let process {
        store = try await TokenStore(port: process.port)
    } else {
        store = try await TokenStore(unixMilliseconds: 1_800_000_000_000)
    }
    do {
        try await body(store)
    } catch {
        try await store.close()
        throw error
    }
    try await store.close()
    withExtendedLifetime(process) {}
}
