import APNsProtocol
import NIOCore
import NIOPosix
import TLSTransport
import Testing

@testable import BelfryRuntime

/// Reading clears the list: nothing may be read that is not safe yet. Against a real TLS service.
@Suite struct FeedbackReaderTests {
    private static let tuples = (0..<6).map {
        FeedbackTuple(timestamp: 1_400_000_000 + UInt32($0), token: [UInt8](repeating: UInt8($0), count: 32))
    }
    private static func bytes(_ range: Range<Int>) -> [UInt8] { tuples[range].flatMap(\.encoded) }

    @Test("The next bytes are read only when every tuple of the last is acknowledged")
    func oneStepAtATime() async throws {
        let service = try await FeedbackService(FeedbackService.PKI.shared.get())
        let probe = try await ReadingProbe(port: service.port)
        let channel = try #require(await service.connection())
        try await channel.say(Self.bytes(0..<2))
        #expect(await probe.next(2) == Array(Self.tuples[0..<2]))
        try await channel.say(Self.bytes(2..<3))
        try await probe.turn()
        #expect(try await probe.published == 2)
        try await probe.acknowledge(1)
        try await probe.turn()
        #expect(try await probe.published == 2)
        try await probe.acknowledge(1)
        #expect(await probe.next(1) == [Self.tuples[2]])
        try await probe.acknowledge(1)
        try await channel.close()
        #expect(try await probe.result.get() == .init(tuples: 3))
        try await service.close()
    }

    @Test("That holds for what comes with the end of the handshake too", arguments: FeedbackService.Version.allCases)
    func firstWords(version: FeedbackService.Version) async throws {
        let pki = try FeedbackService.PKI.shared.get()
        let service = try await FeedbackService(pki, firstWords: Self.bytes(0..<1))
        let probe = try await ReadingProbe(port: service.port, tls: pki.context(version))
        let channel = try #require(await service.connection())
        #expect(await probe.next(1) == [Self.tuples[0]])
        try await channel.say(Self.bytes(1..<2))
        try await probe.turn()
        #expect(try await probe.published == 1)
        try await probe.acknowledge(1)
        #expect(await probe.next(1) == [Self.tuples[1]])
        try await probe.acknowledge(1)
        try await channel.close()
        #expect(try await probe.result.get() == .init(tuples: 2))
        try await service.close()
    }

    @Test("A reading ends when the last tuple is acknowledged, not when the service closes")
    func endAfterAcknowledgement() async throws {
        let service = try await FeedbackService(FeedbackService.PKI.shared.get())
        let probe = try await ReadingProbe(port: service.port)
        let channel = try #require(await service.connection())
        channel.writeAndFlush(ByteBuffer(bytes: Self.bytes(0..<2)), promise: nil)
        channel.close(promise: nil)
        #expect(await probe.next(2) == Array(Self.tuples[0..<2]))
        try await channel.closeFuture.get()
        try await probe.turn()
        #expect(try await !probe.hasEnded)
        try await probe.acknowledge(1)
        try await probe.turn()
        #expect(try await !probe.hasEnded)
        try await probe.acknowledge(1)
        #expect(try await probe.result.get() == .init(tuples: 2))
        try await service.close()
    }

    @Test(
        "A stream cut inside a tuple is reported with the bytes that are lost",
        arguments: [true, false],
        [0, 1, 5, 6, 37]
    )
    func cut(isClean: Bool, bytes: Int) async throws {
        let service = try await FeedbackService(FeedbackService.PKI.shared.get())
        let probe = try await ReadingProbe(port: service.port)
        let channel = try #require(await service.connection())
        try await channel.say(Self.bytes(0..<2) + Self.bytes(2..<3).prefix(bytes))
        #expect(await probe.next(2).count == 2)
        if isClean { try await channel.close() } else { try await channel.cut() }
        try await probe.acknowledge(2)
        #expect(try await probe.result.get() == .init(tuples: 2, cutBytes: bytes))
        try await service.close()
    }

