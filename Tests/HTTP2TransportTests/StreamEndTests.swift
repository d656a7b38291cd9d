import NIOCore
import Testing

@testable import HTTP2Transport

/// Streams that do not end with an answer, limits on their number, and GOAWAY.
struct StreamEndTests {
    @Test("A refused stream ends as such, and others go on")
    func refused() throws {
        let pair = SessionPair.connected()
        pair.onRequest = { server, stream, message in
            if message.value(of: ":path") == "/2" {
                server.reset(stream, .refusedStream)
            } else {
                server.respond(to: stream, status: 200, HTTP2Fields())
            }
        }
        for tag in UInt64(1)...3 { try pair.open(tag) }
        pair.pump()
        #expect(pair.clientSaw.answers == [1: 200, 3: 200])
        #expect(pair.clientSaw.ends == [1: .noError, 2: .refusedStream, 3: .noError])
    }

    @Test("A stream that the client gives up is closed on both sides, and its answer goes nowhere")
    func givenUp() throws {
        let pair = SessionPair.connected()
        var waiting: [HTTP2StreamID] = []
        pair.onRequest = { _, stream, _ in waiting.append(stream) }
        let stream = try pair.open(1)
        pair.pump()
        pair.client.reset(stream, .cancel)
        pair.client.reset(stream, .cancel)
        pair.takeClientEvents()
        pair.pump()
        #expect(pair.clientSaw == [.closed(tag: 1, .cancel)])
        #expect(pair.serverSaw.last == .closed(id: 1, .cancel))
        let request = try #require(waiting.first)
        let wasSent = pair.server.respond(to: request, status: 200, HTTP2Fields())
        #expect(!wasSent)
        #expect(pair.server.outputBytes == 0)
    }

    @Test("Before the server's settings only so many streams are opened")
    func beforeSettings() throws {
        let pair = SessionPair()
        try pair.open(1)
        #expect(throws: HTTP2OpenRefusal.noStreamLeft) { try pair.open(2) }
        pair.pump()
        #expect(pair.client.maxConcurrentStreams == 1_000)
        #expect(pair.client.availableStreams == 1_000)
        try pair.open(2)
        pair.pump()
        #expect(pair.clientSaw.answers == [1: 200, 2: 200])
    }

    @Test("The limit of streams falls to 1 and comes back: nothing is lost, and no stream too many is opened")
    func limitFalls() throws {
        let pair = SessionPair.connected()
        var waiting: [HTTP2StreamID] = []
        pair.onRequest = { _, stream, _ in waiting.append(stream) }
        for tag in UInt64(1)...10 { try pair.open(tag) }
        pair.pump()
        pair.server.send(HTTP2Settings(maxConcurrentStreams: 1))
        pair.pump()
        #expect(pair.clientSaw == [.settings])
        #expect(pair.client.maxConcurrentStreams == 1)
        #expect(pair.client.availableStreams == 0)
        #expect(throws: HTTP2OpenRefusal.noStreamLeft) { try pair.open(11) }

        for stream in waiting { pair.server.respond(to: stream, status: 200, HTTP2Fields()) }
        pair.pump()
        #expect(pair.clientSaw.answers.count == 10)
        #expect(pair.client.availableStreams == 1)
        try pair.open(11)
        #expect(throws: HTTP2OpenRefusal.noStreamLeft) { try pair.open(12) }

        pair.server.send(HTTP2Settings(maxConcurrentStreams: 500))
        pair.pump()
        #expect(pair.client.availableStreams == 499)
        try pair.open(12)
    }

    @Test("Streams that were on their way when the limit fell are refused, and may be sent again")
    func refusedByLimit() throws {
        let pair = SessionPair.connected()
        pair.onRequest = { _, _, _ in }
        pair.server.send(HTTP2Settings(maxConcurrentStreams: 1))
        for tag in UInt64(1)...5 { try pair.open(tag) }
        pair.pump()
        #expect(pair.serverSaw.paths == ["/1"])
        #expect(pair.clientSaw.ends == [2: .refusedStream, 3: .refusedStream, 4: .refusedStream, 5: .refusedStream])
        #expect(pair.server.failure == nil)
    }

