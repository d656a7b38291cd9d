import NIOCore
import Synchronization
import TestSupport
import Testing

@testable import RedisClient

@Suite("A cluster that misbehaves")
struct RedisClusterRuleTests {
    /// All slots belong to the node that is asked, at that port.
    private static func map(port: Int) -> String {
        "*1\r\n*3\r\n:0\r\n:16383\r\n*3\r\n$0\r\n\r\n:\(port)\r\n$1\r\nx\r\n"
    }

    /// A server that tells the map and answers every other read of bytes as told; `$` in an answer is its port.
    private static func server(
        map: @escaping @Sendable (_ port: Int) -> String = { Self.map(port: $0) },
        answer: @escaping @Sendable (_ request: String) -> String?
    ) async throws -> FakeServer {
        try await FakeServer { _, channel, bytes in
            let port = channel.localAddress?.port ?? 0
            let request = String(buffer: bytes)
            if request.contains("SLOTS") { channel.answer(map(port)) }
            let others = request.replacing("*2\r\n$7\r\nCLUSTER\r\n$5\r\nSLOTS\r\n", with: "")
            if !others.isEmpty, let answer = answer(others) {
                channel.answer(answer.replacing("PORT", with: "\(port)"))
            }
        }
    }

    /// A client whose commands have so many milliseconds.
    private static func hurriedClient(_ port: Int, milliseconds: Int64) async throws -> TestClusterClient {
        try await TestClusterClient(ports: [port]) { configuration in
            let connection = configuration.connection
            configuration.connection = { endpoint in
                var configuration = connection(endpoint)
                configuration.commandTimeout = .milliseconds(milliseconds)
                return configuration
            }
        }
    }

    @Test("Redirections that go round in a circle are followed until they lead somewhere", arguments: ["MOVED", "ASK"])
    func circle(word: String) async throws {
        let count = Atomic(0)
        let server = try await Self.server { request in
            let isLast = count.add(1, ordering: .relaxed).newValue > 20
            return (request.contains("ASKING") ? "+OK\r\n" : "")
                + (isLast ? "+there\r\n" : "-\(word) 1 127.0.0.1:PORT\r\n")
        }
        let client = try await TestClusterClient(ports: [server.port]) { $0.redirectionLimit = 5 }
        #expect(try await client.command("GET", "a") == .success(.status("there")))
        try await client.close()
        try await server.close()
    }

    @Test("Redirections that lead nowhere end with the command's time, with the server's words")
    func endlessCircle() async throws {
        let server = try await Self.server { request in
            (request.contains("ASKING") ? "+OK\r\n" : "") + "-ASK 1 127.0.0.1:PORT\r\n"
        }
        let client = try await Self.hurriedClient(server.port, milliseconds: 200)
        let outcome = try await client.command("GET", "a")
        #expect(outcome == .failure(.server(prefix: "ASK", message: "1 127.0.0.1:\(server.port)")))
        try await client.close()
        try await server.close()
    }

    @Test("A command that its node refuses keeps its time: it is not sent on once that is over")
    func keptDeadline() async throws {
        let client = try await TestClusterClient(ports: [1])
        let reason = RedisError.server(prefix: "TRYAGAIN", message: "later")
        let outcomes = try await client.run { cluster in
            var outcomes: [String] = []
            for (name, deadline) in [("over", NIODeadline.uptimeNanoseconds(0)), ("open", .distantFuture)] {
                let pending = RedisConnection.Pending(
                    completion: .closure { _ in outcomes.append(name) },
                    slot: RedisSlot(number: 1),
                    deadline: deadline
                )
                cluster.refused(.later(mapIsDoubtful: false), ByteBuffer(), pending, reason)
            }
            let first = outcomes
            cluster.close()
            return [first, outcomes]
        }
        #expect(outcomes == [["over"], ["over", "open"]])
    }

