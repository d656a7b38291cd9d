import NIOCore
import NIOEmbedded
import NIOHTTP1
import Testing

@testable import HTTPPorts

/// The bounds of a port, on the time of an embedded event loop.
@Suite struct PortGuardTests {
    private static let limits = PortLimits(connections: 2, headBytes: 64, bodyBytes: 8, idleTimeout: .seconds(10))
    private static let request = "GET /livez HTTP/1.1\r\nhost: a\r\n\r\n"

    private func channel(
        _ connections: PortConnections = PortConnections(limits),
        on loop: EmbeddedEventLoop = EmbeddedEventLoop()
    ) throws -> EmbeddedChannel {
        let channel = EmbeddedChannel(loop: loop)
        var decoding = NIOHTTPDecoderLimitConfiguration()
        decoding.maxHeaderListSize = connections.limits.headBytes
        try channel.pipeline.syncOperations.configureHTTPServerPipeline(
            withPipeliningAssistance: false,
            withErrorHandling: false,
            withEncoderConfiguration: .init(),
            withDecoderLimitConfiguration: decoding
        )
        try channel.pipeline.syncOperations.addHandler(PortGuard(connections))
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        return channel
    }

    private func write(_ text: String, to channel: EmbeddedChannel) throws {
        try channel.writeInbound(ByteBuffer(string: text))
    }

    /// - Parameter isWhole: false: the answer goes on.
    private func answer(_ channel: EmbeddedChannel, isWhole: Bool = true) throws {
        let head = HTTPResponseHead(version: .http1_1, status: .ok, headers: ["content-length": "0"])
        try channel.writeOutbound(HTTPServerResponsePart.head(head))
        if isWhole { try channel.writeOutbound(HTTPServerResponsePart.end(nil)) }
    }

    private func received(from channel: EmbeddedChannel) throws -> String {
        var text = ""
        while let bytes = try channel.readOutbound(as: ByteBuffer.self) { text += String(buffer: bytes) }
        return text
    }

    private func requests(passedBy channel: EmbeddedChannel) throws -> Int {
        var ends = 0
        while let part = try channel.readInbound(as: HTTPServerRequestPart.self) { ends += part == .end(nil) ? 1 : 0 }
        return ends
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
        try answer(channel)
        loop.advanceTime(by: .seconds(9))
        #expect(channel.isActive)
        loop.advanceTime(by: .seconds(1))
        #expect(!channel.isActive)
    }

    @Test(
        "Bytes that never become a request do not keep a connection open",
        arguments: ["GET / HTTP", "\n\n\n\n\n\n\n\n\n\n"]
    )
    func dribble(bytes: String) throws {
        let channel = try channel()
        for byte in bytes {
            #expect(channel.isActive)
            try write(String(byte), to: channel)
            channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        }
        #expect(!channel.isActive)
    }

    // MARK: Size

    @Test("Requests within the limits pass, in one piece and byte by byte, any number of them")
    func requests() throws {
        let channel = try channel()
        let request = "\r\n\r\nPOST / HTTP/1.1\r\nhost: a\r\ncontent-length: 8\r\n\r\n12345678"
        for _ in 0..<5 { try write(request, to: channel) }
        for byte in request { try write(String(byte), to: channel) }
        #expect(try requests(passedBy: channel) == 6)
        #expect(channel.isActive)
        try channel.close().wait()
    }

    @Test("A head beyond the limit is answered with 431, and ends the connection; one of the limit's length passes")
    func longHead() throws {
        func request(_ bytes: Int) -> String {
            "GET /\(String(repeating: "a", count: bytes - 6)) HTTP/1.1\r\nhost: a\r\n\r\n"
        }
        let channel = try channel()
        try write(request(64), to: channel)
        #expect(try requests(passedBy: channel) == 1)
        try answer(channel)
        _ = try received(from: channel)
        try write(request(65), to: channel)
        #expect(try received(from: channel).hasPrefix("HTTP/1.1 431 "))
        #expect(try requests(passedBy: channel) == 0)
        #expect(!channel.isActive)
    }

    @Test("A long head behind a request that is not answered ends the connection without a word", arguments: [1, 2])
    func longLaterHead(requests: Int) throws {
        let channel = try channel()
        for _ in 0..<requests { try write(Self.request, to: channel) }
        try answer(channel, isWhole: requests > 1)
        _ = try received(from: channel)
        try write("GET /" + String(repeating: "a", count: 65), to: channel)
        #expect(try received(from: channel).isEmpty)
        #expect(!channel.isActive)
    }

    @Test("A body beyond the limit ends the connection, whether its length is told or not")
    func longBody() throws {
        let chunk = "9\r\n123456789\r\n"
        for (field, body) in [("content-length: 9", "123456789"), ("transfer-encoding: chunked", chunk)] {
            let channel = try channel()
            try write("POST / HTTP/1.1\r\nhost: a\r\n\(field)\r\n\r\n", to: channel)
            #expect(channel.isActive)
            // The decoder may miss the rest.
            _ = try? channel.writeInbound(ByteBuffer(string: body))
            #expect(try requests(passedBy: channel) == 0)
            #expect(!channel.isActive)
        }
    }

    // MARK: Answers

    @Test("The last request of a connection ends it with its answer, and clients of HTTP/1.0 are answered in theirs")
    func last() throws {
        for (request, version) in [
            ("GET / HTTP/1.0\r\n\r\n", "1.0"), ("GET / HTTP/1.1\r\nconnection: TE, Close\r\n\r\n", "1.1"),
        ] {
            let channel = try channel()
            try write(request, to: channel)
            try answer(channel)
            #expect(try received(from: channel).hasPrefix("HTTP/\(version) 200 "))
            #expect(!channel.isActive)
        }
    }

    @Test("One that follows events may be quiet, and ends when it asks something: the answer would stand among them")
    func events() throws {
        let channel = try channel()
        try write(Self.request, to: channel)
        try PortChannel.followEvents(on: channel)
        try answer(channel, isWhole: false)
        channel.embeddedEventLoop.advanceTime(by: .hours(1))
        #expect(channel.isActive)
        try write(Self.request, to: channel)
        #expect(try requests(passedBy: channel) == 1)
        #expect(!channel.isActive)
    }

    // MARK: Number

    @Test("One connection too many closes the one that was quiet for longest")
    func cap() throws {
        let connections = PortConnections(Self.limits)
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
    func sameMoment() throws {
        let connections = PortConnections(Self.limits)
        let loop = EmbeddedEventLoop()
        let (first, second) = (try channel(connections, on: loop), try channel(connections, on: loop))
        let third = try channel(connections, on: loop)
        #expect(!first.isActive && second.isActive && third.isActive)
        try second.close().wait()
        // Numbers 1 and 2 have gone.
        for id: PortConnections.ID in [1, 2, 2] {
            connections.spoke(id, now: loop.now)
            connections.remove(id)
        }
        let fourth = try channel(connections, on: loop)
        #expect(third.isActive && fourth.isActive)
        for channel in [third, fourth] { try channel.close().wait() }
    }
}
