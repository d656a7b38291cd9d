import APNsProtocol
import BelfrySupport
import NIOCore
import NIOPosix
import PipelineCore
import TLSTransport
import Testing

@testable import PipelineTestSupport

/// Reading clears the list: nothing may be read that is not safe yet. Against a real TLS service.
@Suite struct ListHarvestTests {
    private static let tuples = (0..<6).map {
        FeedbackTuple(timestamp: 1_400_000_000 + UInt32($0), token: [UInt8](repeating: UInt8($0), count: 32))
    }
    private static func bytes(_ range: Range<Int>) -> [UInt8] { tuples[range].flatMap(\.encoded) }

    @Test("The next bytes are read only when every tuple of the last is acknowledged")
    func oneStepAtATime() async throws {
        let service = try await FeedbackService(FeedbackService.PKI.shared.get())
        let probe = try await HarvestProbe(port: service.port)
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
        #expect(try await probe.reading == .init(tuples: 3))
        try await service.close()
    }

    @Test("That holds for what comes with the end of the handshake too", arguments: FeedbackService.Version.allCases)
    func firstWords(version: FeedbackService.Version) async throws {
        let pki = try FeedbackService.PKI.shared.get()
        let service = try await FeedbackService(pki, firstWords: Self.bytes(0..<1))
        let probe = try await HarvestProbe(port: service.port, tls: pki.context(version))
        let channel = try #require(await service.connection())
        #expect(await probe.next(1) == [Self.tuples[0]])
        try await channel.say(Self.bytes(1..<2))
        try await probe.turn()
        #expect(try await probe.published == 1)
        try await probe.acknowledge(1)
        #expect(await probe.next(1) == [Self.tuples[1]])
        try await probe.acknowledge(1)
        try await channel.close()
        #expect(try await probe.reading == .init(tuples: 2))
        try await service.close()
    }

    @Test("A reading ends when the last tuple is acknowledged, not when the service closes")
    func endAfterAcknowledgement() async throws {
        let service = try await FeedbackService(FeedbackService.PKI.shared.get())
        let probe = try await HarvestProbe(port: service.port)
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
        #expect(try await probe.reading == .init(tuples: 2))
        try await service.close()
    }

    @Test(
        "A stream cut inside a tuple is reported with the bytes that are lost",
        arguments: [true, false],
        [0, 1, 5, 6, 37]
    )
    func cut(isClean: Bool, bytes: Int) async throws {
        let service = try await FeedbackService(FeedbackService.PKI.shared.get())
        let probe = try await HarvestProbe(port: service.port)
        let channel = try #require(await service.connection())
        try await channel.say(Self.bytes(0..<2) + Self.bytes(2..<3).prefix(bytes))
        #expect(await probe.next(2).count == 2)
        if isClean { try await channel.close() } else { try await channel.cut() }
        try await probe.acknowledge(2)
        let failure: HarvestStateMachine.Failure? = isClean && bytes == 0 ? nil : .cut
        #expect(try await probe.reading == .init(tuples: 2, cutBytes: bytes, failure: failure))
        try await service.close()
    }

    @Test("A cut is reported also when not one tuple was whole")
    func cutInTheFirst() async throws {
        let service = try await FeedbackService(FeedbackService.PKI.shared.get())
        let probe = try await HarvestProbe(port: service.port)
        let channel = try #require(await service.connection())
        try await channel.say(Array(Self.bytes(0..<1).prefix(20)))
        try await channel.close()
        #expect(try await probe.reading == .init(tuples: 0, cutBytes: 20, failure: .cut))
        try await service.close()
    }

    @Test("An empty list is read, too")
    func empty() async throws {
        let service = try await FeedbackService(FeedbackService.PKI.shared.get())
        let probe = try await HarvestProbe(port: service.port)
        try await #require(await service.connection()).close()
        #expect(try await probe.reading == .init())
        try await service.close()
    }

