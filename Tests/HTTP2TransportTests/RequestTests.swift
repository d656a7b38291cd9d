import NIOCore
import Testing

@testable import HTTP2Transport

/// Requests and answers between our own sides.
struct RequestTests {
    @Test("Hundreds of streams are answered at once, over any chunks", arguments: [1, 7, 1000, Int.max])
    func manyStreams(chunkBytes: Int) throws {
        let pair = SessionPair.connected()
        let body = ByteBuffer(string: #"{"aps":{"alert":"hello"}}"#)
        let tags = UInt64(0)..<500
        for tag in tags { try pair.open(tag, body: body) }
        pair.pump(chunkBytes: chunkBytes)
        #expect(pair.serverSaw.paths == tags.map { "/\($0)" })
        let areWhole = pair.serverSaw.allSatisfy {
            if case .request(_, _, let seen) = $0 { seen == String(buffer: body) } else { false }
        }
        #expect(areWhole)
        #expect(pair.clientSaw.answers == Dictionary(uniqueKeysWithValues: tags.map { ($0, 200) }))
        #expect(pair.clientSaw.ends == Dictionary(uniqueKeysWithValues: tags.map { ($0, HTTP2ErrorCode.noError) }))
        #expect(pair.client.openStreams == 0)
        #expect(pair.server.openStreams == 0)
    }

    @Test("An answer brings its status, its fields in order and its body, and then the end of the stream")
    func answer() throws {
        let pair = SessionPair.connected()
        pair.onRequest = { server, stream, _ in
            var fields = HTTP2Fields()
            fields.append("apns-id", "EC1BF194", indexing: .never)
            fields.append("content-type", "application/json")
            server.respond(to: stream, status: 400, fields, body: ByteBuffer(string: #"{"reason":"BadTopic"}"#))
        }
        try pair.open(7)
        pair.pump()
        let answer = ClientSeen.response(
            tag: 7,
            status: 400,
            fields: ["apns-id: EC1BF194", "content-type: application/json"],
            body: #"{"reason":"BadTopic"}"#
        )
        #expect(pair.clientSaw == [answer, .closed(tag: 7, .noError)])
    }

    @Test("Answers out of order find their requests")
    func outOfOrder() throws {
        let pair = SessionPair.connected()
        var waiting: [HTTP2StreamID] = []
        pair.onRequest = { _, stream, _ in waiting.append(stream) }
        for tag in UInt64(0)..<20 { try pair.open(tag) }
        pair.pump()
        for (index, stream) in waiting.enumerated().reversed() {
            pair.server.respond(to: stream, status: 200 + index, HTTP2Fields())
        }
        pair.pump()
        let expected = (UInt64(0)..<20).map { ($0, 200 + Int($0)) }
        #expect(pair.clientSaw.answers == Dictionary(uniqueKeysWithValues: expected))
    }

    @Test("A request without a body ends with its fields")
    func noBody() throws {
        let pair = SessionPair.connected()
        try pair.open(1, body: ByteBuffer())
        pair.pump()
        #expect(pair.serverSaw == [.request(id: 1, path: "/1", body: "")])
    }

    @Test("The fields of a request come with pseudo-header fields first, and are found by name")
    func requestFields() throws {
        let pair = SessionPair.connected()
        var seen: [String?] = []
        var count = 0
        pair.onRequest = { server, stream, message in
            seen = [message.value(of: ":method"), message.value(of: "apns-topic"), message.value(of: "apns-id")]
            message.forEachField { _, _ in count += 1 }
            server.respond(to: stream, status: 200, HTTP2Fields())
        }
        var fields = HTTP2Fields.request(path: "/3/device/00")
        fields.append("apns-topic", "com.example.news")
        try pair.client.openStream(fields, body: ByteBuffer(), tag: 0)
        pair.pump()
        #expect(seen == ["POST", "com.example.news", nil])
        #expect(count == 5)
    }

    @Test("A body beyond the limit is cut, its length is known, and the stream goes on")
    func largeBody() throws {
        var limits = PeerLimits.ofServer
        limits.bodyBytes = 10
        let pair = SessionPair.connected(server: HTTP2ServerSession(limits: limits))
        var seen: [Int] = []
        var areWhole: [Bool] = []
        pair.onRequest = { server, stream, message in
            seen.append(message.bodyBytes)
            areWhole.append(message.isBodyWhole)
            server.respond(to: stream, status: 413, HTTP2Fields())
        }
        try pair.open(1, body: ByteBuffer(repeating: 65, count: 100))
        try pair.open(2, body: ByteBuffer(repeating: 65, count: 10))
        pair.pump()
        #expect(seen == [100, 10])
        #expect(areWhole == [false, true])
        #expect(pair.clientSaw.answers == [1: 413, 2: 413])
    }

    @Test("Fields are used again with other values, and optional ones cut off")
    func reusedFields() throws {
        let pair = SessionPair.connected()
        var seen: [[String?]] = []
        pair.onRequest = { server, stream, message in
            seen.append([message.value(of: ":path"), message.value(of: "apns-topic"), message.value(of: "apns-id")])
            server.respond(to: stream, status: 200, HTTP2Fields())
        }
        var fields = HTTP2Fields.request(path: "")
        let topic = fields.append("apns-topic", "a.b")
        let common = fields.count
        let requests: [(String, String, String?)] = [
            ("/1", "a.b", "x"), ("/a/longer/one", "c", nil), ("/2", "com.example", "y"),
        ]
        for (path, topicName, id) in requests {
            fields.truncate(to: common)
            fields.replaceValue(at: 3, path)
            fields.replaceValue(at: topic, topicName)
            if let id { fields.append("apns-id", id, indexing: .never) }
            try pair.client.openStream(fields, body: ByteBuffer(), tag: 0)
        }
        pair.pump()
        #expect(seen == [["/1", "a.b", "x"], ["/a/longer/one", "c", nil], ["/2", "com.example", "y"]])
    }

    @Test("An informational answer is followed by the final one; trailers are dropped")
    func informational() throws {
        let pair = SessionPair.connected()
        pair.onRequest = { _, _, _ in }
        try pair.open(1)
        _ = pair.carryToServer()
        // 100, then 200 with a field, a body, trailers (RFC 9113 §8.1). 0x08: `:status` with a value of its own.
        let status: [UInt8] = [0x08, 0x03] + Array("100".utf8)
        pair.sendToClient(Frame.make(type: 1, flags: 0x4, stream: 1, status + Frame.literal("early", "1")))
        pair.sendToClient(Frame.make(type: 1, flags: 0x4, stream: 1, [0x88] + Frame.literal("final", "2")))
        pair.sendToClient(Frame.make(type: 0, stream: 1, Array("body".utf8)))
        pair.sendToClient(Frame.make(type: 1, flags: 0x5, stream: 1, Frame.literal("trailer", "3")))
        let answer = ClientSeen.response(tag: 1, status: 200, fields: ["final: 2"], body: "body")
        #expect(pair.clientSaw == [answer, .closed(tag: 1, .noError)])
    }

    @Test("Pings come back with their number")
    func ping() {
        let pair = SessionPair.connected()
        pair.client.ping(4711)
        pair.server.ping(.max)
        pair.pump()
        #expect(pair.clientSaw == [.pong(4711)])
        #expect(pair.serverSaw == [.pong(.max)])
    }
}
