import NIOCore
import Testing

@testable import HTTP2Transport

/// Each limit on what a client may do, against a server with frames made by hand.
struct PeerLimitTests {
    /// Few of everything, so that each limit is reached by itself.
    static let limits: PeerLimits = {
        var limits = PeerLimits.ofServer
        limits.headerListBytes = 300
        limits.continuationsPerBlock = 3
        limits.continuationsPerSecond = 6
        limits.settingsPerSecond = 10
        limits.pingsPerSecond = 10
        limits.prioritiesPerSecond = 10
        limits.emptyDataPerSecond = 10
        limits.unknownFramesPerSecond = 10
        limits.resetsPerSecond = 10
        limits.unreadBytes = 10_000
        return limits
    }()

    /// A server that has received preface and settings, with its first output taken.
    static func server() -> SessionPair {
        let pair = SessionPair(server: HTTP2ServerSession(limits: Self.limits))
        // A second before the test's frames: those of the beginning do not count among them.
        pair.sendToServer(Frame.joined(Frame.preface, Frame.settings))
        pair.now = pair.now + .seconds(2)
        _ = pair.carryToClient()
        pair.forget()
        return pair
    }

    /// The session has ended for this reason, and the client was told with ENHANCE_YOUR_CALM.
    static func expectEnd(
        _ pair: SessionPair,
        _ excess: PeerExcess,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(pair.serverSaw.last == .failed(.peerLimit(excess)), sourceLocation: sourceLocation)
        var output = ByteBuffer()
        pair.server.takeOutput(into: &output)
        let goAway = Frame.parse(output).last
        #expect(goAway?.type == 7, sourceLocation: sourceLocation)
        #expect(goAway?.code == HTTP2ErrorCode.enhanceYourCalm.rawValue, sourceLocation: sourceLocation)
        #expect(String(buffer: output).contains("\(excess)"), sourceLocation: sourceLocation)
        let isFinished = pair.server.isFinished
        #expect(isFinished, sourceLocation: sourceLocation)
    }

    /// A kind of frame and an example of it.
    static let kinds: [(PeerExcess.Frame, ByteBuffer)] = [
        (.settings, Frame.settings),
        (.ping, Frame.make(type: 6, [1, 2, 3, 4, 5, 6, 7, 8])),
        (.priority, Frame.make(type: 2, stream: 1, [0, 0, 0, 0, 16])),
        (.emptyData, Frame.make(type: 0, stream: 1)),
        (.unknown, Frame.make(type: 0xBE, [1])),
    ]

    @Test("One frame of a kind too many in a second ends the session", arguments: kinds)
    func tooManyFrames(kind: PeerExcess.Frame, frame: ByteBuffer) {
        let pair = Self.server()
        pair.sendToServer(Frame.headers(stream: 1, flags: 0x4))
        for _ in 0..<10 { pair.sendToServer(frame) }
        #expect(pair.server.failure == nil)
        pair.sendToServer(frame)
        Self.expectEnd(pair, .frames(kind, perSecond: 10))
    }

    @Test("Frames of a kind, spread over time, are fine", arguments: kinds)
    func spreadFrames(kind: PeerExcess.Frame, frame: ByteBuffer) {
        let pair = Self.server()
        pair.sendToServer(Frame.headers(stream: 1, flags: 0x4))
        for _ in 0..<100 {
            pair.sendToServer(frame)
            pair.now = pair.now + .milliseconds(100)
            var output = ByteBuffer()
            pair.server.takeOutput(into: &output)
        }
        #expect(pair.server.failure == nil)
    }

    @Test("Acknowledgements, and empty DATA that ends its stream, do not count")
    func harmlessFrames() {
        let pair = Self.server()
        for _ in 0..<100 {
            pair.sendToServer(Frame.make(type: 6, flags: 0x1, [1, 2, 3, 4, 5, 6, 7, 8]))
        }
        for number in 0..<100 as Range<UInt32> {
            pair.sendToServer(Frame.headers(stream: 2 * number + 1, flags: 0x4))
            pair.sendToServer(Frame.make(type: 0, flags: 0x1, stream: 2 * number + 1))
        }
        #expect(pair.server.failure == nil)
        #expect(pair.serverSaw.paths.count == 100)
    }

    @Test("Fields larger than the limit end the session, though they are small on the wire")
    func headerList() {
        let pair = Self.server()
        pair.sendToServer(Frame.headers(stream: 1))
        #expect(pair.serverSaw.paths == ["/"])
        // The four pseudo-header fields count 168; each of these counts 35.
        let extra = (0..<4).flatMap { Frame.literal("x\($0)", "1") }
        pair.sendToServer(Frame.headers(stream: 3, extra))
        Self.expectEnd(pair, .headerList(limitBytes: 300))
    }

    @Test("Trailers have the same limit")
    func trailerList() {
        let pair = Self.server()
        pair.sendToServer(Frame.headers(stream: 1, flags: 0x4))
        let trailers = (0..<9).flatMap { Frame.literal("x\($0)", "1") }
        pair.sendToServer(Frame.make(type: 1, flags: 0x5, stream: 1, trailers))
        Self.expectEnd(pair, .headerList(limitBytes: 300))
    }

    @Test("CONTINUATION frames without an end end the session")
    func continuations() {
        let pair = Self.server()
        pair.sendToServer(Frame.headers(stream: 1, flags: 0x1))
        for _ in 0..<3 { pair.sendToServer(Frame.make(type: 9, stream: 1)) }
        #expect(pair.server.failure == nil)
        pair.sendToServer(Frame.make(type: 9, stream: 1))
        Self.expectEnd(pair, .continuations(perBlock: 3))
    }

