import NIOCore
import Testing

@testable import HTTP2Transport

/// Fields on the wire (HPACK).
struct CompressionTests {
    /// Bytes of the next request's block of fields.
    static func headerBytes(
        _ pair: SessionPair,
        path: String,
        id: String,
        indexing: HTTP2Fields.Indexing
    ) throws -> Int {
        var fields = HTTP2Fields.request(path: path)
        fields.append("apns-topic", "com.example.news")
        fields.append("apns-push-type", "alert")
        fields.append("apns-id", id, indexing: indexing)
        try pair.client.openStream(fields, body: ByteBuffer(), tag: 0)
        let bytes = pair.client.outputBytes
        pair.pump()
        return bytes - FrameScanner.headerBytes
    }

    /// Different paths of the same length, also on the wire: 0, 1 and 2 are equally long in Huffman code.
    static func path(_ number: Int) -> String {
        "/3/device/" + String(repeating: String(number % 3), count: 64)
    }

    @Test("From the second request on, fields that repeat take one byte each")
    func repeated() throws {
        let pair = SessionPair.connected()
        let first = try Self.headerBytes(pair, path: "/1", id: "a", indexing: .never)
        let second = try Self.headerBytes(pair, path: "/1", id: "a", indexing: .never)
        #expect(first > second + 25)
        // Six indexed fields; path and id as literals, the name of the id in full.
        #expect(second < 25)
    }

    @Test("Paths and ids push nothing out of the table: the hundredth request is as small as the second")
    func steady() throws {
        let pair = SessionPair.connected()
        var sizes: [Int] = []
        for number in 0..<100 {
            let id = "00000000-0000-0000-0000-" + String(100_000_000_000 + number)
            sizes.append(try Self.headerBytes(pair, path: Self.path(number), id: id, indexing: .never))
        }
        let steady = try #require(sizes.dropFirst().max())
        #expect(steady - (sizes.dropFirst().min() ?? 0) <= 4)
        #expect(pair.serverSaw.paths.count == 100)
    }

    @Test("A name that was indexed once takes hardly any bytes, while its values stay out of the table")
    func indexedName() throws {
        let pair = SessionPair.connected()
        _ = try Self.headerBytes(pair, path: "/1", id: "a", indexing: .never)
        let spelled = try Self.headerBytes(pair, path: "/1", id: "b", indexing: .never)
        _ = try Self.headerBytes(pair, path: "/1", id: "c", indexing: .indexed)
        let table = pair.client.encoderTableBytes
        let found = try Self.headerBytes(pair, path: "/1", id: "d", indexing: .never)
        #expect(found <= spelled - 5)
        #expect(pair.client.encoderTableBytes == table)
    }

    /// Sends a request with this authorization. Returns the bytes of its fields, and the value that arrived.
    static func authorize(
        _ pair: SessionPair,
        _ token: String,
        indexing: HTTP2Fields.Indexing = .indexed
    ) throws -> (bytes: Int, arrived: String?) {
        var arrived: String?
        pair.onRequest = { server, stream, message in
            arrived = message.value(of: "authorization")
            server.respond(to: stream, status: 200, HTTP2Fields())
        }
        var fields = HTTP2Fields.request(path: "/1")
        fields.append("authorization", token, indexing: indexing)
        fields.append("apns-topic", "com.example.news")
        try pair.client.openStream(fields, body: ByteBuffer(), tag: 0)
        let bytes = pair.client.outputBytes
        pair.pump()
        return (bytes - FrameScanner.headerBytes, arrived)
    }

    @Test("A provider token takes its bytes once, and arrives under its name", arguments: [1, 30, 250])
    func authorization(count: Int) throws {
        let pair = SessionPair.connected()
        let token = "bearer " + String(repeating: "eyJ", count: count)
        let first = try Self.authorize(pair, token)
        let second = try Self.authorize(pair, token)
        #expect(first.arrived == token)
        #expect(second.arrived == token)
        #expect(second.bytes <= 10)
        // A renewed one finds the name in the table.
        let renewed = try Self.authorize(pair, token + "x")
        #expect(renewed.arrived == token + "x")
        #expect(renewed.bytes < first.bytes)
        let again = try Self.authorize(pair, token + "x")
        #expect(again.arrived == token + "x")
        #expect(again.bytes <= 10)
    }

