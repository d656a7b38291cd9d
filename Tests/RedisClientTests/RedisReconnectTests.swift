import NIOCore
import NIOPosix
import RedisClient
import TestSupport
import Testing

@Suite("Lost connections")
struct RedisReconnectTests {
    @Test("A server killed in mid-command leaves the command as maybe executed; the connection restores itself")
    func killed() async throws {
        let server = try RedisServerProcess()
        let client = try await TestClient(port: server.port)
        let first = client.start(["PING", "BLPOP nothing 0"])
        // Its answer shows that both have been sent.
        #expect(try await first[0].get() == .success(.status("PONG")))
        server.kill()
        guard case .failure(.maybeExecuted(let reason)) = try await first[1].get() else {
            Issue.record("the fate of a command on a dead connection is not known")
            return
        }
        #expect(reason.contains("127.0.0.1:\(server.port)"))

        let waiting = client.start(["SET a b", "GET a"])
        let again = try RedisServerProcess(port: server.port)
        #expect(try await waiting[0].get() == .success(.status("OK")))
        #expect(try await waiting[1].get() == .success(.text("b")))
        try await client.close()
        withExtendedLifetime(again) {}
    }

    @Test("Commands that were sent before the server existed run when it comes up")
    func lateServer() async throws {
        let port = try freePort()
        let client = try await TestClient(port: port)
        let waiting = client.start(["INCR n", "INCR n"])
        _ = await client.disconnection()
        let server = try RedisServerProcess(port: port)
        #expect(try await waiting[0].get() == .success(.integer(1)))
        #expect(try await waiting[1].get() == .success(.integer(2)))
        try await client.close()
        withExtendedLifetime(server) {}
    }

    @Test("Replies that arrived before the server died are delivered; only the rest has an unknown fate")
    func answeredThenClosed() async throws {
        let server = try await FakeServer { connection, channel, _ in
            if connection == 0 {
                channel.answer("+one\r\n$5\r\ntwo")
                channel.close(promise: nil)
            } else {
                channel.answer("+again\r\n")
            }
        }
        let client = try await TestClient(port: server.port)
        await client.connected()
        let outcomes = try await client.all(["ECHO 1", "ECHO 2", "ECHO 3"])
        #expect(outcomes[0] == .success(.status("one")))
        for outcome in outcomes[1...] {
            guard case .failure(.maybeExecuted(let reason)) = outcome else {
                Issue.record("half a reply was taken for one")
                return
            }
            #expect(reason.contains("closed the connection"))
        }
        #expect(try await client.command("ECHO 4") == .success(.status("again")))
        try await client.close()
        try await server.close()
    }

    @Test(
        "A stream that cannot be trusted any more is given up: no reply goes to a wrong command",
        arguments: [
            ("+one\r\n+nobody asked\r\n", "a reply to no command"),
            ("+one\r\nHTTP/1.1\r\n", "not the Redis protocol"),
        ]
    )
    func brokenStream(answer: String, reason: String) async throws {
        let server = try await FakeServer { connection, channel, _ in
            channel.answer(connection == 0 ? answer : "+again\r\n")
        }
        let client = try await TestClient(port: server.port)
        await client.connected()
        #expect(try await client.command("ECHO 1") == .success(.status("one")))
        #expect(try #require(await client.disconnection()).reason.contains(reason))
        #expect(try await client.command("ECHO 2") == .success(.status("again")))
        try await client.close()
        try await server.close()
    }

    @Test("A late reply times out, gives the connection up, and is never taken for another command's")
    func timeout() async throws {
        let server = try RedisServerProcess()
        let client = try await TestClient(port: server.port) { $0.commandTimeout = .seconds(1) }
        let outcome = try await client.command("BLPOP nothing 0")
        #expect(outcome == .failure(.timeout(after: .seconds(1))))
        #expect(try await client.command("PING") == .success(.status("PONG")))
        try await client.close()
    }

    @Test("A server that accepts and never answers the login is given up and tried again")
    func silentLogin() async throws {
        let server = try await FakeServer(
            login: { $0 == 0 ? nil : "+OK\r\n+PONG\r\n" },
            behaviour: { _, channel, _ in channel.answer("+one\r\n") }
        )
        let client = try await TestClient(port: server.port) { $0.connectTimeout = .milliseconds(100) }
        let waiting = client.start(["ECHO 1"])
        #expect(try #require(await client.disconnection()).reason.contains("no answer to the login"))
        #expect(try await waiting[0].get() == .success(.status("one")))
        try await client.close()
        try await server.close()
    }

    @Test("A server that is still loading gets no commands until it serves")
    func loading() async throws {
        let server = try await FakeServer(
            login: { $0 < 2 ? "+OK\r\n-LOADING Redis is loading the dataset in memory\r\n" : "+OK\r\n+PONG\r\n" },
            behaviour: { connection, channel, _ in channel.answer("+from \(connection)\r\n") }
        )
        let client = try await TestClient(port: server.port)
        #expect(try await client.command("ECHO 1") == .success(.status("from 2")))
        let disconnection = try #require(await client.disconnection())
        #expect(disconnection.reason.contains("LOADING") && !disconnection.isAuthenticationFailure)
        try await client.close()
        try await server.close()
    }