    @Test("A tuple that comes in single bytes is one tuple")
    func singleBytes() async throws {
        let service = try await FeedbackService(FeedbackService.PKI.shared.get())
        let probe = try await HarvestProbe(port: service.port)
        let channel = try #require(await service.connection())
        for byte in Self.bytes(0..<1) {
            try await channel.say([byte])
            try await probe.turn()
        }
        #expect(await probe.next(1) == [Self.tuples[0]])
        try await probe.acknowledge(1)
        try await channel.close()
        #expect(try await probe.reading == .init(tuples: 1))
        try await service.close()
    }

    @Test(
        "A long list arrives whole and in order; never, at its end neither, is more than one batch unacknowledged"
    )
    func longList() async throws {
        let count = 100_000
        let limit = HarvestLimits.batchBytes / 38 + 1
        let service = try await FeedbackService(FeedbackService.PKI.shared.get())
        let probe = try await HarvestProbe(port: service.port)
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
        #expect(try await probe.waiting <= limit)
        received += await probe.next(try await probe.published - 1)
        try await probe.acknowledge(try await probe.waiting)
        var most = 0
        while received.count < count {
            let next = await probe.next(1)
            guard !next.isEmpty else { break }
            // The tuples published with it wait in the stream.
            let published = try await probe.published
            received += next + (await probe.next(published - received.count - 1))
            let waiting = try await probe.waiting
            most = max(most, waiting)
            try await probe.acknowledge(waiting)
        }
        #expect(received == list)
        #expect(most <= limit)
        #expect(try await probe.reading == .init(tuples: count))
        try await service.close()
    }

    @Test("A stream that breaks before the first tuple fails: the list may be read another time")
    func brokenAtOnce() async throws {
        let service = try await FeedbackService(FeedbackService.PKI.shared.get())
        let probe = try await HarvestProbe(port: service.port)
        try await #require(await service.connection()).cut()
        // The error's name depends on the end of the handshake that the cut meets.
        #expect(try await probe.error is TLSError)
        try await service.close()
    }

    @Test("A service that refuses the certificate is told from one that is not there")
    func refused() async throws {
        let pki = try FeedbackService.PKI.shared.get()
        let service = try await FeedbackService(pki)
        let strange = try FeedbackService.PKI.strange.get().client
        let probe = try await HarvestProbe(port: service.port, tls: pki.context(showing: strange))
        #expect((try await probe.error as? TLSError)?.isCertificateRefused == true)
        let port = service.port
        try await service.close()
        let deaf = try await HarvestProbe(port: port)
        #expect(try await deaf.reading == .init(failure: .unreachable))
        #expect(try await !(deaf.error is TLSError))
    }

    @Test("A list is read through a proxy, and one whose login is refused is told apart from one that is not there")
    func proxied() async throws {
        let service = try await FeedbackService(FeedbackService.PKI.shared.get())
        let open = try await ScriptedProxy { _ in .tunnel }
        let probe = try await HarvestProbe(port: service.port, proxy: open.settings())
        let connection = try #require(await service.connection())
        try await connection.close()
        #expect(try await probe.reading == .init())
        #expect(open.requests.map { $0.hasPrefix("CONNECT 127.0.0.1:\(service.port) ") } == [true])
        let shut = try await ScriptedProxy { _ in .answer(["HTTP/1.1 407 No\r\n\r\n"]) }
        let refused = try await HarvestProbe(port: service.port, proxy: shut.settings(login: "me:sesame@"))
        #expect(try await refused.reading == .init(failure: .proxyRefused))
        #expect((try await refused.error as? ProxyFailure)?.isLoginRefused == true)
        try await service.close()
        try await open.close()
        try await shut.close()
    }

    @Test("A service whose certificate does not lead to the trusted roots is not read")
    func notTrusted() async throws {
        let service = try await FeedbackService(FeedbackService.PKI.strange.get())
        let probe = try await HarvestProbe(port: service.port)
        #expect(try await probe.reading.failure == .unreachable)
        guard case TLSError.peerNotTrusted? = try await probe.error else {
            Issue.record("\(String(describing: try await probe.error))")
            return
        }
        try await service.close()
    }