    @Test("A cut is reported also when not one tuple was whole")
    func cutInTheFirst() async throws {
        let service = try await FeedbackService(FeedbackService.PKI.shared.get())
        let probe = try await ReadingProbe(port: service.port)
        let channel = try #require(await service.connection())
        try await channel.say(Array(Self.bytes(0..<1).prefix(20)))
        try await channel.close()
        #expect(try await probe.result.get() == .init(tuples: 0, cutBytes: 20))
        try await service.close()
    }

    @Test("An empty list is read, too")
    func empty() async throws {
        let service = try await FeedbackService(FeedbackService.PKI.shared.get())
        let probe = try await ReadingProbe(port: service.port)
        try await #require(await service.connection()).close()
        #expect(try await probe.result.get() == .init())
        try await service.close()
    }

    @Test("A tuple that comes in single bytes is one tuple")
    func singleBytes() async throws {
        let service = try await FeedbackService(FeedbackService.PKI.shared.get())
        let probe = try await ReadingProbe(port: service.port)
        let channel = try #require(await service.connection())
        for byte in Self.bytes(0..<1) {
            try await channel.say([byte])
            try await probe.turn()
        }
        #expect(await probe.next(1) == [Self.tuples[0]])
        try await probe.acknowledge(1)
        try await channel.close()
        #expect(try await probe.result.get() == .init(tuples: 1))
        try await service.close()
    }

    @Test(
        "A long list arrives whole and in order, and never more of it is unacknowledged than one read, and at its end one buffer"
    )
    func longList() async throws {
        let count = 100_000
        // A record that was begun before is decrypted with the bytes that complete it.
        let readLimit = (FeedbackReader.readLimitBytes + 17_000) / 38
        let bufferLimit = 2 * FeedbackReader.readLimitBytes / 38
        let service = try await FeedbackService(FeedbackService.PKI.shared.get())
        let probe = try await ReadingProbe(port: service.port)
        let channel = try #require(await service.connection())
        let list = (0..<count).map { number in
            FeedbackTuple(
                timestamp: UInt32(number),
                token: (0..<32).map { UInt8(truncatingIfNeeded: number >> ($0 % 16)) }
            )
        }
        channel.writeAndFlush(ByteBuffer(bytes: list.flatMap(\.encoded)), promise: nil)
        channel.close(promise: nil)
        var received = await probe.next(1)
        for _ in 0..<20 { try await probe.turn() }
        #expect(try await probe.waiting <= readLimit)
        received += await probe.next(try await probe.published - 1)
        try await probe.acknowledge(try await probe.waiting)
        var most = 0
        while received.count < count {
            let next = await probe.next(1)
            guard !next.isEmpty else { break }
            // What was published with it waits in the stream.
            let published = try await probe.published
            received += next + (await probe.next(published - received.count - 1))
            let waiting = try await probe.waiting
            most = max(most, waiting)
            try await probe.acknowledge(waiting)
        }
        #expect(received == list)
        #expect(most <= readLimit + bufferLimit)
        #expect(try await probe.result.get() == .init(tuples: count))
        try await service.close()
    }

    @Test("A stream that breaks before the first tuple fails: the list may be read another time")
    func brokenAtOnce() async throws {
        let service = try await FeedbackService(FeedbackService.PKI.shared.get())
        let probe = try await ReadingProbe(port: service.port)
        try await #require(await service.connection()).cut()
        // Which end of the handshake the cut meets decides what the error is called.
        await #expect(throws: TLSError.self) { try await probe.result.get() }
        try await service.close()
    }

