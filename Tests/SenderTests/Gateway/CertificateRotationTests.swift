import APNsProtocol
import BelfrySupport
import HTTP2Transport
import NIOCore
import PipelineCore
import TLSTransport
import Testing

@testable import PipelineTestSupport
@testable import Sender

/// Certificates that are replaced while a shard sends.
@Suite("Connections move on to another certificate")
struct CertificateRotationTests {
    private typealias Bench = ShardBench

    private func rotations(_ bench: Bench) -> [Int] {
        bench.shard.report().topics.first { $0.bundleID == Bench.news }?.counters.rotations ?? []
    }

    /// Sends to one token after the other, and does something in between.
    private func send(
        _ tokens: ClosedRange<UInt8>,
        to bench: Bench,
        every milliseconds: Int64 = 40,
        _ body: (UInt8) -> Void = { _ in }
    ) throws {
        for token in tokens {
            try bench.bring((Bench.news, [token]))
            bench.wait(milliseconds: milliseconds)
            body(token)
        }
    }

    // MARK: The binary interface

    @Test("Over the binary interface a lane under load moves on once; nothing is lost, repeated or out of order")
    func binary() throws {
        let bench = Bench()
        defer { bench.shard.leave() }
        bench.assign(0)
        try send(1...250, to: bench) { if $0 == 20 { bench.gateway.edition = 2 } }
        bench.wait(milliseconds: 1000)
        #expect(bench.gateway.accepted(of: Bench.news) == Array(1...250))
        #expect(bench.gateway.shown == [1, 2] && bench.gateway.acceptedOver == bench.gateway.acceptedOver.sorted())
        #expect(bench.gateway.acceptedOver.first == 1 && bench.gateway.acceptedOver.last == 2)
        #expect(rotations(bench) == [0, 1])
        let outcomes = try bench.outcomes()
        #expect(outcomes.count == 250 && outcomes.allSatisfy { [.presumed, .confirmed].contains($0.kind) })
    }

    @Test("An idle lane moves on as well")
    func idle() throws {
        let bench = Bench()
        defer { bench.shard.leave() }
        bench.assign(0)
        try send(1...2, to: bench)
        bench.wait(milliseconds: 1000)
        bench.gateway.edition = 2
        bench.wait(milliseconds: 10_000)
        #expect(bench.gateway.shown == [1, 2])
        try send(3...3, to: bench)
        #expect(bench.gateway.acceptedOver == [1, 1, 2] && bench.gateway.attempts.count == 2)
    }

    @Test("A certificate that the gateway refuses leaves the connection with the former one; the next one is taken")
    func refused() throws {
        let bench = Bench()
        defer { bench.shard.leave() }
        bench.gateway.refusedEditions = [2]
        bench.assign(0)
        try send(1...100, to: bench, every: 100) { if $0 == 20 { bench.gateway.edition = 2 } }
        #expect(bench.gateway.accepted(of: Bench.news) == Array(1...100))
        #expect(bench.gateway.shown == [1, 2] && Set(bench.gateway.acceptedOver) == [1])
        #expect(bench.reason(Bench.news) == nil && rotations(bench) == [0, 0])
        let counters = bench.shard.report().topics.first?.counters
        #expect(counters?.disconnects[DisconnectReason.certificateRefused.rawValue] == 1)
        bench.gateway.edition = 3
        try send(101...200, to: bench, every: 100)
        bench.wait(milliseconds: 1000)
        #expect(bench.gateway.accepted(of: Bench.news) == Array(1...200))
        #expect(bench.gateway.shown == [1, 2, 3] && bench.gateway.acceptedOver.last == 3)
        #expect(rotations(bench) == [0, 1])
    }

    // MARK: HTTP/2

