import NIOCore
import Testing

@testable import HTTP2Transport

/// Bodies and the windows that hold them up.
struct FlowControlTests {
    static let large = ByteBuffer(repeating: UInt8(ascii: "x"), count: 300_000)

    static func limits(_ limits: PeerLimits) -> PeerLimits {
        var limits = limits
        limits.bodyBytes = 1 << 20
        return limits
    }

    @Test("Bodies larger than all windows arrive whole, in both directions")
    func largeBodies() throws {
        let pair = SessionPair.connected(
            client: HTTP2ClientSession(connectionWindowBytes: 65_535, limits: Self.limits(.ofClient)),
            server: HTTP2ServerSession(limits: Self.limits(.ofServer))
        )
        pair.onRequest = { server, stream, message in
            server.respond(to: stream, status: 200, HTTP2Fields(), body: message.body)
        }
        for tag in UInt64(1)...5 { try pair.open(tag, body: Self.large) }
        #expect(pair.client.stalledBodyBytes == 5 * 300_000 - 65_535)
        pair.pump()
        let bodies = pair.clientSaw.compactMap { if case .response(_, _, _, let body) = $0 { body } else { nil } }
        #expect(bodies == Array(repeating: String(buffer: Self.large), count: 5))
        #expect(pair.client.stalledBodyBytes == 0)
        #expect(pair.server.stalledBodyBytes == 0)
    }

    @Test("A small connection window lets through what fits, and the client sees how much is left")
    func smallWindow() throws {
        let server = HTTP2ServerSession(
            settings: HTTP2Settings(maxConcurrentStreams: 100, streamWindowBytes: 1_000)
        )
        let pair = SessionPair.connected(server: server)
        pair.server.returnsWindow = false
        try pair.open(1, body: ByteBuffer(repeating: 1, count: 1_500))
        pair.pump()
        // The stream's window binds here, not the connection's.
        #expect(pair.serverSaw.isEmpty)
        #expect(pair.client.stalledBodyBytes == 500)
        #expect(pair.client.remoteWindowBytes == 65_535 - 1_000)
        pair.server.returnsWindow = true
        pair.pump()
        #expect(pair.client.stalledBodyBytes == 0)
        #expect(pair.clientSaw.answers == [1: 200])
    }

    @Test("A stalled connection window stalls all bodies, but no fields, until it is returned")
    func stalledWindow() throws {
        let pair = SessionPair.connected(server: HTTP2ServerSession(limits: Self.limits(.ofServer)))
        pair.server.returnsWindow = false
        try pair.open(1, body: ByteBuffer(repeating: 1, count: 65_535))
        try pair.open(2, body: ByteBuffer(string: "late"))
        try pair.open(3, body: ByteBuffer())
        pair.pump()
        #expect(pair.client.remoteWindowBytes == 0)
        #expect(pair.clientSaw.answers == [1: 200, 3: 200])
        pair.server.returnsWindow = true
        pair.pump()
        #expect(pair.clientSaw.answers == [1: 200, 2: 200, 3: 200])
    }

    @Test("Streams that send the same body share its memory: none of them copies it")
    func sharedBody() throws {
        let server = HTTP2ServerSession(
            settings: HTTP2Settings(maxConcurrentStreams: 100, streamWindowBytes: 10)
        )
        let pair = SessionPair.connected(server: server)
        pair.server.returnsWindow = false
        let body = ByteBuffer(repeating: 1, count: 1_000)
        let streams = try (1...3 as ClosedRange<UInt64>).map { try pair.open($0, body: body) }
        let start = body.withUnsafeReadableBytes { $0.baseAddress }
        for stream in streams {
            let rest = try #require(pair.client.stalledBody(of: stream))
            // The window's bytes are gone: the rest is a part of the same memory.
            #expect(rest.readableBytes == 990)
            #expect(rest.withUnsafeReadableBytes { $0.baseAddress } == start.map { $0 + 10 })
        }
        pair.server.returnsWindow = true
        pair.pump()
        let received = pair.serverSaw.compactMap { if case .request(_, _, let body) = $0 { body } else { nil } }
        #expect(received == Array(repeating: String(buffer: body), count: 3))
    }

    @Test("A stream that is given up while its body stalls lets the body go")
    func givenUp() throws {
        let pair = SessionPair.connected()
        pair.server.returnsWindow = false
        let stream = try pair.open(1, body: Self.large)
        pair.pump()
        #expect(pair.client.stalledBodyBytes > 0)
        pair.client.reset(stream, .cancel)
        #expect(pair.client.stalledBodyBytes == 0)
        pair.takeClientEvents()
        #expect(pair.clientSaw == [.closed(tag: 1, .cancel)])
    }

    @Test("A window of its own for the connection is announced", arguments: [100_000, 1 << 20])
    func connectionWindow(bytes: Int) {
        let pair = SessionPair.connected(server: HTTP2ServerSession(connectionWindowBytes: bytes))
        #expect(pair.client.remoteWindowBytes == bytes)
        pair.server.setConnectionWindow(bytes: bytes + 5)
        pair.pump()
        #expect(pair.client.remoteWindowBytes == bytes + 5)
    }

    @Test("Output is taken without a copy when the buffer is empty, and joined when it is not")
    func output() throws {
        let pair = SessionPair.connected()
        try pair.open(1)
        let bytes = pair.client.outputBytes
        var buffer = ByteBuffer(string: "before")
        pair.client.takeOutput(into: &buffer)
        #expect(buffer.readableBytes == 6 + bytes)
        #expect(pair.client.outputBytes == 0)
        buffer.clear()
        pair.client.takeOutput(into: &buffer)
        #expect(buffer.readableBytes == 0)
    }
}