    @Test("A service that refuses the certificate is told from one that is not there")
    func refused() async throws {
        let pki = try FeedbackService.PKI.shared.get()
        let service = try await FeedbackService(pki)
        let strange = try FeedbackService.PKI.strange.get().client
        let probe = try await ReadingProbe(port: service.port, tls: pki.context(showing: strange))
        await #expect {
            try await probe.result.get()
        } throws: { error in
            (error as? TLSError)?.isCertificateRefused == true
        }
        let port = service.port
        try await service.close()
        let deaf = try await ReadingProbe(port: port)
        await #expect {
            try await deaf.result.get()
        } throws: { error in
            !(error is TLSError)
        }
    }

    @Test("A service whose certificate does not lead to the trusted roots is not read")
    func notTrusted() async throws {
        let service = try await FeedbackService(FeedbackService.PKI.strange.get())
        let probe = try await ReadingProbe(port: service.port)
        await #expect {
            try await probe.result.get()
        } throws: { error in
            if case TLSError.peerNotTrusted = error { true } else { false }
        }
        try await service.close()
    }

    @Test("A service that takes the connection and says nothing does not keep the reading for ever")
    func silent() async throws {
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .bind(host: "127.0.0.1", port: 0).get()
        let port = try #require(listener.localAddress?.port)
        let probe = try await ReadingProbe(port: port, timeout: .milliseconds(50))
        await #expect(throws: FeedbackSilence.self) { try await probe.result.get() }
        try await listener.close()
    }
}

/// One reading, whose acknowledgements the test gives.
private final class ReadingProbe: Sendable {
    let result: EventLoopFuture<FeedbackReader.Reading>
    private let eventLoop: any EventLoop
    private let tuples: AsyncStream<FeedbackTuple>
    private let state: NIOLoopBound<State>

    private final class State {
        var reader: FeedbackReader?
        var published = 0
        var waiting: [() -> Void] = []
        var hasEnded = false
    }

    init(port: Int, tls: TLSContext? = nil, timeout: TimeAmount = .seconds(30)) async throws {
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        let (tuples, continuation) = AsyncStream<FeedbackTuple>.makeStream()
        let source = FeedbackReader.Source(
            environment: "sandbox",
            bundleID: FeedbackService.bundleID,
            address: HostPort(host: "127.0.0.1", port: port),
            tls: try tls ?? FeedbackService.PKI.shared.get().context(),
            connectTimeout: timeout
        )
        let promise = eventLoop.makePromise(of: FeedbackReader.Reading.self)
        self.eventLoop = eventLoop
        self.tuples = tuples
        result = promise.futureResult
        state = try await eventLoop.submit {
            let state = State()
            let reader = FeedbackReader(source: source, eventLoop: eventLoop) { tuple, acknowledged in
                state.published += 1
                state.waiting.append(acknowledged)
                continuation.yield(tuple)
            }
            state.reader = reader
            reader.read().assumeIsolated().whenComplete { result in
                state.hasEnded = true
                continuation.finish()
                promise.completeWith(result)
            }
            return NIOLoopBound(state, eventLoop: eventLoop)
        }.get()
    }

    /// The next tuples in the order of their publication; fewer if the reading ends before.
    func next(_ count: Int) async -> [FeedbackTuple] {
        guard count > 0 else { return [] }
        var received: [FeedbackTuple] = []
        for await tuple in tuples {
            received.append(tuple)
            if received.count == count { break }
        }
        return received
    }

    func acknowledge(_ count: Int) async throws {
        try await eventLoop.submit { [state] in
            for _ in 0..<count { state.value.waiting.removeFirst()() }
        }.get()
    }

    var published: Int { get async throws { try await eventLoop.submit { [state] in state.value.published }.get() } }
    var waiting: Int { get async throws { try await eventLoop.submit { [state] in state.value.waiting.count }.get() } }
    var hasEnded: Bool { get async throws { try await eventLoop.submit { [state] in state.value.hasEnded }.get() } }

    /// Lets the event loop look at its sockets, several times: whatever may be read is read by then.
    func turn() async throws {
        for _ in 0..<10 { try await eventLoop.submit {}.get() }
    }
}