    @Test("Over HTTP/2 the connections of a credential move on and drain; nothing is lost, repeated or out of order")
    func streams() throws {
        let bench = Bench(over: .http2)
        defer { bench.shard.leave() }
        bench.assign(0)
        try send(1...250, to: bench) { if $0 == 20 { bench.service.edition = 2 } }
        bench.wait(milliseconds: 1000)
        #expect(bench.service.accepted(of: Bench.news) == Array(1...250))
        #expect(bench.service.peers.map(\.edition) == [1, 2] && bench.service.peers.map(\.isEnded) == [true, false])
        #expect(bench.service.peers[0].isDismissed && rotations(bench) == [0, 1])
        let over = bench.service.requests.map { bench.service.peers[$0.connection].edition }
        #expect(over == over.sorted() && over.first == 1 && over.last == 2)
    }

    @Test("An old connection with requests that are not answered drains: it ends when they are")
    func drain() throws {
        let bench = Bench(over: .http2)
        defer { bench.shard.leave() }
        bench.service.reply = { $0.token == 1 ? .wait : .accept }
        bench.assign(0)
        try send(1...1, to: bench)
        bench.service.edition = 2
        try send(2...100, to: bench, every: 60)
        #expect(bench.service.peers.map(\.edition) == [1, 2] && !bench.service.peers[0].isEnded)
        bench.service.peers[0].answerAll()
        bench.wait(milliseconds: 500)
        #expect(bench.service.peers[0].isEnded && bench.service.accepted(of: Bench.news) == Array(2...100) + [1])
    }

    @Test("An idle credential moves on as well")
    func idleConnections() throws {
        let bench = Bench(over: .http2)
        defer { bench.shard.leave() }
        bench.assign(0)
        try send(1...2, to: bench)
        bench.service.edition = 2
        bench.wait(milliseconds: 20_000)
        #expect(bench.service.peers.map(\.edition) == [1, 2] && bench.service.peers.map(\.isEnded) == [true, false])
        try send(3...3, to: bench)
        #expect(bench.service.requests.map(\.connection) == [0, 0, 1])
    }

    @Test("A certificate refused by GOAWAY, or by each answer, leaves the connections with the former one")
    func refusedConnections() throws {
        for isByGoAway in [true, false] {
            let bench = Bench(over: .http2)
            defer { bench.shard.leave() }
            bench.service.greet = { peer in
                guard isByGoAway, peer.edition == 2 else { return }
                peer.goAway(debugData: #"{"reason":"BadCertificateEnvironment"}"#, last: HTTP2StreamID(rawValue: 0))
            }
            bench.service.reply = { request in
                bench.service.peers[request.connection].edition == 2 ? .refuse(.badCertificate) : .accept
            }
            bench.assign(0)
            try send(1...100, to: bench, every: 100) { if $0 == 20 { bench.service.edition = 2 } }
            #expect(bench.service.accepted(of: Bench.news) == Array(1...100) && bench.reason(Bench.news) == nil)
            #expect(bench.service.peers.map(\.edition) == [1, 2] && !bench.service.peers[0].isEnded)
            #expect(bench.service.peers[1].isEnded && rotations(bench) == [0, 0])
            bench.service.edition = 3
            try send(101...150, to: bench, every: 200)
            #expect(bench.service.peers.map(\.edition) == [1, 2, 3] && bench.service.peers[0].isEnded)
            #expect(bench.service.accepted(of: Bench.news) == Array(1...150) && rotations(bench) == [0, 1])
        }
    }

    @Test("A certificate refused by TLS fails no topic while a connection with the former one is open")
    func refusedHandshake() throws {
        let topics = ScriptedTopics()
        let lane = topics.makeLane(Bench.news, .certificate(bundleID: Bench.news))
        try topics.append(1, to: lane)
        topics.pass(.zero)
        let old = try #require(topics.open().first)
        topics.edition = 2
        topics.pass(ConnectionRotation.spread)
        let new = try #require(topics.open().first)
        let refusal = TLSError.certificateRefused(alert: .certificateRevoked, openSSLErrors: [])
        new.end(refusal)
        #expect(topics.failed.isEmpty && topics.disconnected == [Bench.news] && !old.isClosed)
        old.end(refusal)
        #expect(topics.failed == [Bench.news])
    }
}
