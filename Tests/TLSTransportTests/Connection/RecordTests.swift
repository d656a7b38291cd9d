import NIOCore
import NIOEmbedded
import TestSupport
import Testing

@testable import TLSTransport

/// The records on the wire, and their times.
struct RecordTests {
    static func established(
        clientScript: Recorder.Script = .init(),
        serverScript: Recorder.Script = .init()
    ) throws -> EmbeddedPair {
        let pair = try EmbeddedPair(
            client: .testClient(),
            server: .testServer(),
            clientScript: clientScript,
            serverScript: serverScript
        )
        try pair.connect()
        try pair.pump()
        return pair
    }

    @Test("A big write becomes whole 16 KiB records in one write to the socket")
    func wholeRecords() throws {
        let pair = try Self.established()
        let payload = [UInt8](repeating: 1, count: 5 * TLSSession.recordBytes + 100)
        pair.client.writeAndFlush(ByteBuffer(bytes: payload), promise: nil)
        let writes = try EmbeddedPair.writes(of: pair.client)
        #expect(writes.count == 1)
        // TLS 1.3 adds the content type and the tag to each.
        let lengths = EmbeddedPair.recordLengths(in: writes[0])
        #expect(lengths == Array(repeating: TLSSession.recordBytes + 17, count: 5) + [117])
        try pair.server.writeInbound(writes[0])
        #expect(pair.serverRecorder.seen.bytes == payload)
    }

    @Test("Small writes of one flush are gathered into one record and one write")
    func smallWritesAreGathered() throws {
        let pair = try Self.established()
        for byte in 0..<100 as Range<UInt8> {
            pair.client.write(ByteBuffer(bytes: [byte]), promise: nil)
        }
        #expect(try EmbeddedPair.writes(of: pair.client).isEmpty)
        pair.client.flush()
        let writes = try EmbeddedPair.writes(of: pair.client)
        #expect(writes.count == 1)
        #expect(EmbeddedPair.recordLengths(in: writes[0]) == [117])
        try pair.server.writeInbound(writes[0])
        #expect(pair.serverRecorder.seen.bytes == Array(0..<100))
    }

    @Test("A connection that rests frees its buffers, and goes on afterwards, also in the midst of a record")
    func rests() throws {
        let pair = try Self.established()
        let handlers = try [pair.client, pair.server].map {
            try $0.pipeline.syncOperations.handler(type: TLSHandler.self)
        }
        let payload = [UInt8](repeating: 1, count: 20_000)
        var expected: [UInt8] = []
        for bytes in [100, 700, .max] {
            pair.client.writeAndFlush(ByteBuffer(bytes: payload), promise: nil)
            expected += payload
            var isPartial = false
            while var stream = try pair.client.readOutbound(as: ByteBuffer.self) {
                while let part = stream.readSlice(length: min(bytes, stream.readableBytes)), part.readableBytes > 0 {
                    try pair.server.writeInbound(part)
                    #expect(handlers[0].rest())
                    if !handlers[1].rest() { isPartial = true }
                }
            }
            #expect(pair.serverRecorder.seen.bytes == expected)
            #expect(isPartial == (bytes < TLSSession.recordBytes) && handlers[1].rest())
        }
    }

    @Test("Order is kept over writes of any size", arguments: [1, 2, 3, 4] as [UInt64])
    func orderIsKept(seed: UInt64) throws {
        let pair = try Self.established()
        var random = SeededGenerator(seed: seed)
        var expected: [UInt8] = []
        for _ in 0..<200 {
            let count = Int.random(in: 0...[10, 5000, 60_000].randomElement(using: &random)!, using: &random)
            let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
            expected += bytes
            pair.client.write(ByteBuffer(bytes: bytes), promise: nil)
            if Bool.random(using: &random) {
                pair.client.flush()
                try pair.pump(chunkBytes: Int.random(in: 100...40_000, using: &random))
            }
        }
        pair.client.flush()
        try pair.pump()
        #expect(pair.serverRecorder.seen.bytes == expected)
    }

    @Test("The stream may arrive byte by byte")
    func byteByByte() throws {
        let pair = try EmbeddedPair(client: .testClient(), server: .testServer())
        try pair.connect()
        try pair.pump(chunkBytes: 1)
        pair.client.writeAndFlush(ByteBuffer(string: "hello"), promise: nil)
        try pair.pump(chunkBytes: 1)
        pair.server.writeAndFlush(ByteBuffer(string: "world"), promise: nil)
        pair.server.close(promise: nil)
        try pair.pump(chunkBytes: 1)
        #expect(pair.serverRecorder.seen.bytes == Array("hello".utf8))
        #expect(pair.clientRecorder.seen.bytes == Array("world".utf8))
        #expect(pair.clientRecorder.seen.errors.isEmpty)
    }

