import NIOCore
import TestSupport
import Testing

@testable import HTTP2Transport

/// Bytes that are not what HTTP/2 wants.
struct MalformedTests {
    /// A server that has received preface and settings, made by hand.
    static func server() -> SessionPair {
        let pair = SessionPair()
        pair.sendToServer(Frame.joined(Frame.preface, Frame.settings))
        _ = pair.carryToClient()
        pair.forget()
        return pair
    }

    @Test("HTTP/1.1 is recognised, and told with its first bytes", arguments: [1, 1000])
    func http1(chunkBytes: Int) {
        let pair = SessionPair()
        var bytes = ByteBuffer(string: "POST /3/device/00 HTTP/1.1\r\nhost: localhost\r\n\r\n")
        while let chunk = bytes.readSlice(length: min(chunkBytes, bytes.readableBytes)), chunk.readableBytes > 0 {
            pair.sendToServer(chunk)
        }
        guard case .failed(.notHTTP2(let opening)) = pair.serverSaw.last else {
            Issue.record("\(pair.serverSaw)")
            return
        }
        #expect("POST /3/device/00 HTTP/1.1".hasPrefix(opening))
        #expect(pair.server.isFinished)
    }

    @Test("A server that answers with HTTP/1.1 is recognised by the client")
    func http1Server() {
        let pair = SessionPair()
        pair.sendToClient(ByteBuffer(string: "HTTP/1.1 400 Bad Request\r\n\r\n"))
        #expect(pair.clientSaw == [.failed(.notHTTP2(opening: "HTTP/1.1 400 Bad Request"))])
    }

    @Test("A protocol error ends the session, with a GOAWAY and nghttp2's words")
    func dataOnIdleStream() throws {
        let pair = Self.server()
        pair.sendToServer(Frame.make(type: 0, stream: 1, [1, 2, 3]))
        guard case .failed(.protocolViolation(.protocolError, let reason)) = pair.serverSaw.last else {
            Issue.record("\(pair.serverSaw)")
            return
        }
        #expect(reason.contains("idle"))
        var output = ByteBuffer()
        pair.server.takeOutput(into: &output)
        let goAway = try #require(Frame.parse(output).first { $0.type == 7 })
        #expect(goAway.code == 1)
        #expect(pair.server.isFinished)
    }

    @Test("Nothing is read or sent after a failure")
    func afterFailure() throws {
        let pair = Self.server()
        pair.sendToServer(Frame.make(type: 0, stream: 1, [1]))
        var output = ByteBuffer()
        pair.server.takeOutput(into: &output)
        pair.forget()
        pair.sendToServer(Frame.headers(stream: 3))
        pair.server.ping(1)
        pair.server.goAway()
        pair.server.send(HTTP2Settings(maxConcurrentStreams: 1))
        let wasSent = pair.server.respond(to: HTTP2StreamID(rawValue: 3), status: 200, HTTP2Fields())
        #expect(!wasSent)
        #expect(pair.serverSaw.isEmpty)
        #expect(pair.server.outputBytes == 0)
    }

    @Test("A frame larger than announced ends the session")
    func largeFrame() {
        let pair = Self.server()
        pair.sendToServer(Frame.make(type: 0, stream: 1, [UInt8](repeating: 0, count: 16_385)))
        guard case .failed(.protocolViolation(.frameSizeError, _)) = pair.serverSaw.last else {
            Issue.record("\(pair.serverSaw)")
            return
        }
    }

    @Test(
        "A malformed request costs its stream only",
        arguments: [("Apns-Id", "1"), ("connection", "close"), ("bad\u{1}name", "1"), ("content-length", "7")]
    )
    func malformedRequest(name: String, value: String) throws {
        let pair = Self.server()
        pair.sendToServer(Frame.headers(stream: 1, Frame.literal(name, value)))
        pair.sendToServer(Frame.headers(stream: 3))
        var output = ByteBuffer()
        pair.server.takeOutput(into: &output)
        let reset = try #require(Frame.parse(output).first { $0.type == 3 })
        #expect(reset.stream == 1)
        #expect(reset.code == 1)
        #expect(pair.serverSaw == [.request(id: 3, path: "/", body: "")])
        #expect(pair.server.openStreams == 0)
    }

    @Test("Trailers complete a request, and are not among its fields")
    func trailers() {
        let pair = Self.server()
        var fields = 0
        pair.onRequest = { _, _, message in message.forEachField { _, _ in fields += 1 } }
        pair.sendToServer(Frame.headers(stream: 1, flags: 0x4))
        pair.sendToServer(Frame.make(type: 0, stream: 1, Array("body".utf8)))
        pair.sendToServer(Frame.make(type: 1, flags: 0x5, stream: 1, Frame.literal("x-trailer", "1")))
        #expect(pair.serverSaw == [.request(id: 1, path: "/", body: "body")])
        #expect(fields == 4)
    }

    @Test("A request that is cut off by its client is no news")
    func halfRequest() {
        let pair = Self.server()
        pair.sendToServer(Frame.headers(stream: 1, flags: 0x4))
        pair.sendToServer(Frame.make(type: 3, stream: 1, [0, 0, 0, 8]))
        #expect(pair.serverSaw.isEmpty)
        #expect(pair.server.openStreams == 0)
    }

    @Test("Frames of unknown types are ignored")
    func unknownFrame() {
        let pair = Self.server()
        pair.sendToServer(Frame.joined(Frame.make(type: 0xBE, stream: 5, [1, 2, 3]), Frame.headers(stream: 1)))
        #expect(pair.serverSaw == [.request(id: 1, path: "/", body: "")])
    }

    @Test("A pushed stream ends the client's session: none was allowed")
    func push() throws {
        let pair = SessionPair.connected()
        try pair.open(1)
        pair.sendToClient(Frame.make(type: 5, flags: 0x4, stream: 1, [0, 0, 0, 2, 0x83, 0x87, 0x84]))
        guard case .failed(.protocolViolation(.protocolError, _)) = pair.clientSaw.last else {
            Issue.record("\(pair.clientSaw)")
            return
        }
    }

    @Test("Random bytes behind a good beginning never trap", arguments: 0..<200 as Range<UInt64>)
    func random(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let pair = Self.server()
        for _ in 0..<20 {
            let count = Int.random(in: 0...40, using: &random)
            let payload = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
            pair.sendToServer(
                Frame.make(
                    type: UInt8.random(in: 0...10, using: &random),
                    flags: UInt8.random(in: 0...255, using: &random),
                    stream: UInt32.random(in: 0...9, using: &random),
                    payload
                )
            )
        }
        var output = ByteBuffer()
        pair.server.takeOutput(into: &output)
        #expect(pair.server.openStreams <= 1_000)
    }
}
