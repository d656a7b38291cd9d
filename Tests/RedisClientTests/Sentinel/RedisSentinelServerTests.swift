import NIOCore
import RedisClient
import TestSupport
import Testing

/// Clients that ask sentinels for the master.
@Suite("A master that sentinels name", .timeLimit(.minutes(2)))
struct RedisSentinelServerTests {
    private static let increment = RedisScript("return redis.call('INCR', KEYS[1])")

    private static func client(
        sentinels ports: [Int],
        password: String? = nil,
        patience: TimeAmount = .seconds(5)
    ) async throws -> TestClusterClient {
        let sentinels = ports.map { port in
            var sentinel = RedisConnection.Configuration(
                endpoint: RedisEndpoint(host: "127.0.0.1", port: port, password: password)
            )
            sentinel.connectTimeout = patience
            sentinel.commandTimeout = patience
            return sentinel
        }
        return try await TestClusterClient(ports: [ports[0]]) { configuration in
            let connection = configuration.connection
            configuration.kind = .single
            configuration.connection = { endpoint in
                var server = connection(endpoint)
                server.sentinels = RedisSentinels(master: RedisSentinelProcesses.master, connections: sentinels)
                return server
            }
        }
    }

    /// A sentinel that answers every question with this server.
    private static func sentinel(naming port: Int) async throws -> FakeServer {
        try await FakeServer { _, channel, _ in
            channel.answer("*2\r\n$9\r\n127.0.0.1\r\n$\("\(port)".utf8.count)\r\n\(port)\r\n")
        }
    }

    /// The first lost connection, or attempt in vain, from now on.
    private static func loss(of client: TestClusterClient) async -> RedisDisconnection? {
        for await case .disconnected(let cause) in client.states { return cause }
        return nil
    }

    private static func masters(of client: TestClusterClient) async throws -> [Int] {
        try await client.run { $0.masterAddresses.map(\.port) }
    }

    @Test("When the master is killed, waiting commands run in order on the replica that the sentinels promote")
    func failsOver() async throws {
        let servers = try RedisSentinelProcesses(password: "watch")
        let client = try await Self.client(sentinels: servers.sentinels.map(\.port), password: "watch")
        #expect(try await client.command("INCR", "n") == .success(.integer(1)))
        let script = try await client.evaluate(Self.increment, keys: ["s"]).get()
        #expect(script == .success(.integer(1)))
        #expect(try await Self.masters(of: client) == [servers.first.port])
        // The replica has it all.
        #expect(try servers.first.command("WAIT", "1", "0").contains("1"))

        servers.first.kill()
        #expect(await Self.loss(of: client)?.address == "127.0.0.1:\(servers.first.port)")
        let outcomes = try await client.all([["INCR", "n"], ["INCR", "n"], ["GET", "n"]])
        #expect(outcomes == [.success(.integer(2)), .success(.integer(3)), .success(.text("3"))])
        let again = try await client.evaluate(Self.increment, keys: ["s"]).get()
        #expect(again == .success(.integer(2)))
        #expect(try await Self.masters(of: client) == [servers.second.port])
        #expect(try servers.second.command("GET", "n").contains("3"))
        try await client.close()
    }

    @Test("Sentinels that are away, silent, none, or know no such master are passed over")
    func passedOver() async throws {
        let server = try RedisServerProcess()
        let silent = try await FakeServer(login: { _ in nil }, behaviour: { _, _, _ in })
        let ignorant = try await FakeServer { _, channel, _ in channel.answer("*-1\r\n") }
        let good = try await Self.sentinel(naming: server.port)
        let client = try await Self.client(
            sentinels: [try freePort(), server.port, silent.port, ignorant.port, good.port],
            patience: .milliseconds(300)
        )
        #expect(try await client.command("SET", "a", "b") == .success(.status("OK")))
        #expect(try await Self.masters(of: client) == [server.port])
        #expect(try server.command("GET", "a").contains("b"))
        try await client.close()
        for fake in [silent, ignorant, good] { try await fake.close() }
    }

    @Test("Where no sentinel names a master, the reason names each of them, and they are asked again")
    func inVain() async throws {
        let server = try RedisServerProcess()
        let ignorant = try await FakeServer { _, channel, _ in channel.answer("*-1\r\n") }
        let away = try freePort()
        let client = try await Self.client(sentinels: [away, server.port, ignorant.port])
        for _ in 0..<3 {
            let reason = await Self.loss(of: client)?.reason ?? ""
            #expect(reason.contains("no sentinel tells the address of the master \"\(RedisSentinelProcesses.master)\""))
            #expect(reason.contains("127.0.0.1:\(away): "))
            #expect(reason.contains("127.0.0.1:\(server.port): it is no sentinel"))
            #expect(reason.contains("127.0.0.1:\(ignorant.port): it watches over no master of that name"))
        }
        let isReady = try await client.run { $0.isReady }
        #expect(!isReady)
        try await client.close()
        try await ignorant.close()
    }

    @Test("A password that no sentinel accepts is an authentication failure")
    func wrongPassword() async throws {
        let servers = try (0..<2).map { _ in try RedisServerProcess(arguments: ["--requirepass", "right"]) }
        let client = try await Self.client(sentinels: servers.map(\.port), password: "wrong")
        let loss = try #require(await Self.loss(of: client))
        #expect(loss.isAuthenticationFailure)
        #expect(loss.reason.contains("127.0.0.1:\(servers[1].port): "))
        try await client.close()
    }

    @Test("A sentinel's word is not taken for a master that is none: the next sentinel is asked")
    func proven() async throws {
        let master = try RedisServerProcess()
        let replica = try RedisServerProcess(arguments: ["--replicaof", "127.0.0.1", "\(try freePort())"])
        let behind = try await Self.sentinel(naming: replica.port)
        let good = try await Self.sentinel(naming: master.port)
        let client = try await Self.client(sentinels: [behind.port, good.port])
        let loss = await Self.loss(of: client)
        #expect(loss?.address == "127.0.0.1:\(replica.port)" && loss?.reason == "the server is a replica")
        #expect(try await client.command("SET", "a", "b") == .success(.status("OK")))
        #expect(try await Self.masters(of: client) == [master.port])
        #expect(try master.command("GET", "a").contains("b"))
        try await client.close()
        for fake in [behind, good] { try await fake.close() }
    }

    @Test("A close ends a search, and waiting commands as closed")
    func closed() async throws {
        let (asked, question) = AsyncStream<Void>.makeStream()
        let silent = try await FakeServer { _, _, _ in question.yield() }
        let client = try await Self.client(sentinels: [silent.port], patience: .hours(1))
        let waiting = client.start([["SET", "a", "b"]])
        for await _ in asked { break }
        try await client.close()
        #expect(try await waiting[0].get() == .failure(.closed))
        try await silent.close()
    }
}
