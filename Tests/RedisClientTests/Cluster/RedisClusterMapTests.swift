import NIOCore
import RedisClient
import Synchronization
import TestSupport
import Testing

/// The client's use of maps and redirections. The servers say what a real cluster says for moments only.
@Suite("A map that changes")
struct RedisClusterMapTests {
    private static func node(_ port: Int) -> String { "*3\r\n$0\r\n\r\n:\(port)\r\n$1\r\nx\r\n" }

    /// All slots belong to one node.
    private static func map(_ port: Int, replica: Int? = nil) -> String {
        "*1\r\n*\(replica == nil ? 3 : 4)\r\n:0\r\n:16383\r\n" + node(port) + (replica.map { node($0) } ?? "")
    }

    /// Up to half of the slots belong to one, the others to the other.
    private static func map(_ low: Int, _ high: Int) -> String {
        "*2\r\n*3\r\n:0\r\n:8191\r\n" + node(low) + "*3\r\n:8192\r\n:16383\r\n" + node(high)
    }

    /// Lies in the lower half.
    private static let low = "b"
    /// Lies in the upper half.
    private static let high = "a"

    /// A server that is asked for the map, or for something else, or for both in one read.
    private static func server(
        map: @escaping @Sendable (any Channel) -> Void,
        answer: @escaping @Sendable (_ request: String, any Channel) -> Void
    ) async throws -> FakeServer {
        try await FakeServer { _, channel, bytes in
            let request = String(buffer: bytes)
            let question = "*2\r\n$7\r\nCLUSTER\r\n$5\r\nSLOTS\r\n"
            let others = request.replacing(question, with: "")
            if request.hasPrefix(question) { map(channel) }
            if !others.isEmpty { answer(others, channel) }
            if request.contains(question), !request.hasPrefix(question) { map(channel) }
        }
    }

    @Test("The keys used here lie in slots of two masters")
    func keys() {
        #expect(RedisSlot(key: Self.low).number < 8192 && RedisSlot(key: Self.high).number >= 8192)
    }

