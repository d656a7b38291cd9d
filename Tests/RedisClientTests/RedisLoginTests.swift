import NIOCore
import RedisClient
import TestSupport
import Testing

@Suite("Logging in")
struct RedisLoginTests {
    @Test("The right password and database are used on every connection")
    func login() async throws {
        let server = try RedisServerProcess(arguments: ["--requirepass", "p@ss/word"])
        let endpoint = try RedisEndpoint(url: "redis://:p%40ss%2Fword@127.0.0.1:\(server.port)/3")
        let client = try await TestClient(endpoint) { $0.clientName = "tester" }
        #expect(try await client.command("SET where three") == .success(.status("OK")))
        guard case .success(.string(let info)) = try await client.command("CLIENT INFO") else {
            Issue.record("no client info")
            return
        }
        let text = String(decoding: info, as: UTF8.self)
        #expect(text.contains(" name=tester ") && text.contains(" db=3 "))

        let other = try await TestClient(
            RedisEndpoint(host: "127.0.0.1", port: server.port, password: "p@ss/word", database: 2)
        )
        #expect(try await other.command("GET where") == .success(.null))
        try await client.close()
        try await other.close()
    }

    @Test("A user of the access control lists logs in with name and password")
    func user() async throws {
        let server = try RedisServerProcess(arguments: ["--user", "ann", "on", ">secret", "~*", "+@all", "-client"])
        let endpoint = RedisEndpoint(host: "127.0.0.1", port: server.port, user: "ann", password: "secret")
        let client = try await TestClient(endpoint)
        // It may not even name itself; that does no harm.
        #expect(try await client.command("PING") == .success(.status("PONG")))
        try await client.close()
    }

    @Test(
        "A refused login names the server and the reason, is told from a dead host, and nothing was sent",
        arguments: [
            ("wrong", "WRONGPASS"),
            (nil, "NOAUTH"),
        ]
    )
    func wrongPassword(password: String?, prefix: String) async throws {
        let server = try RedisServerProcess(arguments: ["--requirepass", "right"])
        let endpoint = RedisEndpoint(host: "127.0.0.1", port: server.port, password: password)
        let client = try await TestClient(endpoint) { $0.commandTimeout = .seconds(1) }
        let waiting = client.start(["SET a b"])[0]
        let disconnection = try #require(await client.disconnection())
        #expect(disconnection.isAuthenticationFailure)
        #expect(disconnection.address == "127.0.0.1:\(server.port)")
        #expect(disconnection.description.contains(prefix))
        guard case .failure(.notSent(let reason)) = try await waiting.get() else {
            Issue.record("a command was sent without a login")
            return
        }
        #expect(reason.contains(prefix))
        try await client.close()
    }

    @Test("A password that the server does not expect is an authentication failure")
    func needlessPassword() async throws {
        let server = try RedisServerProcess()
        let endpoint = RedisEndpoint(host: "127.0.0.1", port: server.port, password: "needless")
        let client = try await TestClient(endpoint)
        let disconnection = try #require(await client.disconnection())
        #expect(disconnection.isAuthenticationFailure)
        try await client.close()
    }

    @Test("A database that does not exist is refused, and that is no matter of authentication")
    func missingDatabase() async throws {
        let server = try RedisServerProcess()
        let client = try await TestClient(RedisEndpoint(host: "127.0.0.1", port: server.port, database: 99))
        let disconnection = try #require(await client.disconnection())
        #expect(disconnection.reason.contains("database 99"))
        #expect(!disconnection.isAuthenticationFailure)
        try await client.close()
    }

    @Test("A server without room for one more client is named with its words, and asked again until it has room")
    func tooManyClients() async throws {
        let server = try await FakeServer { connection in
            connection == 0 ? "-ERR max number of clients reached\r\n" : "+OK\r\n+PONG\r\n"
        } behaviour: { _, channel, _ in
            channel.answer("+OK\r\n")
        }
        let client = try await TestClient(port: server.port)
        let disconnection = try #require(await client.disconnection())
        #expect(disconnection.reason.contains("max number of clients reached"))
        #expect(!disconnection.isAuthenticationFailure)
        #expect(try await client.command("SET a b") == .success(.status("OK")))
        try await client.close()
        try await server.close()
    }

    @Test("A host that refuses, and a name that does not resolve, are named; attempts count up")
    func unreachable() async throws {
        let port = try freePort()
        let client = try await TestClient(port: port)
        for attempt in 1...3 {
            let disconnection = try #require(await client.disconnection())
            #expect(disconnection.attempt == attempt)
            #expect(disconnection.description.contains("127.0.0.1:\(port)"))
            #expect(disconnection.reason == "cannot connect: connection refused")
            #expect(!disconnection.isAuthenticationFailure)
        }
        try await client.close()

        let lost = try await TestClient(RedisEndpoint(host: "no-such-host.invalid"))
        let disconnection = try #require(await lost.disconnection())
        #expect(disconnection.reason.contains("cannot resolve \"no-such-host.invalid\""))
        try await lost.close()
    }
}
