import NIOCore
import RedisClient
import TestSupport
import Testing

/// Servers that take over from each other behind one address.
@Suite("Fail-over behind one address", .timeLimit(.minutes(1)))
struct RedisFailOverTests {
    private static let increment = RedisScript("return redis.call('INCR', KEYS[1])")

    /// A server with the user `ann`, who has this right or lacks it.
    private static func server(_ right: String = "+info") throws -> RedisServerProcess {
        try RedisServerProcess(arguments: [
            "--repl-diskless-sync-delay", "0", "--user", "ann", "on", ">secret", "~*", "+@all", right,
        ])
    }

    private static func client(
        port: Int,
        _ configure: (inout RedisCluster.Configuration) -> Void = { _ in }
    ) async throws -> TestClusterClient {
        try await TestClusterClient(ports: [port]) { configuration in
            configuration.seeds[0].user = "ann"
            configuration.seeds[0].password = "secret"
            configure(&configuration)
        }
    }

    /// The reason of the first lost connection from now on.
    private static func loss(of client: TestClusterClient) async -> String {
        for await case .disconnected(let cause) in client.states { return cause.reason }
        return ""
    }

    @Test(
        "What the old server refuses as a replica runs on the new one, once and in order; the user may lack INFO",
        arguments: ["+info", "-info"]
    )
    func failsOver(right: String) async throws {
        let (old, new) = (try Self.server(right), try Self.server(right))
        let relay = try await SwitchedRelay(to: old.port)
        // The refusal tells, not a look.
        let client = try await Self.client(port: relay.port) { $0.roleInterval = .hours(1) }
        #expect(try await client.command("INCR", "n") == .success(.integer(1)))
        let script = try await client.evaluate(Self.increment, keys: ["s"]).get()
        #expect(script == .success(.integer(1)))
        _ = try new.command("REPLICAOF", "127.0.0.1", "\(old.port)")
        try new.waitForLog("sync: Finished with success", "the replica is not in step")

        _ = try new.command("REPLICAOF", "NO", "ONE")
        relay.lead(to: new.port)
        _ = try old.command("REPLICAOF", "127.0.0.1", "\(new.port)")
        let outcomes = try await client.all([["INCR", "n"], ["INCR", "n"], ["INCR", "n"]])
        #expect(outcomes == [.success(.integer(2)), .success(.integer(3)), .success(.integer(4))])
        let again = try await client.evaluate(Self.increment, keys: ["s"]).get()
        #expect(again == .success(.integer(2)))
        #expect(try new.command("GET", "n").contains("4"))
        let isReady = try await client.run { $0.isReady }
        #expect(isReady)
        try await client.close()
        try await relay.close()
    }

    @Test(
        "A first server that is a replica is waited for, with the reason told, until it or another is a master",
        arguments: [RedisCluster.Configuration.Kind.detect, .single]
    )
    func replicaAtFirst(kind: RedisCluster.Configuration.Kind) async throws {
        let server = try Self.server()
        _ = try server.command("REPLICAOF", "127.0.0.1", "\(try freePort())")
        let client = try await Self.client(port: server.port) { $0.kind = kind }
        let waiting = client.start([["SET", "a", "b"]])
        for _ in 0..<3 {
            #expect(await Self.loss(of: client).contains("the server is a replica"))
            let isReady = try await client.run { $0.isReady }
            #expect(!isReady)
        }
        _ = try server.command("REPLICAOF", "NO", "ONE")
        #expect(try await waiting[0].get() == .success(.status("OK")))
        #expect(try await client.command("GET", "a") == .success(.text("b")))
        await client.connected()
        try await client.close()
    }

    @Test("A client that changes nothing finds out by itself that its server is a replica, and when it is a master")
    func look() async throws {
        let server = try Self.server()
        let client = try await Self.client(port: server.port) { $0.roleInterval = .milliseconds(20) }
        await client.connected()
        _ = try server.command("REPLICAOF", "127.0.0.1", "\(try freePort())")
        #expect(await Self.loss(of: client).contains("the server is a replica"))
        var isReady = try await client.run { $0.isReady }
        #expect(!isReady)
        _ = try server.command("REPLICAOF", "NO", "ONE")
        await client.connected()
        isReady = try await client.run { $0.isReady }
        #expect(isReady)
        try await client.close()
    }
}