    @Test("A service that takes the connection and shakes no hands does not keep the reading for ever")
    func deaf() async throws {
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .bind(host: "127.0.0.1", port: 0).get()
        let port = try #require(listener.localAddress?.port)
        let probe = try await HarvestProbe(port: port) { $0.connectTimeout = .milliseconds(50) }
        #expect(try await probe.reading == .init(failure: .unreachable))
        try await listener.close()
    }

    @Test("Nor does one that does not go on, and what it said before is published")
    func silent() async throws {
        let service = try await FeedbackService(FeedbackService.PKI.shared.get())
        let probe = try await HarvestProbe(port: service.port) { $0.silenceLimit = .milliseconds(100) }
        let channel = try #require(await service.connection())
        try await channel.say(Self.bytes(0..<1))
        #expect(await probe.next(1) == [Self.tuples[0]])
        try await probe.acknowledge(1)
        #expect(try await probe.reading == .init(tuples: 1, failure: .silent))
        try await service.close()
    }

    @Test(
        "A harvester that cannot renew its lease closes the connection, reads no more, and publishes what it has read",
        arguments: [HarvestStateMachine.LeaseAnswer.refused, .unknown]
    )
    func leaseLost(answer: HarvestStateMachine.LeaseAnswer) async throws {
        let service = try await FeedbackService(FeedbackService.PKI.shared.get())
        let probe = try await HarvestProbe(port: service.port) { $0.lease = .milliseconds(300) }
        let channel = try #require(await service.connection())
        try await channel.say(Self.bytes(0..<2))
        #expect(await probe.next(2) == Array(Self.tuples[0..<2]))
        try await probe.answerLeases(answer)
        // It ends before anything is acknowledged.
        try await channel.closeFuture.get()
        try await probe.acknowledge(2)
        #expect(try await probe.reading == .init(tuples: 2, failure: .leaseLost))
        try await service.close()
    }

    @Test(
        "A stop lets a reading go on for a while, closes the connection then, and ends when all that was read is safe"
    )
    func stop() async throws {
        let service = try await FeedbackService(FeedbackService.PKI.shared.get())
        let probe = try await HarvestProbe(port: service.port) { $0.stopPatience = .milliseconds(100) }
        let channel = try #require(await service.connection())
        try await channel.say(Self.bytes(0..<1))
        #expect(await probe.next(1) == [Self.tuples[0]])
        let stopping = probe.stop()
        try await probe.acknowledge(1)
        try await channel.say(Self.bytes(1..<2))
        #expect(await probe.next(1) == [Self.tuples[1]], "it reads on")
        try await channel.closeFuture.get()
        try await probe.turn()
        #expect(try await !probe.hasEnded, "one tuple is not safe")
        try await probe.acknowledge(1)
        #expect(try await probe.reading == .init(tuples: 2, failure: .stopped))
        try await stopping.get()
        try await service.close()
    }

    @Test("While the broker is away nothing is connected to: the mere connect may clear the list")
    func brokerAway() async throws {
        let service = try await FeedbackService(FeedbackService.PKI.shared.get())
        let probe = try await HarvestProbe(port: service.port, isBrokerThere: false) {
            $0.retryDelay = .milliseconds(50)
        }
        await probe.refusals(3)
        #expect(try await probe.published == 0)
        try await probe.setBroker(isThere: true)
        try await #require(await service.connection()).close()
        #expect(try await probe.reading == .init())
        try await service.close()
    }

    @Test("A list whose lease is another harvester's is asked for again soon, not after an interval")
    func leaseRefused() async throws {
        let service = try await FeedbackService(FeedbackService.PKI.shared.get())
        let probe = try await HarvestProbe(port: service.port, lease: .refused) { $0.retryDelay = .milliseconds(50) }
        await probe.refusals(3)
        try await probe.answerLeases(.held)
        try await #require(await service.connection()).close()
        #expect(try await probe.reading == .init())
        try await service.close()
    }
}