    @Test("Values that spell the disguised name in Huffman code arrive as they are", arguments: 0..<8)
    func namesake(padding: Int) throws {
        let pair = SessionPair.connected()
        // "a" takes five bits: of eight paddings one has the name begin with a byte, in the path as in the others. What
        // stands before it makes the bytes before a name.
        let value = String(repeating: "a", count: padding) + "c12sqmhorizatioN4"
        var arrived: [[String?]] = []
        pair.onRequest = { server, stream, message in
            arrived.append([":path", "authorization", "apns-topic", "apns-collapse-id"].map { message.value(of: $0) })
            server.respond(to: stream, status: 200, HTTP2Fields())
        }
        let token = "bearer " + String(repeating: "k", count: 20)
        for _ in 0..<2 {
            var fields = HTTP2Fields.request(path: "/4/broadcasts/apps/com." + value)
            fields.append("authorization", token)
            fields.append("apns-topic", value)
            fields.append("apns-collapse-id", value, indexing: .never)
            try pair.client.openStream(fields, body: ByteBuffer(), tag: 0)
            pair.pump()
        }
        let sent = ["/4/broadcasts/apps/com." + value, token, value, value]
        #expect(arrived == [sent, sent])
        #expect(pair.server.failure == nil)
    }

    @Test("A provider token that was pushed out of the table arrives all the same")
    func evictedAuthorization() throws {
        var limits = PeerLimits.ofClient
        limits.encoderTableBytes = 300
        let pair = SessionPair.connected(client: HTTP2ClientSession(limits: limits))
        for number in 0..<20 {
            let token = "bearer " + String(repeating: "k", count: 60)
            let sent = try Self.authorize(pair, token)
            #expect(sent.arrived == token)
            _ = try Self.headerBytes(pair, path: "/1", id: "id-of-some-length-\(number)", indexing: .indexed)
        }
        #expect(pair.server.failure == nil)
    }

    @Test("A provider token too large for the server's table arrives all the same", arguments: [0, 64, 200])
    func largeAuthorization(tableBytes: Int) throws {
        var limits = PeerLimits.ofServer
        limits.decoderTableBytes = tableBytes
        let pair = SessionPair.connected(server: HTTP2ServerSession(limits: limits))
        let token = "bearer " + String(repeating: "k", count: 150)
        for _ in 0..<3 {
            let sent = try Self.authorize(pair, token)
            #expect(sent.arrived == token)
        }
        #expect(pair.clientSaw.ends == [0: .noError])
    }

    @Test("A provider token that must not be indexed is sent in full each time")
    func authorizationNeverIndexed() throws {
        let pair = SessionPair.connected()
        let token = "bearer " + String(repeating: "k", count: 100)
        _ = try Self.authorize(pair, token, indexing: .never)
        let second = try Self.authorize(pair, token, indexing: .never)
        #expect(second.arrived == token)
        #expect(second.bytes > 60)
    }

    @Test("The table for our fields is never larger than our limit, however much the server offers")
    func encoderTable() throws {
        var generous = PeerLimits.ofServer
        generous.decoderTableBytes = 1 << 20
        var limits = PeerLimits.ofClient
        limits.encoderTableBytes = 512
        let pair = SessionPair.connected(
            client: HTTP2ClientSession(limits: limits),
            server: HTTP2ServerSession(limits: generous)
        )
        for number in 0..<50 {
            _ = try Self.headerBytes(pair, path: "/1", id: "id-of-some-length-\(number)", indexing: .indexed)
        }
        #expect(pair.client.encoderTableBytes <= 512)
        #expect(pair.clientSaw.allSatisfy { if case .failed = $0 { false } else { true } })
    }

    @Test("A table smaller than the default is obeyed by the peer")
    func decoderTable() throws {
        var limits = PeerLimits.ofServer
        limits.decoderTableBytes = 128
        let pair = SessionPair.connected(server: HTTP2ServerSession(limits: limits))
        for number in 0..<50 {
            _ = try Self.headerBytes(pair, path: "/1", id: "id-of-some-length-\(number)", indexing: .indexed)
        }
        #expect(pair.client.encoderTableBytes <= 128)
        #expect(pair.serverSaw.paths.count == 50)
    }

    @Test("A peer that enlarges the table beyond our limit breaks the protocol")
    func tableBeyondLimit() {
        let pair = SessionPair.connected()
        // A dynamic table size update to 65,536 (RFC 7541 §6.3) before the fields.
        let block: [UInt8] = [0x3F, 0xE1, 0xFF, 0x03, 0x83, 0x87, 0x84, 0x01, 0x01, UInt8(ascii: "a")]
        pair.sendToServer(Frame.make(type: 1, flags: 0x5, stream: 1, block))
        guard case .failed(.protocolViolation(.compressionError, _)) = pair.serverSaw.last else {
            Issue.record("\(pair.serverSaw)")
            return
        }
    }
}