    @Test("A command with a slot that is refused is handed over with the time it was given when it was sent")
    func deadlineOfRefused() async throws {
        let server = try await Self.server { _ in "-TRYAGAIN later\r\n" }
        let client = try await TestClusterClient(ports: [server.port])
        let eventLoop = client.eventLoop
        let promise = eventLoop.makePromise(of: NIODeadline?.self)
        let port = server.port
        let connection = try await eventLoop.submit {
            var configuration = RedisConnection.Configuration(
                endpoint: RedisEndpoint(host: "127.0.0.1", port: port)
            )
            configuration.commandTimeout = .hours(1)
            let connection = RedisConnection(configuration: configuration, eventLoop: eventLoop)
            connection.onRefusal = { _, _, pending, _ in promise.succeed(pending.deadline) }
            connection.send(.init(completion: .closure { _ in }, slot: RedisSlot(number: 1))) {
                $0.command("GET", argumentCount: 1)
                $0.argument("a")
            }
            connection.start()
            return NIOLoopBoundBox(connection, eventLoop: eventLoop)
        }.get()
        let deadline = try #require(try await promise.futureResult.get())
        #expect(deadline <= .now() + .hours(1) && deadline > .now())
        try await eventLoop.submit { connection.value.close() }.get()
        try await client.close()
        try await server.close()
    }

    @Test("Commands of one turn of the event loop have one deadline")
    func deadlineOfTurn() async throws {
        let server = try await FakeServer { _, channel, _ in
            channel.answer("-TRYAGAIN later\r\n-TRYAGAIN later\r\n")
        }
        let client = try await TestClient(port: server.port)
        await client.connected()
        let deadlines = try await client.run { connection in
            let promise = connection.eventLoop.makePromise(of: [NIODeadline?].self)
            var deadlines: [NIODeadline?] = []
            connection.onRefusal = { _, _, pending, _ in
                deadlines.append(pending.deadline)
                if deadlines.count == 2 { promise.succeed(deadlines) }
            }
            for key in ["a", "b"] {
                connection.send(.init(completion: .closure { _ in }, slot: RedisSlot(key: key))) {
                    $0.command("GET", argumentCount: 1)
                    $0.argument(key)
                }
            }
            return promise.futureResult
        }.get()
        #expect(deadlines[0] != nil && deadlines[0] == deadlines[1])
        try await client.close()
        try await server.close()
    }

    @Test("A command that is sent on and put off again and again, as while a slot moves, goes on until it is run")
    func sentOnAndPutOff() async throws {
        let count = Atomic(0)
        let target = try await Self.server { _ in
            "+OK\r\n" + (count.add(1, ordering: .relaxed).newValue < 7 ? "-TRYAGAIN later\r\n" : "+done\r\n")
        }
        let targetPort = target.port
        let source = try await Self.server { _ in "-ASK 1 :\(targetPort)\r\n" }
        let client = try await TestClusterClient(ports: [source.port]) { $0.redirectionLimit = 3 }
        #expect(try await client.command("GET", "a") == .success(.status("done")))
        try await client.close()
        try await source.close()
        try await target.close()
    }

    @Test("The server that ASK names is told so before the command, and the map stays as it is")
    func asking() async throws {
        let target = try await Self.server { request in
            request.hasPrefix("*1\r\n$6\r\nASKING\r\n*2\r\n$3\r\nGET") ? "+OK\r\n+there\r\n" : "-ERR not asked\r\n"
        }
        let targetPort = target.port
        let source = try await Self.server { _ in "-ASK 1 :\(targetPort)\r\n" }
        let client = try await TestClusterClient(ports: [source.port])
        for _ in 0..<3 { #expect(try await client.command("GET", "a") == .success(.status("there"))) }
        let masters = try await client.run { $0.masterAddresses.map(\.port) }
        #expect(masters == [source.port])
        try await client.close()
        try await source.close()
        try await target.close()
    }

    @Test("Commands that do not run in the order sent are counted: those sent on, and those that wait")
    func detours() async throws {
        let target = try await Self.server { _ in "+OK\r\n+there\r\n" }
        let targetPort = target.port
        let count = Atomic(0)
        let source = try await Self.server { request in
            if request.contains("away") { return "-ASK 1 :\(targetPort)\r\n" }
            let isLater = request.contains("later") && count.add(1, ordering: .relaxed).newValue == 1
            return isLater ? "-TRYAGAIN later\r\n" : "+here\r\n"
        }
        let client = try await TestClusterClient(ports: [source.port])
        // It may have waited for the map.
        #expect(try await client.command("GET", "here") == .success(.status("here")))
        let before = try await client.run { $0.detours }
        for (key, answer, detours) in [("here", "here", 0), ("away", "there", 1), ("later", "here", 2)] {
            #expect(try await client.command("GET", key) == .success(.status(answer)))
            let after = try await client.run { $0.detours }
            #expect(after - before == detours)
        }
        try await client.close()
        try await source.close()
        try await target.close()
    }

    @Test("A command that no server can run is tried again until one can, or its time is over")
    func later() async throws {
        let count = Atomic(0)
        let server = try await Self.server { request in
            if request.contains("never") { return "-CLUSTERDOWN for good\r\n" }
            return count.add(1, ordering: .relaxed).newValue < 4 ? "-TRYAGAIN later\r\n" : "+done\r\n"
        }
        let client = try await Self.hurriedClient(server.port, milliseconds: 500)
        #expect(try await client.command("GET", "a") == .success(.status("done")))
        #expect(
            try await client.command("GET", "never") == .failure(.server(prefix: "CLUSTERDOWN", message: "for good"))
        )
        try await client.close()
        try await server.close()
    }