    @Test("What is written before the handshake is done waits for it, then leaves in order")
    func writesBeforeTheHandshake() throws {
        let pair = try EmbeddedPair(
            client: .testClient(),
            server: .testServer(),
            clientScript: .init(onHandshake: { context, me in me.send([3], context) })
        )
        let early = pair.client.eventLoop.makePromise(of: Void.self)
        let fulfilled = Flag()
        early.futureResult.whenSuccess { fulfilled.raise() }
        pair.client.write(ByteBuffer(bytes: [1]), promise: early)
        try pair.connect()
        pair.client.writeAndFlush(ByteBuffer(bytes: [2]), promise: nil)
        #expect(!fulfilled.isRaised)
        try pair.pump()
        #expect(pair.serverRecorder.seen.bytes == [1, 2, 3])
        #expect(fulfilled.isRaised)
    }

    @Test("Each write's promise is fulfilled by the flush; without a flush it fails with the channel")
    func promises() throws {
        let pair = try Self.established()
        let flags = (0..<3).map { _ in Flag() }
        for flag in flags {
            let promise = pair.client.eventLoop.makePromise(of: Void.self)
            promise.futureResult.whenSuccess { flag.raise() }
            pair.client.write(ByteBuffer(bytes: [1]), promise: promise)
        }
        #expect(flags.allSatisfy { !$0.isRaised })
        pair.client.flush()
        #expect(flags.allSatisfy { $0.isRaised })

        let failed = Flag()
        let unflushed = pair.client.eventLoop.makePromise(of: Void.self)
        unflushed.futureResult.whenFailure { _ in failed.raise() }
        pair.client.write(ByteBuffer(bytes: [1]), promise: unflushed)
        pair.client.close(promise: nil)
        #expect(failed.isRaised)
    }

    @Test("A host name is asked for by SNI, an IP address is not", arguments: ["gateway.example.com", "127.0.0.1"])
    func serverNameIndication(name: String) throws {
        let pair = try EmbeddedPair(client: .testClient(), server: .testServer(), serverName: name)
        try pair.connect()
        let hello = try #require(try EmbeddedPair.writes(of: pair.client).first)
        let text = String(decoding: hello.readableBytesView, as: UTF8.self)
        #expect(text.contains(name) == (name != "127.0.0.1"))
    }

    @Test("A corrupted record ends the connection; what came before it is delivered")
    func corruptedRecord() throws {
        let pair = try Self.established()
        pair.client.writeAndFlush(ByteBuffer(bytes: [1, 2, 3]), promise: nil)
        pair.client.writeAndFlush(ByteBuffer(bytes: [4, 5, 6]), promise: nil)
        let writes = try EmbeddedPair.writes(of: pair.client)
        #expect(writes.count == 2)
        var stream = writes.flatMap { Array($0.readableBytesView) }
        stream[stream.count - 1] ^= 1
        try pair.server.writeInbound(ByteBuffer(bytes: stream))
        #expect(pair.serverRecorder.seen.bytes == [1, 2, 3])
        guard case .some(.protocolFailure(let reason, _)) = pair.serverRecorder.seen.errors.first ?? nil else {
            Issue.record("\(pair.serverRecorder.seen)")
            return
        }
        #expect(reason.contains("bad record mac"))
        #expect(pair.serverRecorder.seen.last == .inactive)
    }

    @Test("A server sends nothing that was not asked for: no session tickets after the handshake")
    func noTickets() throws {
        let pair = try EmbeddedPair(client: .testClient(), server: .testServer())
        try pair.connect()
        // Hello, the server's flight, the client's finish …
        for side in [pair.client, pair.server, pair.client] {
            let other = side === pair.client ? pair.server : pair.client
            for buffer in try EmbeddedPair.writes(of: side) { try other.writeInbound(buffer) }
        }
        #expect(pair.serverRecorder.seen.handshake != nil)
        // … and silence.
        #expect(try EmbeddedPair.writes(of: pair.server).isEmpty)
    }

    @Test("close_notify goes out after what was flushed")
    func closeNotifyLast() throws {
        let pair = try Self.established()
        pair.client.writeAndFlush(ByteBuffer(bytes: [9]), promise: nil)
        pair.client.close(promise: nil)
        try pair.pump()
        #expect(pair.serverRecorder.seen.bytes == [9])
        #expect(pair.serverRecorder.seen.errors.isEmpty)
        #expect(pair.serverRecorder.seen.last == .inactive)
    }
}

/// Something happened. Embedded channels run on the test's own thread.
private final class Flag: @unchecked Sendable {
    private(set) var isRaised = false

    func raise() {
        isRaised = true
    }
}