    @Test("Beyond the limit of waiting commands one is refused before send returns; closing fails the others")
    func boundedQueue() async throws {
        let client = try await TestClient(port: freePort()) { $0.waitingLimitCommands = 3 }
        _ = await client.disconnection()
        let log = try await client.run { connection in
            let log = NIOLoopBoundBox([String](), eventLoop: connection.eventLoop)
            for number in 1...4 {
                connection.send(words: "PING") { result in
                    switch result {
                    case .failure(.notSent): log.value.append("\(number) not sent")
                    case .failure(.closed): log.value.append("\(number) closed")
                    default: log.value.append("\(number) unexpected")
                    }
                }
            }
            log.value.append("\(connection.waitingCount) waiting")
            connection.close()
            connection.close()
            return log.value
        }
        #expect(log == ["4 not sent", "3 waiting", "1 closed", "2 closed", "3 closed"])
    }

    @Test("A command that waits too long for a connection was not sent, and says what is wrong with the connection")
    func waitsTooLong() async throws {
        let client = try await TestClient(port: freePort()) { $0.commandTimeout = .seconds(1) }
        guard case .failure(.notSent(let reason)) = try await client.command("SET a b") else {
            Issue.record("a command without connection did not expire")
            return
        }
        #expect(reason.hasSuffix("cannot connect: connection refused"))
        try await client.close()
    }

    @Test("A server that reads nothing pushes back: the queue fills, memory does not")
    func pushesBack() async throws {
        let server = try await FakeServer { _, channel, _ in
            channel.setOption(.autoRead, value: false).whenFailure { Issue.record("\($0)") }
        }
        let client = try await TestClient(port: server.port) { $0.waitingLimitBytes = 1 << 20 }
        await client.connected()
        // 64 MiB: more than the kernel's buffers, the channel's high-water mark and the queue can hold together.
        let refusals = try await client.run { connection in
            let refusals = NIOLoopBoundBox([RedisError](), eventLoop: connection.eventLoop)
            for _ in 0..<64 {
                connection.sendEcho(byteCount: 1 << 20) { result in
                    if case .failure(let error) = result { refusals.value.append(error) }
                }
                connection.flush()
            }
            return refusals.value
        }
        guard case .notSent(let reason) = refusals.first else {
            Issue.record("more was taken than can be sent")
            return
        }
        #expect(reason.contains("the server is slow"))
        try await client.close()
        try await server.close()
    }

    @Test("Commands that waited for the channel to take more follow as soon as it does, without a reply to prompt them")
    func followsWhenWritable() async throws {
        // Reads nothing more once the first command begins to arrive, until it is told to; answers both when it has
        // seen the second.
        let reader = MultiThreadedEventLoopGroup.singleton.any().makePromise(of: (any Channel).self)
        let server = try await FakeServer { _, channel, bytes in
            if String(buffer: bytes).hasSuffix("last\r\n") { channel.answer("+big\r\n+last\r\n") }
            guard String(buffer: bytes).hasPrefix("*2\r\n$4\r\nECHO\r\n$67108864") else { return }
            channel.setOption(.autoRead, value: false).map { channel }.cascade(to: reader)
        }
        let client = try await TestClient(port: server.port)
        await client.connected()
        // 64 MiB: more than the kernel's buffers can hold together.
        let last = try await client.run { connection in
            let promise = connection.eventLoop.makePromise(of: TestClient.Outcome.self)
            connection.sendEcho(byteCount: 64 << 20) { _ in }
            connection.flush()
            connection.send(words: "ECHO last") { promise.succeed($0.map { ReplyValue($0) }) }
            connection.flush()
            return promise.futureResult
        }
        let channel = try await reader.futureResult.get()
        let (inFlight, waiting) = try await client.run { ($0.inFlightCount, $0.waitingCount) }
        #expect(inFlight == 1 && waiting == 1)
        try await channel.setOption(.autoRead, value: true).get()
        let outcome = try await last.get()
        #expect(outcome == .success(.status("last")))
        try await client.close()
        try await server.close()
    }

    @Test("An owner that forgets to close is told")
    func forgottenClose() async {
        await #expect(processExitsWith: .failure) {
            let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
            try await eventLoop.submit {
                _ = RedisConnection(
                    configuration: .init(endpoint: RedisEndpoint(host: "localhost")),
                    eventLoop: eventLoop
                )
            }.get()
        }
    }

    @Test("Delays grow from at most 50 ms to at most 5 s, never below half")
    func exponentialDelay() {
        for (attempt, full) in [(1, 50), (2, 100), (5, 800), (8, 5000), (1000, 5000)] as [(Int, Int64)] {
            for _ in 0..<100 {
                let delay = RedisConnection.exponentialDelay(attempt)
                #expect(delay >= .milliseconds(full / 2) && delay <= .milliseconds(full))
            }
        }
    }
}