    @Test("A seed that is dead, and one that tells nonsense, are passed over")
    func badSeeds() async throws {
        let liar = try await Self.server(map: { _ in "*1\r\n:5\r\n" }, answer: { _ in "+lie\r\n" })
        let server = try await Self.server { _ in "+truth\r\n" }
        let client = try await TestClusterClient(ports: [try freePort(), liar.port, server.port]) {
            // It is not waited for them.
            $0.refreshTimeout = .hours(1)
        }
        #expect(try await client.command("GET", "a") == .success(.status("truth")))
        try await client.close()
        try await liar.close()
        try await server.close()
    }

    @Test("Without a map commands wait, within bounds, and closing ends them as not sent")
    func withoutMap() async throws {
        let client = try await TestClusterClient(ports: [try freePort()]) { $0.parkedLimitCommands = 2 }
        let waiting = client.start([["GET", "a"], ["GET", "b"], ["GET", "c"]])
        guard case .failure(.notSent(let reason)) = try await waiting[2].get() else {
            Issue.record("more was taken than there is room for")
            return
        }
        #expect(reason.contains("2 commands are waiting"))
        try await client.close()
        #expect(try await waiting[0].get() == .failure(.closed))
        #expect(try await waiting[1].get() == .failure(.closed))
        #expect(try await client.command("GET", "a") == .failure(.closed))
    }

    @Test("Commands that waited for a master that is gone go to the server that has its slots now")
    func goneMaster() async throws {
        let port = try freePort()
        let tellsOld = Atomic(true)
        let map: @Sendable (Int) -> String = { Self.map(port: tellsOld.load(ordering: .acquiring) ? port : $0) }
        let server = try await Self.server(map: map, answer: { _ in "+moved\r\n" })
        let client = try await TestClusterClient(ports: [server.port])
        while try await client.run({ $0.masterAddresses.isEmpty }) {}
        let waiting = client.start([["GET", "a"]])
        _ = try await client.run { _ in }
        tellsOld.store(false, ordering: .releasing)
        #expect(try await waiting[0].get() == .success(.status("moved")))
        let script = RedisScript("return 1")
        #expect(try await client.evaluate(script, keys: ["a"]).get() == .success(.status("moved")))
        try await client.close()
        try await server.close()
    }

    @Test("A single server serves all slots, database and all, when it is asked for a map and has none")
    func singleServer() async throws {
        let server = try RedisServerProcess()
        let client = try await TestClusterClient(ports: [server.port]) { $0.seeds[0].database = 3 }
        let keys = (0..<100).map { "key-\($0)" }
        #expect(try await client.all(keys.map { ["SET", $0, "1"] }).allSatisfy { $0 == .success(.status("OK")) })
        #expect(try await client.keyCounts().values.map { $0 } == [.integer(100)])
        #expect(try server.command("-n", "3", "DBSIZE").contains("100"))
        let script = RedisScript("return redis.call('GET', KEYS[1])")
        #expect(try await client.evaluate(script, keys: ["key-1"]).get() == .success(.text("1")))
        try await client.close()
    }

    @Test("Several seeds are a cluster by their number: one that is none is not taken for it")
    func severalSeeds() async throws {
        let server = try RedisServerProcess()
        let client = try await TestClusterClient(ports: [server.port, server.port]) { configuration in
            let connection = configuration.connection
            configuration.connection = { endpoint in
                var configuration = connection(endpoint)
                configuration.commandTimeout = .milliseconds(200)
                return configuration
            }
        }
        guard case .failure(.notSent(let reason)) = try await client.command("GET", "a") else {
            Issue.record("a single server was taken for a cluster")
            return
        }
        #expect(reason.contains("cluster support disabled"))
        try await client.close()
    }
}
