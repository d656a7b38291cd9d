import NIOCore
import RedisClient
import Synchronization
import TestSupport
import Testing

@Suite("A connection to a real redis-server")
struct RedisConnectionTests {
    @Test("Replies come in the order of the commands, however many are in flight")
    func order() async throws {
        let server = try RedisServerProcess()
        let client = try await TestClient(port: server.port) { $0.inFlightLimitCommands = 100 }
        let outcomes = try await client.all((1...5000).map { $0 % 7 == 0 ? "ECHO \($0)" : "INCR counter" })
        var counter: Int64 = 0
        for (index, outcome) in outcomes.enumerated() {
            if (index + 1) % 7 == 0 {
                #expect(outcome == .success(.text("\(index + 1)")))
            } else {
                counter += 1
                #expect(outcome == .success(.integer(counter)))
            }
        }
        try await client.close()
    }

    @Test("Commands of one turn of the event loop leave in one flush")
    func oneFlush() async throws {
        let server = try RedisServerProcess()
        let flushes = Counter()
        let client = try await TestClient(port: server.port) {
            $0.configureChannel = { channel, _ in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(FlushCounter(flushes))
                }
            }
        }
        await client.connected()
        let before = flushes.value
        _ = try await client.all((0..<1000).map { "ECHO \($0)" })
        #expect(flushes.value - before == 1)
        try await client.close()
    }

    @Test("Keys written in place and values of 512 tokens come back as they went, null for the missing")
    func multiGet() async throws {
        let server = try RedisServerProcess()
        let client = try await TestClient(port: server.port)
        let values = try await client.run { connection in
            let promise = connection.eventLoop.makePromise(of: ReplyValue.self)
            for number in stride(from: 0, to: 512, by: 2) {
                connection.send { writer in
                    writer.command("SET", argumentCount: 2)
                    writer.argument(byteCount: 34) { fillKey($0, number) }
                    writer.argument([UInt8](repeating: UInt8(number / 2), count: number))
                } _: { _ in
                }
            }
            connection.send { writer in
                writer.command("MGET", argumentCount: 512)
                for number in 0..<512 { writer.argument(byteCount: 34) { fillKey($0, number) } }
            } _: { result in
                promise.completeWith(result.map { ReplyValue($0) }.mapError { $0 })
            }
            return promise.futureResult
        }.get()
        let expected = (0..<512).map { number in
            number % 2 == 0 ? ReplyValue.string([UInt8](repeating: UInt8(number / 2), count: number)) : .null
        }
        #expect(values == .array(expected))
        try await client.close()
    }

    @Test("A value of some megabytes goes out and comes back whole")
    func largeValue() async throws {
        let server = try RedisServerProcess()
        let client = try await TestClient(port: server.port)
        let text = String(repeating: "0123456789", count: 400_000)
        let outcomes = try await client.all(["SET big \(text)", "GET big"])
        #expect(outcomes == [.success(.status("OK")), .success(.text(text))])
        try await client.close()
    }

    @Test("A reply beyond the limit costs the connection, not the process")
    func replyLimit() async throws {
        let server = try RedisServerProcess()
        let client = try await TestClient(port: server.port) { $0.replyLimitBytes = 1 << 16 }
        let text = String(repeating: "x", count: 1 << 17)
        #expect(try await client.command("SET big \(text)") == .success(.status("OK")))
        guard case .failure(.maybeExecuted(let reason)) = try await client.command("GET big") else {
            Issue.record("the reply was let through")
            return
        }
        #expect(reason.contains("larger than 65536 bytes") && reason.contains("127.0.0.1:\(server.port)"))
        #expect(try await client.command("PING") == .success(.status("PONG")))
        try await client.close()
    }

    @Test("An error reply fails its command with prefix and message, and no other")
    func errorReply() async throws {
        let server = try RedisServerProcess()
        let client = try await TestClient(port: server.port)
        let outcomes = try await client.all(["SET text x", "INCR text", "LPUSH text y", "GET text"])
        #expect(outcomes[1] == .failure(.server(prefix: "ERR", message: "value is not an integer or out of range")))
        guard case .failure(.server(prefix: "WRONGTYPE", _)) = outcomes[2] else {
            Issue.record("not WRONGTYPE: \(outcomes[2])")
            return
        }
        #expect(outcomes[3] == .success(.text("x")))
        try await client.close()
    }

    @Test("An error inside a transaction's array is an element, not a failure of the transaction")
    func errorInArray() async throws {
        let server = try RedisServerProcess()
        let client = try await TestClient(port: server.port)
        let outcomes = try await client.all(["SET text x", "MULTI", "INCR text", "GET text", "EXEC"])
        #expect(
            outcomes[4]
                == .success(.array([.error("ERR value is not an integer or out of range"), .text("x")]))
        )
        try await client.close()
    }

    @Test("A completion may send, and what it sends runs")
    func sendFromCompletion() async throws {
        let server = try RedisServerProcess()
        let client = try await TestClient(port: server.port)
        let value = try await client.run { connection in
            let promise = connection.eventLoop.makePromise(of: ReplyValue.self)
            connection.send(words: "INCR n") { _ in
                connection.send(words: "INCR n") { promise.completeWith($0.map { ReplyValue($0) }.mapError { $0 }) }
            }
            return promise.futureResult
        }.get()
        #expect(value == .integer(2))
        try await client.close()
    }

    @Test("A completion may close the connection; the commands behind it fail, once each")
    func closeFromCompletion() async throws {
        let server = try RedisServerProcess()
        let client = try await TestClient(port: server.port)
        let log = try await client.run { connection in
            let promise = connection.eventLoop.makePromise(of: [String].self)
            let log = NIOLoopBoundBox([String](), eventLoop: connection.eventLoop)
            connection.send(words: "PING") { _ in
                log.value.append("first")
                connection.close()
                connection.send(words: "PING") { result in
                    if case .failure(.closed) = result { log.value.append("after") }
                }
                promise.succeed(log.value)
            }
            for _ in 0..<2 {
                connection.send(words: "PING") { result in
                    if case .failure(.maybeExecuted) = result { log.value.append("behind") }
                }
            }
            return promise.futureResult
        }.get()
        #expect(log == ["first", "behind", "behind", "after"])
    }
}

private func fillKey(_ output: UnsafeMutableRawBufferPointer, _ number: Int) {
    output.copyBytes(from: [UInt8]("t:".utf8) + [UInt8](repeating: UInt8(number & 0xFF), count: 31))
    output[33] = UInt8(number >> 8)
}

private final class Counter: Sendable {
    private let count = Atomic<Int>(0)

    var value: Int { count.load(ordering: .acquiring) }

    func increment() { count.add(1, ordering: .releasing) }
}

/// Counts the flushes that leave a connection; at the same time shows that `configureChannel` sits before the socket.
private final class FlushCounter: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer
    private let counter: Counter

    init(_ counter: Counter) {
        self.counter = counter
    }

    func flush(context: ChannelHandlerContext) {
        counter.increment()
        context.flush()
    }
}
