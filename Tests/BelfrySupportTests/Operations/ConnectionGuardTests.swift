import NIOCore
import NIOEmbedded
import PipelineCore
import Testing

@testable import BelfrySupport

/// The bounds of the operations endpoint, on the time of an embedded event loop.
@Suite struct ConnectionGuardTests {
    private static let request = "GET /livez HTTP/1.1\r\nhost: a\r\n\r\n"

    private func channel(
        _ connections: OperationsConnections = OperationsConnections(limit: 2),
        on loop: EmbeddedEventLoop = EmbeddedEventLoop()
    ) throws -> EmbeddedChannel {
        let channel = EmbeddedChannel(loop: loop)
        try channel.pipeline.syncOperations.addHandler(
            ConnectionGuard(connections, idleTimeout: .seconds(10), headBytes: 64)
        )
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        return channel
    }

    private func write(_ text: String, to channel: EmbeddedChannel) throws {
        try channel.writeInbound(ByteBuffer(string: text))
    }

    // MARK: Time

    @Test("A connection that asks nothing is closed after the time-out, and not before")
    func idle() throws {
        let channel = try channel()
        channel.embeddedEventLoop.advanceTime(by: .milliseconds(9_999))
        #expect(channel.isActive)
        channel.embeddedEventLoop.advanceTime(by: .milliseconds(1))
        #expect(!channel.isActive)
    }

    @Test("A request and an answer each give a connection its time anew")
    func busy() throws {
        let channel = try channel()
        let loop = channel.embeddedEventLoop
        loop.advanceTime(by: .seconds(9))
        try write(Self.request, to: channel)
        loop.advanceTime(by: .seconds(9))
        try channel.writeOutbound(ByteBuffer(string: "HTTP/1.1 200 OK\r\n\r\n"))
        loop.advanceTime(by: .seconds(9))
        #expect(channel.isActive)
        loop.advanceTime(by: .seconds(1))
        #expect(!channel.isActive)
    }

    @Test("Bytes that never become a request do not keep a connection open")
    func dribble() throws {
        let channel = try channel()
        for byte in "GET / HTTP" {
            #expect(channel.isActive)
            try write(String(byte), to: channel)
            channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        }
        #expect(!channel.isActive)
    }

    // MARK: Size

    @Test("A head within the limit passes, in one piece and byte by byte, any number of them")
    func heads() throws {
        let channel = try channel()
        for _ in 0..<5 { try write(Self.request, to: channel) }
        for byte in Self.request { try write(String(byte), to: channel) }
        var passed = ""
        while let buffer = try channel.readInbound(as: ByteBuffer.self) { passed += String(buffer: buffer) }
        #expect(passed == String(repeating: Self.request, count: 6))
        #expect(channel.isActive)
        try channel.close().wait()
    }

    @Test("A head beyond the limit is answered with 431, and ends the connection")
    func longHead() throws {
        let channel = try channel()
        try write("GET /metrics HTTP/1.1\r\nhost: " + String(repeating: "a", count: 64), to: channel)
        let answer = try #require(try channel.readOutbound(as: IOData.self))
        guard case .byteBuffer(let buffer) = answer else {
            Issue.record("\(answer)")
            return
        }
        #expect(String(buffer: buffer).hasPrefix("HTTP/1.1 431 "))
        #expect(try channel.readInbound(as: ByteBuffer.self) == nil)
        #expect(!channel.isActive)
    }

    @Test("A long head behind an answer ends the connection without a word in the middle of it")
    func longLaterHead() throws {
        let channel = try channel()
        try write(Self.request, to: channel)
        try channel.writeOutbound(ByteBuffer(string: "HTTP/1.1 200"))
        #expect(try channel.readOutbound(as: ByteBuffer.self) != nil)
        try write(String(repeating: "a", count: 65), to: channel)
        #expect(try channel.readOutbound(as: IOData.self) == nil)
        #expect(!channel.isActive)
    }

    @Test("Heads are measured from one empty line to the next; empty lines before a request begin none")
    func meter() {
        var meter = RequestHeadMeter(limitBytes: 8)
        #expect(meter.readPiece("GET\n\n".utf8) == .init(heads: 1, isTooLong: false))
        #expect(meter.readPiece("\r\n\r\nG\r".utf8) == .init(heads: 0, isTooLong: false))
        #expect(meter.readPiece("\n".utf8) == .init(heads: 0, isTooLong: false))
        #expect(meter.readPiece("\n".utf8) == .init(heads: 1, isTooLong: false), "the eighth byte is its end")
        meter = RequestHeadMeter(limitBytes: 8)
        #expect(meter.readPiece("GET\r\n\r\nGET\r\n\r\n".utf8) == .init(heads: 2, isTooLong: false))
        #expect(meter.readPiece("\n\n\n\n\n\n\n\n".utf8) == .init(heads: 0, isTooLong: false))
        #expect(meter.readPiece("\n".utf8) == .init(heads: 0, isTooLong: true))
    }

    // MARK: Number

    @Test("One connection too many closes the one that was quiet for longest")
    func cap() throws {
        let connections = OperationsConnections(limit: 2)
        let loop = EmbeddedEventLoop()
        let first = try channel(connections, on: loop)
        loop.advanceTime(by: .seconds(1))
        let second = try channel(connections, on: loop)
        loop.advanceTime(by: .seconds(1))
        try write(Self.request, to: first)
        let third = try channel(connections, on: loop)
        #expect(first.isActive && !second.isActive && third.isActive)
        try first.close().wait()
        let fourth = try channel(connections, on: loop)
        #expect(third.isActive && fourth.isActive, "a place was free")
        for channel in [third, fourth] { try channel.close().wait() }
    }

    @Test("Of connections that are quiet since the same moment the oldest goes, and one that has gone is forgotten")
    func table() {
        var table = ConnectionTable(limit: 2)
        let now = MonotonicTime(nanoseconds: 5)
        #expect(table.open(now: now) == (1, nil))
        #expect(table.open(now: now) == (2, nil))
        #expect(table.open(now: now) == (3, 1))
        table.spoke(1, now: now)
        table.close(1)
        #expect(table.count == 2)
        table.spoke(2, now: MonotonicTime(nanoseconds: 6))
        #expect(table.open(now: MonotonicTime(nanoseconds: 7)) == (4, 3))
        table.close(2)
        table.close(2)
        #expect(table.open(now: now) == (5, nil))
        #expect(table.count == 2)
    }
}
