import NIOCore
import RedisClient
import TestSupport
import Testing

@Suite("Scripts")
struct RedisScriptTests {
    /// Counts its calls and gives back what it was called with.
    private static let script = RedisScript(
        """
        redis.call('INCR', 'calls')
        return {#KEYS, KEYS[1], ARGV[1]}
        """
    )
    private static let expected = ReplyValue.array([.integer(1), .text("k"), .text("a")])

    @Test("The digest is the name that the server gives the script")
    func digest() async throws {
        let server = try RedisServerProcess()
        let client = try await TestClient(port: server.port)
        #expect(try await client.command("SCRIPT LOAD return(1)") == .success(.string(RedisScript("return(1)").digest)))
        try await client.close()
    }

    @Test("A script that the server does not know is loaded and runs once; so it does after a flush and a restart")
    func reload() async throws {
        let server = try RedisServerProcess()
        let client = try await TestClient(port: server.port)
        for calls in 1...2 {
            #expect(try await evaluate(client) == .success(Self.expected))
            #expect(try await client.command("GET calls") == .success(.text("\(calls)")))
        }
        #expect(try await client.command("SCRIPT FLUSH") == .success(.status("OK")))
        #expect(try await evaluate(client) == .success(Self.expected))
        #expect(try await client.command("GET calls") == .success(.text("3")))

        server.kill()
        let again = try RedisServerProcess(port: server.port)
        _ = await client.disconnection()
        #expect(try await evaluate(client) == .success(Self.expected))
        #expect(try await client.command("GET calls") == .success(.text("1")))
        try await client.close()
        withExtendedLifetime(again) {}
    }

    @Test("Of many calls in flight each runs once, in order, and the source travels once")
    func manyInFlight() async throws {
        let server = try RedisServerProcess()
        let client = try await TestClient(port: server.port)
        let script = RedisScript("return redis.call('INCR', KEYS[1])")
        let futures = (0..<500).map { _ in client.evaluate(script, keys: ["n"]) }
        for (index, future) in futures.enumerated() {
            #expect(try await future.get() == .success(.integer(Int64(index + 1))))
        }
        let stats = try await client.evaluate(
            RedisScript("return redis.call('INFO', 'commandstats')")
        ).get()
        guard case .success(.string(let text)) = stats else {
            Issue.record("no statistics")
            return
        }
        let load = String(decoding: text, as: UTF8.self).split(separator: "\r\n").first {
            $0.hasPrefix("cmdstat_script|load:")
        }
        // The statistics script was loaded too.
        #expect(load?.contains("calls=2,") == true, "\(load ?? "")")
        try await client.close()
    }

    @Test("A script that does not compile fails with the server's words, not as unknown")
    func doesNotCompile() async throws {
        let server = try RedisServerProcess()
        let client = try await TestClient(port: server.port)
        for _ in 0..<2 {
            let outcome = try await client.evaluate(RedisScript("no lua")).get()
            guard case .failure(.server(let prefix, let message)) = outcome else {
                Issue.record("it ran")
                return
            }
            #expect(prefix == "ERR" && message.contains("compiling"))
        }
        try await client.close()
    }

    @Test("An error that a script raises is its own")
    func raises() async throws {
        let server = try RedisServerProcess()
        let client = try await TestClient(port: server.port)
        let script = RedisScript("return redis.error_reply('STALE registered later')")
        #expect(
            try await client.evaluate(script).get()
                == .failure(.server(prefix: "STALE", message: "registered later"))
        )
        try await client.close()
    }

    @Test("A call on a closed connection is closed")
    func closed() async throws {
        let client = try await TestClient(port: freePort())
        try await client.close()
        #expect(try await evaluate(client) == .failure(.closed))
    }

    private func evaluate(_ client: TestClient) async throws -> TestClient.Outcome {
        try await client.evaluate(Self.script, keys: ["k"], arguments: ["a"]).get()
    }
}