    @Test("After GOAWAY streams above its last are refused, those below are answered, and then it is over")
    func goAway() throws {
        let pair = SessionPair.connected()
        var waiting: [HTTP2StreamID] = []
        pair.onRequest = { _, stream, _ in waiting.append(stream) }
        for tag in UInt64(1)...4 { try pair.open(tag) }
        pair.pump()
        // Streams 1, 3, 5, 7.
        pair.server.goAway(debugData: Array(#"{"reason":"Shutdown"}"#.utf8), last: HTTP2StreamID(rawValue: 3))
        pair.pump()
        #expect(pair.clientSaw.first == .goAway(last: 3, .noError, debugData: #"{"reason":"Shutdown"}"#))
        #expect(pair.clientSaw.ends == [3: .refusedStream, 4: .refusedStream])
        #expect(!pair.client.acceptsStreams)
        #expect(pair.client.availableStreams == 0)
        #expect(throws: HTTP2OpenRefusal.sessionIsEnding) { try pair.open(5) }
        #expect(!pair.client.isFinished)
        for stream in waiting { pair.server.respond(to: stream, status: 200, HTTP2Fields()) }
        pair.pump()
        #expect(pair.clientSaw.answers == [1: 200, 2: 200])
        #expect(pair.client.isFinished)
        #expect(pair.client.failure == nil)
    }

    @Test("Several GOAWAYs in one piece are told, each with its last stream and its debug data")
    func severalGoAways() throws {
        let pair = SessionPair.connected()
        pair.onRequest = { _, _, _ in }
        for tag in UInt64(1)...3 { try pair.open(tag) }
        pair.pump()
        pair.server.goAway(debugData: Array("wait".utf8), last: HTTP2StreamID(rawValue: 5))
        pair.server.goAway(.enhanceYourCalm, debugData: Array("calm".utf8), last: HTTP2StreamID(rawValue: 1))
        pair.pump()
        let told = pair.clientSaw.filter { if case .goAway = $0 { true } else { false } }
        let first = ClientSeen.goAway(last: 5, .noError, debugData: "wait")
        #expect(told == [first, .goAway(last: 1, .enhanceYourCalm, debugData: "calm")])
        #expect(pair.clientSaw.ends == [2: .refusedStream, 3: .refusedStream])
    }

    @Test("GOAWAYs and resets that a server has sent are counted, its own and nghttp2's, and given out once")
    func dismissals() throws {
        let pair = SessionPair.connected()
        pair.onRequest = { server, stream, _ in server.reset(stream, .internalError) }
        pair.server.send(HTTP2Settings(maxConcurrentStreams: 1))
        for tag in UInt64(1)...3 { try pair.open(tag) }
        pair.pump()
        pair.server.goAway(.enhanceYourCalm, debugData: Array("calm".utf8))
        let dismissals = pair.server.takeDismissals()
        // The streams above the limit were refused by nghttp2.
        #expect(dismissals.resets == [.internalError: 1, .refusedStream: 2])
        #expect(dismissals.goAways.map(\.code) == [.enhanceYourCalm])
        #expect(dismissals.goAways.first?.debugData == Array("calm".utf8))
        #expect(pair.server.takeDismissals().isEmpty)

        let other = SessionPair.connected()
        other.sendToServer(Frame.make(type: 0, stream: 99, [1]))
        #expect(other.server.takeDismissals().goAways.map(\.code) == [.protocolError])
    }

    @Test("A server that goes away at once, before any request, leaves nothing open")
    func goAwayAtOnce() {
        let pair = SessionPair()
        pair.server.goAway(debugData: Array("BadCertificateEnvironment".utf8))
        pair.pump()
        #expect(pair.clientSaw.last == .goAway(last: 0, .noError, debugData: "BadCertificateEnvironment"))
        #expect(pair.client.isFinished)
    }

    @Test("A client that says goodbye opens no stream any more, and gets the answers to those that are open")
    func clientGoesAway() throws {
        let pair = SessionPair.connected()
        try pair.open(1)
        pair.client.goAway(debugData: Array("bye".utf8))
        #expect(throws: HTTP2OpenRefusal.sessionIsEnding) { try pair.open(2) }
        pair.pump()
        #expect(pair.serverSaw.last == .goAway(.noError, debugData: "bye"))
        #expect(pair.clientSaw.answers == [1: 200])
        #expect(pair.client.isFinished)
    }
}
