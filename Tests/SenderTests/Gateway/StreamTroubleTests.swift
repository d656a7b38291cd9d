import APNsProtocol
import BelfrySupport
import HTTP2Transport
import Logging
import NIOCore
import PipelineCore
import PushSchemas
import Testing

@testable import PipelineTestSupport
@testable import Sender
@testable import SimulatedServers

/// Requests that are not answered, and connections that end.
@Suite("Connections over HTTP/2 in trouble")
struct StreamTroubleTests {
    private typealias Bench = ShardBench

    private func counters(of bench: Bench) -> WorkerAppCounters? {
        bench.shard.report().topics.first { $0.bundleID == Bench.news }?.counters
    }

    /// A shard with requests to the tokens in flight over one connection; the next ones are accepted.
    private func withRequests(
        _ tokens: [UInt8],
        _ change: (inout BelfryConfiguration) -> Void = { _ in },
        _ test: (Bench, MemoryPeer) throws -> Void
    ) throws {
        let bench = Bench(over: .http2, change)
        defer { bench.shard.leave() }
        bench.service.reply = { _ in .wait }
        bench.assign(0)
        try bench.bring((Bench.news, tokens))
        bench.wait(milliseconds: 200)
        #expect(bench.service.tokens(of: Bench.news) == tokens && bench.service.peers.count == 1)
        bench.service.reply = { _ in .accept }
        try test(bench, bench.service.peers[0])
    }

    // MARK: Said by the service

