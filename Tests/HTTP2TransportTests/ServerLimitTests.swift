import NIOCore
import Testing

@testable import HTTP2Transport

/// Each limit on what a server may do, against a client with frames made by hand.
struct ServerLimitTests {
    /// A client that waits for the rest of the answer on its stream 1, with its output taken.
    static func client() throws -> SessionPair {
        let pair = SessionPair.connected(client: HTTP2ClientSession(limits: PeerLimitTests.limits))
        try pair.open(1)
        pair.sendToClient(Self.answer(stream: 1, flags: 0x4))
        // A second before the test's frames: those of the beginning do not count among them.
        pair.now = pair.now + .seconds(2)
        _ = takeOutput(pair)
        pair.forget()
        return pair
    }

    /// HEADERS with status 200 of the static table (RFC 7541 §A); the default flags end block and stream.
    static func answer(stream: UInt32, flags: UInt8 = 0x5, _ extra: [UInt8] = []) -> ByteBuffer {
        Frame.make(type: 1, flags: flags, stream: stream, [0x88] + extra)
    }

    static func takeOutput(_ pair: SessionPair) -> ByteBuffer {
        var output = ByteBuffer()
        pair.client.takeOutput(into: &output)
        return output
    }

    /// Opens streams 3, 5, 7 and so on; returns their numbers.
    static func openMore(_ count: Int, on pair: SessionPair) throws -> [UInt32] {
        try (0..<count).map { UInt32(try pair.open(UInt64($0) + 2).rawValue) }
    }

    /// The session has ended for this reason, and the server was told with ENHANCE_YOUR_CALM.
    static func expectEnd(
        _ pair: SessionPair,
        _ excess: PeerExcess,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(pair.clientSaw.last == .failed(.peerLimit(excess)), sourceLocation: sourceLocation)
        let output = Self.takeOutput(pair)
        let goAway = Frame.parse(output).last
        #expect(goAway?.type == 7, sourceLocation: sourceLocation)
        #expect(goAway?.code == HTTP2ErrorCode.enhanceYourCalm.rawValue, sourceLocation: sourceLocation)
        #expect(String(buffer: output).contains("\(excess)"), sourceLocation: sourceLocation)
        let isFinished = pair.client.isFinished
        #expect(isFinished, sourceLocation: sourceLocation)
        #expect(throws: HTTP2OpenRefusal.sessionIsEnding, sourceLocation: sourceLocation) { try pair.open(99) }
    }

    @Test("Frames of a kind: the one too many in a second ends the session", arguments: PeerLimitTests.kinds)
    func tooManyFrames(kind: PeerExcess.Frame, frame: ByteBuffer) throws {
        let pair = try Self.client()
        for _ in 0..<10 { pair.sendToClient(frame) }
        #expect(pair.client.failure == nil)
        pair.sendToClient(frame)
        Self.expectEnd(pair, .frames(kind, perSecond: 10))
    }

    @Test("Fields larger than the limit end the session, those of trailers too", arguments: [3, 1] as [UInt32])
    func headerList(stream: UInt32) throws {
        let pair = try Self.client()
        _ = try Self.openMore(1, on: pair)
        // Each of these counts 35; the status of an answer 42.
        let extra = (0..<9).flatMap { Frame.literal("x\($0)", "1") }
        let trailers = Frame.make(type: 1, flags: 0x5, stream: 1, extra)
        pair.sendToClient(stream == 1 ? trailers : Self.answer(stream: stream, extra))
        Self.expectEnd(pair, .headerList(limitBytes: 300))
    }

    @Test("Streams that are reset again and again end the session")
    func resets() throws {
        let pair = try Self.client()
        for stream in try Self.openMore(11, on: pair) {
            #expect(pair.client.failure == nil)
            pair.sendToClient(Frame.make(type: 3, stream: stream, [0, 0, 0, 7]))
        }
        Self.expectEnd(pair, .resets(perSecond: 10))
    }

    @Test("Answers that make the client reset their streams end the session")
    func provokedResets() throws {
        let pair = try Self.client()
        for stream in try Self.openMore(11, on: pair) {
            #expect(pair.client.failure == nil)
            pair.sendToClient(Self.answer(stream: stream, Frame.literal("connection", "close")))
        }
        Self.expectEnd(pair, .resets(perSecond: 10))
    }

    @Test("Acknowledgements that the server does not read end the session")
    func unread() throws {
        let pair = try Self.client()
        var pings = 0
        while pair.client.failure == nil, pings < 1_000 {
            pair.sendToClient(Frame.make(type: 6, [1, 2, 3, 4, 5, 6, 7, 8]))
            pair.now = pair.now + .milliseconds(100)
            pings += 1
        }
        #expect(pings == 10_000 / 17 + 1, "an acknowledgement has 17 bytes")
        Self.expectEnd(pair, .unread(limitBytes: 10_000))
    }

    @Test("The defaults bound every kind, and let a service change its settings with every answer")
    func defaults() throws {
        let pair = SessionPair.connected()
        pair.now = pair.now + .seconds(2)
        for stream in try (1...1_000 as ClosedRange<UInt64>).map({ UInt32(try pair.open($0).rawValue) }) {
            pair.sendToClient(Frame.make(type: 4, [0, 3, 0, 0, 0x13, 0x88]))
            pair.sendToClient(Self.answer(stream: stream))
        }
        #expect(pair.clientSaw.answers.count == 1_000)
        var sent = 0
        while pair.client.failure == nil, sent < 2_000 {
            pair.sendToClient(Frame.settings)
            sent += 1
        }
        #expect(pair.client.failure == .peerLimit(.frames(.settings, perSecond: 2_000)))
    }
}