    @Test(
        "The server that MOVED names is asked first from then on, before any map says so; observers are told of it"
    )
    func believed() async throws {
        let target = try await Self.server(map: { _ in }, answer: { $1.answer("+there\r\n") })
        let port = target.port
        let count = Atomic(0)
        let source = try await Self.server {
            $0.answer(Self.map($0.localAddress?.port ?? 0))
        } answer: {
            count.add(1, ordering: .relaxed)
            $1.answer("-MOVED \(RedisSlot(key: Self.high).number) :\(port)\r\n")
        }
        let client = try await TestClusterClient(ports: [source.port]) { $0.minimumRefreshInterval = .hours(1) }
        await client.connected()
        let news = Atomic(0)
        try await client.run { $0.onMasters = { news.add(1, ordering: .relaxed) } }
        for _ in 0..<3 { #expect(try await client.command("GET", Self.high) == .success(.status("there"))) }
        #expect(count.load(ordering: .relaxed) == 1)
        // It is known, and then it is connected.
        #expect(news.load(ordering: .relaxed) == 2)
        try await client.close()
        try await source.close()
        try await target.close()
    }

    @Test("A redirection, and a node that doubts, ask for the map")
    func asksAgain() async throws {
        for word in ["MOVED 15495 :PORT", "CLUSTERDOWN x", "READONLY x"] {
            let target = try await Self.server {
                $0.answer(Self.map($0.localAddress?.port ?? 0))
            } answer: {
                $1.answer("+there\r\n")
            }
            let port = target.port
            let questions = Atomic(0)
            let source = try await Self.server {
                let isFirst = questions.add(1, ordering: .relaxed).newValue == 1
                $0.answer(Self.map(isFirst ? $0.localAddress?.port ?? 0 : port))
            } answer: {
                $1.answer("-" + word.replacing("PORT", with: "\(port)") + "\r\n")
            }
            let client = try await TestClusterClient(ports: [source.port]) { configuration in
                configuration.minimumRefreshInterval = .milliseconds(1)
                configuration.refreshInterval = .hours(1)
            }
            #expect(try await client.command("GET", Self.high) == .success(.status("there")))
            while try await client.run({ $0.masterAddresses.map(\.port) }) != [port] {}
            #expect(try await client.command("GET", Self.low) == .success(.status("there")))
            try await client.close()
            try await source.close()
            try await target.close()
        }
    }

    @Test("A command that a master has been sent completes, though the next map does not name it any more")
    func inFlight() async throws {
        let isHolding = Atomic(false)
        let isOver = Atomic(false)
        let held = Mutex<[@Sendable () -> Void]>([])
        let sourcePort = Atomic(0)
        let target = try await Self.server { channel in
            let port = channel.localAddress?.port ?? 0
            let isMoved = isOver.load(ordering: .acquiring)
            channel.answer(isMoved ? Self.map(port) : Self.map(port, sourcePort.load(ordering: .acquiring)))
        } answer: {
            $1.answer("+new\r\n")
        }
        let targetPort = target.port
        let source = try await Self.server { channel in
            let tell: @Sendable () -> Void = {
                channel.answer(Self.map(targetPort, sourcePort.load(ordering: .acquiring)))
            }
            // Replies have the order of the commands.
            if isHolding.load(ordering: .acquiring) { held.withLock { $0.append(tell) } } else { tell() }
        } answer: { _, channel in
            held.withLock { $0.append { channel.answer("+old\r\n") } }
            isHolding.store(true, ordering: .releasing)
        }
        sourcePort.store(source.port, ordering: .releasing)
        let client = try await TestClusterClient(ports: [source.port]) { configuration in
            configuration.refreshInterval = .milliseconds(5)
            configuration.refreshTimeout = .milliseconds(50)
            configuration.refreshDelay = { _ in .milliseconds(5) }
        }
        await client.connected()
        let news = Atomic(0)
        let connections = Atomic(0)
        try await client.run { cluster in
            cluster.onMasters = { news.add(1, ordering: .relaxed) }
            cluster.onStateChange = { _ in connections.add(1, ordering: .relaxed) }
        }
        let first = client.start([["GET", Self.high]])
        while !isHolding.load(ordering: .acquiring) {}
        isOver.store(true, ordering: .releasing)
        while try await client.run({ $0.masterAddresses.map(\.port) }) != [targetPort] {}
        // Told of the new map; all masters were connected, and are.
        #expect(news.load(ordering: .relaxed) == 1 && connections.load(ordering: .relaxed) == 0)
        for answer in held.withLock({ $0 }) { answer() }
        #expect(try await first[0].get() == .success(.status("old")))
        #expect(try await client.command("GET", Self.high) == .success(.status("new")))
        try await client.close()
        try await source.close()
        try await target.close()
    }

    @Test("A lost connection asks for the map")
    func lostConnection() async throws {
        let isOver = Atomic(false)
        let source = try await Self.server { _ in
        } answer: { _, channel in
            isOver.store(true, ordering: .releasing)
            channel.close(promise: nil)
        }
        let sourcePort = source.port
        let target = try await Self.server { channel in
            let port = channel.localAddress?.port ?? 0
            channel.answer(isOver.load(ordering: .acquiring) ? Self.map(port) : Self.map(port, sourcePort))
        } answer: {
            $1.answer("+there\r\n")
        }
        let targetPort = target.port
        let client = try await TestClusterClient(ports: [target.port]) { configuration in
            configuration.minimumRefreshInterval = .milliseconds(1)
            configuration.refreshTimeout = .milliseconds(50)
            configuration.refreshInterval = .hours(1)
        }
        await client.connected()
        guard case .failure(let error) = try await client.command("GET", Self.high), error.mayHaveExecuted else {
            Issue.record("the fate of the command has to be unknown")
            return
        }
        while try await client.run({ $0.masterAddresses.map(\.port) }) != [targetPort] {}
        #expect(try await client.command("GET", Self.high) == .success(.status("there")))
        try await client.close()
        try await source.close()
        try await target.close()
    }

    @Test("A map that comes when another node has been asked meanwhile is not taken")
    func late() async throws {
        let held = Mutex<[@Sendable () -> Void]>([])
        let hanging = try await Self.server { channel in
            held.withLock { $0.append { channel.answer(Self.map(channel.localAddress?.port ?? 0)) } }
        } answer: {
            $1.answer("+low\r\n")
        }
        let hangingPort = hanging.port
        let other = try await Self.server {
            $0.answer(Self.map(hangingPort, $0.localAddress?.port ?? 0))
        } answer: {
            $1.answer("+high\r\n")
        }
        let client = try await TestClusterClient(ports: [hanging.port, other.port]) {
            $0.refreshTimeout = .milliseconds(100)
            $0.refreshInterval = .hours(1)
        }
        await client.connected()
        for answer in held.withLock({ $0 }) { answer() }
        // Behind the map, on the same connection.
        #expect(try await client.command("GET", Self.low) == .success(.status("low")))
        #expect(try await client.command("GET", Self.high) == .success(.status("high")))
        try await client.close()
        try await hanging.close()
        try await other.close()
    }

    @Test("When no master can be reached a replica tells which server took over")
    func replicaTells() async throws {
        let replica = try await Self.server {
            $0.answer(Self.map($0.localAddress?.port ?? 0))
        } answer: {
            $1.answer("+there\r\n")
        }
        let (port, dead) = (replica.port, try freePort())
        // It goes on telling what it knew.
        let seed = try await Self.server(map: { $0.answer(Self.map(dead, replica: port)) }, answer: { _, _ in })
        let client = try await TestClusterClient(ports: [seed.port]) { $0.refreshDelay = { _ in .milliseconds(5) } }
        #expect(try await client.command("GET", Self.high) == .success(.status("there")))
        try await client.close()
        try await seed.close()
        try await replica.close()
    }

    @Test("A server that may not tell the map is a single one, unless it is configured to be a node")
    func forbidden() async throws {
        for kind in [RedisCluster.Configuration.Kind.detect, .cluster] {
            let server = try await Self.server {
                $0.answer("-NOPERM no\r\n")
            } answer: {
                // A single server is asked for its role, too, at a login.
                $1.answer($0.contains("INFO") ? "+\r\n+PONG\r\n" : "+alone\r\n")
            }
            let client = try await TestClusterClient(ports: [server.port]) { configuration in
                configuration.kind = kind
                let connection = configuration.connection
                configuration.connection = { endpoint in
                    var configuration = connection(endpoint)
                    configuration.commandTimeout = .milliseconds(200)
                    return configuration
                }
            }
            let outcome = try await client.command("GET", Self.high)
            if kind == .detect {
                #expect(outcome == .success(.status("alone")))
            } else if case .failure(.notSent(let reason)) = outcome {
                #expect(reason.contains("NOPERM"))
            } else {
                Issue.record("\(outcome)")
            }
            try await client.close()
            try await server.close()
        }
    }

    @Test("A script that is not known where ASK led to is loaded there, and the node is told again that it was named")
    func askedScript() async throws {
        let target = try await Self.server { _ in
        } answer: { request, channel in
            guard request.contains("LOAD") else { return channel.answer("+OK\r\n-NOSCRIPT no\r\n") }
            let isAsked = request.split(separator: "LOAD", maxSplits: 1).last?.contains("ASKING") == true
            channel.answer(isAsked ? "+digest\r\n+OK\r\n+there\r\n" : "+digest\r\n-ERR not asked\r\n")
        }
        let port = target.port
        let source = try await Self.server {
            $0.answer(Self.map($0.localAddress?.port ?? 0))
        } answer: {
            $1.answer("-ASK 1 :\(port)\r\n")
        }
        let client = try await TestClusterClient(ports: [source.port])
        let outcome = try await client.evaluate(RedisScript("return 1"), keys: [Self.high]).get()
        #expect(outcome == .success(.status("there")))
        try await client.close()
        try await source.close()
        try await target.close()
    }
}