    @Test("Requests above the last stream of a GOAWAY go again and are no resends, the rest is waited for")
    func goAway() throws {
        try withRequests([1, 2, 3, 4]) { (bench, peer) throws in
            peer.goAway(debugData: #"{"reason":"Shutdown"}"#, last: bench.service.requests[1].stream)
            bench.wait(milliseconds: 1000)
            #expect(bench.service.accepted.map(\.token).sorted() == [3, 4] && bench.service.peers.count == 2)
            #expect(bench.streamLane(Bench.news)?.inFlightCount == 2)
            let requests = bench.service.requests
            #expect(Set(requests[4...].map(\.id)) == Set(requests[2..<4].map(\.id)))
            peer.answerAll()
            bench.wait(milliseconds: 1000)
            #expect(try bench.offsets(.confirmed).count == 4 && bench.service.requests.count == 6)
            #expect(peer.isEnded, "nothing is left on it")
            let counters = try #require(self.counters(of: bench))
            #expect(counters.resent == 0 && counters.disconnects[DisconnectReason.goAway.rawValue] == 1)
            #expect(bench.shard.report().connections.map(\.goAways) == [["Shutdown": 1]])
        }
    }

    @Test(
        "GOAWAY is told with code, reason and last stream, and counted by reason: as a warning if it is an error",
        arguments: [
            (.noError, #"{"reason":"Shutdown"}"#, "Shutdown", "Shutdown", .info),
            (.protocolError, #"{"reason":"Whim"}"#, "Whim", "other", .warning),
            (.enhanceYourCalm, "too many pings", "too many pings", "none", .warning),
            (.noError, "", "", "none", .info),
        ] as [(HTTP2ErrorCode, String, String, String, Logger.Level)]
    )
    func goAwayReason(
        code: HTTP2ErrorCode,
        debugData: String,
        told: String,
        counted: String,
        level: Logger.Level
    ) throws {
        try withRequests([1, 2, 3]) { (bench, peer) throws in
            let last = bench.service.requests[1].stream
            peer.goAway(code, debugData: debugData, last: last)
            bench.wait(milliseconds: 100)
            let line = try #require(bench.lines.metadata(of: "gateway closes a connection").first)
            #expect(line["code"] == "\(code)" && line["reason"] == told)
            #expect(line["last-stream"] == "\(last.rawValue)" && line["unanswered"] == "3")
            #expect(line["environment"] == "sandbox" && line["gateway"] == "nowhere")
            #expect(line["credential"]?.contains(Bench.news) == true)
            #expect(bench.lines.levels(of: "gateway closes a connection") == [level])
            #expect(bench.shard.report().connections.map(\.goAways) == [[counted: 1]])
        }
    }

    @Test(
        "A host that does not speak HTTP/2 is told of in words for people, and what waits is not lost",
        arguments: [
            (.agreesOn(protocol: "http/1.1"), "the gateway speaks http/1.1 here, not HTTP/2"),
            (.says("HTTP/1.1 400 Bad Request\r\n\r\n"), "does not speak HTTP/2: its first bytes are \"HTTP/1.1 400"),
        ] as [(MemoryService.Stranger, String)]
    )
    func stranger(_ stranger: MemoryService.Stranger, words: String) throws {
        let bench = Bench(over: .http2)
        defer { bench.shard.leave() }
        bench.service.stranger = stranger
        bench.assign(0)
        try bench.bring((Bench.news, [1]))
        bench.wait(milliseconds: 500)
        #expect(bench.lines.errors.first?.contains(words) == true)
        #expect(bench.service.requests.isEmpty)
        bench.service.stranger = nil
        bench.wait(milliseconds: 30_000)
        #expect(bench.service.accepted(of: Bench.news) == [1])
        #expect(try bench.offsets(.confirmed) == [0])
    }

    @Test("Refused streams go again, and are no resends")
    func refusedStreams() throws {
        try withRequests([1, 2, 3, 4, 5]) { (bench, peer) throws in
            peer.answerAll(.reset(.refusedStream))
            bench.wait(milliseconds: 2000)
            #expect(bench.service.accepted(of: Bench.news).sorted() == [1, 2, 3, 4, 5])
            #expect(try bench.offsets(.confirmed).count == 5)
            #expect(counters(of: bench)?.resent == 0 && bench.service.peers.count == 1)
        }
    }

    @Test("The stream limit falls to one after a rejection: nothing is lost, and all streams come back")
    func collapse() throws {
        try withRequests(Array(1...100)) { (bench, peer) throws in
            peer.answer(peer.unanswered[0], .refuse(.badCollapseID))
            peer.session.send(HTTP2Settings(maxConcurrentStreams: 1))
            for request in peer.unanswered { peer.answer(request, .reset(.refusedStream)) }
            var isBack = false
            bench.service.reply = { _ in
                if !isBack { peer.session.send(HTTP2Settings(maxConcurrentStreams: 1000)) }
                isBack = true
                return .accept
            }
            bench.wait(milliseconds: 5000)
            #expect(try bench.offsets(.rejected).count == 1 && bench.offsets(.confirmed).count == 99)
            #expect(counters(of: bench)?.resent == 0 && bench.reason(Bench.news) == nil)
        }
    }

    @Test("What comes on a connection while it closes is not heard: its shard may be gone")
    func lateWords() throws {
        try withRequests([1]) { (bench, peer) throws in
            peer.closesSlowly = true
            bench.shard.leave()
            #expect(peer.isEnded)
            let answered = counters(of: bench)
            peer.goAway(debugData: #"{"reason":"Shutdown"}"#)
            peer.answerAll()
            bench.wait(milliseconds: 100)
            #expect(counters(of: bench) == answered)
        }
    }

    @Test("After a peer's goodbye its requests go again over another connection, while the socket stays")
    func goodbyeWithoutEnd() throws {
        try withRequests([1, 2]) { (bench, peer) throws in
            peer.sayGoodbye()
            try bench.bring((Bench.news, [3]))
            bench.wait(milliseconds: 3000)
            #expect(bench.service.accepted(of: Bench.news).sorted() == [1, 2, 3])
            #expect(bench.service.requests.suffix(3).allSatisfy { $0.connection == 1 })
            #expect(bench.service.requests.count == 5)
        }
    }

    // MARK: Fates that are not known

    @Test(
        "A stream that is reset, and a connection that is lost, leave a fate unknown, which the policy decides",
        arguments: [
            (.resend, .confirmed), (.presume, .presumed), (.giveUp, .unknown),
        ] as [(UnknownFatePolicy, PushOutcomeKind)]
    )
    func unknownFate(policy: UnknownFatePolicy, outcome: PushOutcomeKind) throws {
        try withRequests([1, 2, 3]) {
            $0.worker.unknownFate = policy
        } _: { (bench, peer) throws in
            peer.answer(peer.unanswered[0], .reset(.internalError))
            bench.wait(milliseconds: 500)
            peer.end()
            bench.wait(milliseconds: 3000)
            #expect(try bench.outcomes().map(\.kind) == Array(repeating: outcome, count: 3))
            #expect(counters(of: bench)?.resent == (policy == .resend ? 3 : 0))
            let ids = bench.service.requests.map(\.id)
            #expect(ids.count == (policy == .resend ? 6 : 3) && Set(ids).count == 3)
            #expect(bench.committed()?.offset == 1)
        }
    }

    @Test("Answers that never come: each request has its time, is reset, and goes again over another connection")
    func timeout() throws {
        try withRequests([1, 2]) {
            $0.worker.requestTimeout = .seconds(2)
        } _: { (bench, peer) throws in
            bench.wait(milliseconds: 1500)
            #expect(peer.resets.isEmpty && bench.service.requests.count == 2)
            bench.wait(milliseconds: 500)
            #expect(Set(peer.resets.values) == [.cancel] && peer.resets.count == 2)
            bench.wait(milliseconds: 1000)
            #expect(bench.service.accepted.map(\.connection) == [1, 1])
            #expect(counters(of: bench)?.resent == 2)
            #expect(try bench.offsets(.confirmed) == [0, 0])
            bench.wait(milliseconds: 10_000)
            #expect(peer.isEnded, "a connection that answers nothing but pings is replaced")
        }
    }

    @Test("A request that the others overtake is given up by itself, and its connection stays")
    func passedOver() throws {
        try withRequests([1, 2]) {
            $0.worker.requestTimeout = .seconds(2)
        } _: { (bench, peer) throws in
            peer.answer(peer.unanswered[1], .accept)
            bench.wait(milliseconds: 5000)
            #expect(bench.service.accepted.map(\.token) == [2, 1] && bench.service.peers.count == 1)
            #expect(peer.resets.count == 1)
        }
    }

    @Test("A peer that answers no ping either is dead; what it had goes again over another connection")
    func deadPeer() throws {
        try withRequests([1, 2, 3]) {
            $0.worker.peerTimeout = .seconds(2)
        } _: { (bench, peer) throws in
            peer.isFrozen = true
            // The tick, and the wait after a failure, come on top of the peer's time.
            bench.wait(milliseconds: 2400)
            #expect(bench.lines.messages.contains("gateway answers nothing, not even a ping"))
            #expect(peer.isEnded && bench.service.accepted.map(\.connection) == [1, 1, 1])
            #expect(try bench.offsets(.confirmed).count == 3 && counters(of: bench)?.resent == 3)
        }
    }

    @Test("A peer that answers pings is alive, however long an answer takes")
    func slowPeer() throws {
        try withRequests([1]) {
            $0.worker.peerTimeout = .seconds(2)
            $0.worker.requestTimeout = .seconds(60)
        } _: { (bench, peer) throws in
            bench.wait(milliseconds: 30_000)
            #expect(!peer.isEnded && bench.service.requests.count == 1)
            peer.answerAll()
            bench.wait(milliseconds: 100)
            #expect(try bench.offsets(.confirmed) == [0])
        }
    }

    @Test("A notification that ends its connections without a word becomes a dead letter, and the others are sent")
    func poison() throws {
        let bench = Bench(over: .http2)
        defer { bench.shard.leave() }
        bench.service.reply = { [unowned service = bench.service] request in
            guard request.token == 5 else { return .accept }
            service.peers[request.connection].end()
            return .wait
        }
        bench.assign(0)
        try bench.bring((Bench.news, Array(1...10)))
        bench.wait(milliseconds: 30_000)
        #expect(Set(bench.service.accepted.map(\.token)) == Set((1...10).filter { $0 != 5 }))
        #expect(try bench.offsets(.deadLettered).count == 1 && bench.outcomes().count == 10)
        let letters = bench.producer.records(of: "push.dead-letters")
        #expect(letters.map { $0.header("reason") } == ["request-unanswered"])
    }

    @Test("So does one whose streams are reset, or whose time always runs out while others are answered")
    func unanswered() throws {
        for isReset in [false, true] {
            let bench = Bench(over: .http2) { $0.worker.requestTimeout = .seconds(2) }
            defer { bench.shard.leave() }
            bench.service.reply = { $0.token == 5 ? isReset ? .reset(.internalError) : .wait : .accept }
            bench.assign(0)
            try bench.bring((Bench.news, [5]))
            for _ in 0..<60 {
                try bench.bring((Bench.news, [1]))
                bench.wait(milliseconds: 500)
            }
            #expect(try bench.offsets(.deadLettered) == [0] && bench.offsets(.confirmed).count == 60)
            let letters = bench.producer.records(of: "push.dead-letters")
            #expect(letters.map { $0.header("reason") } == ["request-unanswered"])
            #expect(letters.first?.header("detail")?.contains("sent 5 times") == true)
            #expect(bench.service.peers.count == 1)
        }
    }

    // MARK: Flow control and back-pressure

    @Test("Flow control: bodies wait for the peer's window, and go when it comes")
    func window() throws {
        let bench = Bench(over: .http2)
        defer { bench.shard.leave() }
        bench.service.settings.streamWindowBytes = 0
        bench.assign(0)
        try bench.bring((Bench.news, [1, 2, 3]))
        bench.wait(milliseconds: 500)
        #expect(bench.service.tokens(of: Bench.news) == [1], "it went before the service had said so")
        bench.service.peers[0].session.send(HTTP2Settings(streamWindowBytes: 65_535))
        bench.service.peers[0].flush()
        bench.wait(milliseconds: 1000)
        #expect(bench.service.accepted(of: Bench.news).sorted() == [1, 2, 3])
        #expect(bench.service.requests.map(\.body) == Array(repeating: #"{"aps":{}}"#, count: 3))
    }

    // MARK: The end

    @Test("Outcomes lost at close: answers that come while the shard drains count, and its connections say goodbye")
    func drain() throws {
        try withRequests([1, 2]) { (bench, peer) throws in
            let drained = bench.shard.drain()
            bench.wait(milliseconds: 500)
            #expect(try bench.outcomes().isEmpty)
            peer.answerAll()
            bench.wait(milliseconds: 1000)
            #expect(try bench.offsets(.confirmed) == [0, 0] && bench.committed()?.offset == 1)
            var isDrained = false
            drained.assumeIsolated().whenSuccess { isDrained = true }
            bench.eventLoop.run()
            #expect(isDrained)
            bench.shard.leave()
            bench.eventLoop.run()
            #expect(peer.isEnded && peer.isDismissed)
        }
    }

    @Test("An attempt that ends after the shard sends nothing")
    func lateAttempt() throws {
        let bench = Bench(over: .http2)
        bench.service.connectTime = .seconds(5)
        bench.assign(0)
        try bench.bring((Bench.news, [1]))
        bench.wait(milliseconds: 1000)
        #expect(bench.service.attempts == 1)
        bench.shard.leave()
        bench.wait(milliseconds: 10_000)
        #expect(bench.service.requests.isEmpty && bench.service.peers.isEmpty && bench.service.attempts == 1)
    }
}