    @Test("Many blocks with few CONTINUATION frames each end the session, too")
    func continuationsPerSecond() {
        let pair = Self.server()
        for stream in [1, 3, 5] as [UInt32] {
            pair.sendToServer(Frame.headers(stream: stream, flags: 0x1))
            pair.sendToServer(Frame.make(type: 9, stream: stream))
            pair.sendToServer(Frame.make(type: 9, flags: 0x4, stream: stream))
        }
        #expect(pair.serverSaw.paths.count == 3)
        pair.sendToServer(Frame.headers(stream: 7, flags: 0x1))
        pair.sendToServer(Frame.make(type: 9, flags: 0x4, stream: 7))
        Self.expectEnd(pair, .frames(.continuation, perSecond: 6))
    }

    @Test("Streams that are opened and reset at once end the session (CVE-2023-44487)")
    func rapidResets() {
        let pair = Self.server()
        pair.onRequest = { _, _, _ in }
        for number in 0..<11 as Range<UInt32> {
            #expect(pair.server.failure == nil)
            pair.sendToServer(Frame.headers(stream: 2 * number + 1))
            pair.sendToServer(Frame.make(type: 3, stream: 2 * number + 1, [0, 0, 0, 8]))
        }
        Self.expectEnd(pair, .resets(perSecond: 10))
    }

    @Test("Requests that make the server reset their streams end the session (CVE-2025-8671)")
    func provokedResets() {
        let pair = Self.server()
        for number in 0..<11 as Range<UInt32> {
            #expect(pair.server.failure == nil)
            pair.sendToServer(Frame.headers(stream: 2 * number + 1, Frame.literal("connection", "close")))
        }
        Self.expectEnd(pair, .resets(perSecond: 10))
    }

    @Test("Answers that the peer does not read end the session")
    func unread() {
        let pair = Self.server()
        pair.onRequest = { server, stream, _ in
            server.respond(to: stream, status: 400, HTTP2Fields(), body: ByteBuffer(repeating: 1, count: 1_000))
        }
        var stream: UInt32 = 1
        while pair.server.failure == nil, stream < 100 {
            pair.sendToServer(Frame.headers(stream: stream))
            stream += 2
        }
        // Ten answers of 1,019 bytes; the eleventh request finds too much unread.
        #expect(stream == 23)
        Self.expectEnd(pair, .unread(limitBytes: 10_000))
    }

    @Test("Answers that the client's windows hold up count as unread")
    func stalled() {
        let pair = Self.server()
        pair.onRequest = { server, stream, _ in
            server.respond(to: stream, status: 200, HTTP2Fields(), body: ByteBuffer(repeating: 1, count: 4_000))
        }
        // SETTINGS_INITIAL_WINDOW_SIZE 0.
        pair.sendToServer(Frame.make(type: 4, [0, 4, 0, 0, 0, 0]))
        for stream in [1, 3, 5] as [UInt32] {
            pair.sendToServer(Frame.headers(stream: stream))
            var output = ByteBuffer()
            pair.server.takeOutput(into: &output)
        }
        #expect(pair.server.stalledBodyBytes == 12_000)
        pair.sendToServer(Frame.make(type: 8, [0, 0, 0, 1]))
        Self.expectEnd(pair, .unread(limitBytes: 10_000))
    }

    @Test("More streams than allowed are refused or end the session; no request is handed out")
    func tooManyStreams() {
        let server = HTTP2ServerSession(settings: HTTP2Settings(maxConcurrentStreams: 2))
        let pair = SessionPair(server: server)
        pair.onRequest = { _, _, _ in }
        pair.sendToServer(Frame.joined(Frame.preface, Frame.settings))
        for stream in [1, 3, 5] as [UInt32] { pair.sendToServer(Frame.headers(stream: stream)) }
        #expect(pair.serverSaw.paths.count == 2)
    }

    @Test("A limit per second lets that many through at once, and then one for each part of a second")
    func meter() {
        var meter = EventRateLimit(perSecond: 4)
        let start: Int64 = 5_000_000_000
        let allowed = [0, 0, 0, 0, 250, 250, 1_500].map { meter.allows(now: start + $0 * 1_000_000) }
        #expect(allowed == [true, true, true, true, true, false, true])
    }

    @Test("The headers of frames are found over any chunks", arguments: [1, 2, 8, 9, 10, 1000])
    func scanner(chunkBytes: Int) {
        var bytes = Frame.joined(
            Frame.preface,
            Frame.settings,
            Frame.make(type: 0, flags: 1, stream: 9, [UInt8](repeating: 0xFF, count: 70_000)),
            Frame.make(type: 6, flags: 1, [1, 2, 3, 4, 5, 6, 7, 8])
        )
        var scanner = FrameScanner(prefaceBytes: FrameScanner.preface.count)
        var seen: [FrameScanner.Frame] = []
        while let chunk = bytes.readSlice(length: min(chunkBytes, bytes.readableBytes)), chunk.readableBytes > 0 {
            chunk.withUnsafeReadableBytes { piece in
                let result: Bool? = scanner.scan(piece) { frame in
                    seen.append(frame)
                    return nil
                }
                #expect(result == nil)
            }
        }
        #expect(
            seen == [
                FrameScanner.Frame(length: 0, type: 4, flags: 0),
                FrameScanner.Frame(length: 70_000, type: 0, flags: 1),
                FrameScanner.Frame(length: 8, type: 6, flags: 1),
            ]
        )
    }
}
