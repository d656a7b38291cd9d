import APNsProtocol
import BelfrySupport
import Foundation
import PipelineCore
import PushSchemas
import Testing

@testable import PipelineTestSupport
@testable import Sender

/// Topics and tokens that the service refuses without an exception, and those that it refuses with good reason.
@Suite("Refusals of everything over HTTP/2")
struct StreamTopicRefusalTests {
    private typealias Bench = ShardBench

    private static let stopped = "topic does not work; it lags and is probed"
    private static let rejected = "topic of an app is refused; requests for it are rejected"
    private static let voip = Bench.sport + ".voip"

    private func makeBench(_ change: (inout BelfryConfiguration) -> Void = { _ in }) -> Bench {
        let bench = Bench(over: .http2, change)
        bench.assign(0)
        return bench
    }

    private func voipRequest(_ tokens: ClosedRange<UInt8>) -> PushSendRequest {
        .with {
            $0.pushType = "voip"
            $0.packedTokens = Data(tokens.flatMap { Array(repeating: $0, count: 32) })
        }
    }

    /// A broadcast to a channel of its own.
    private func broadcast(_ number: Int) -> PushSendRequest {
        .with {
            $0.channel = Data("channel \(number)".utf8).base64EncodedString()
            $0.expiration = 0
            $0.priority = 10
        }
    }

    // MARK: The credential's fault

    @Test(
        "An app whose topic is refused stops and loses nothing; the log names its credential, and others go on",
        arguments: [ProviderReason.topicDisallowed, .badTopic]
    )
    func everything(reason: ProviderReason) throws {
        let bench = makeBench()
        defer { bench.shard.leave() }
        bench.service.reply = { $0.topic == Bench.sport ? .refuse(reason) : .accept }
        for token in 1...200 as ClosedRange<UInt8> { try bench.bring((Bench.sport, [token]), (Bench.news, [token])) }
        bench.wait(milliseconds: 30_000)
        #expect(bench.reason(Bench.sport) == "topic-refused" && bench.reason(Bench.news) == nil)
        #expect(bench.service.accepted(of: Bench.news) == Array(1...200))
        #expect(try bench.offsets(.rejected).isEmpty)
        #expect(try bench.laggards() == [Bench.hash(Bench.sport): 0])
        let line = try #require(bench.lines.metadata(of: Self.stopped).first)
        #expect(line["credential"] == "certificate of \(Bench.sport)" && line["topics"] == Bench.sport)
        #expect(line["environment"] == "sandbox" && bench.lines.metadata(of: Self.stopped).count == 1)

        bench.service.reply = { _ in .accept }
        bench.wait(milliseconds: 10_000)
        #expect(bench.service.accepted(of: Bench.sport) == Array(1...200))
        #expect(bench.reason(Bench.sport) == nil && bench.committed()?.metadata == "3;")
    }

    @Test("An app that worked stops as well when its topic is refused from some moment on")
    func transferred() throws {
        let bench = makeBench()
        defer { bench.shard.leave() }
        try bench.bring([(Bench.sport, voipRequest(1...5))])
        for token in 1...30 as ClosedRange<UInt8> { try bench.bring((Bench.sport, [token])) }
        bench.wait(milliseconds: 1000)
        bench.service.reply = { _ in .refuse(.topicDisallowed) }
        try bench.bring([(Bench.sport, voipRequest(6...40))])
        for token in 31...100 as ClosedRange<UInt8> { try bench.bring((Bench.sport, [token])) }
        bench.wait(milliseconds: 10_000)
        #expect(try bench.reason(Bench.sport) == "topic-refused" && bench.offsets(.rejected).isEmpty)
        bench.service.reply = { _ in .accept }
        bench.wait(milliseconds: 10_000)
        #expect(bench.service.accepted(of: Bench.sport).sorted() == Array(1...100))
        #expect(bench.service.accepted(of: Self.voip).sorted() == Array(1...40))
    }

    @Test("An app that sends broadcasts alone stops as well, and loses none")
    func broadcasts() throws {
        let bench = makeBench()
        defer { bench.shard.leave() }
        bench.service.reply = { _ in .refuse(.topicDisallowed) }
        try bench.bring((1...30).map { (Bench.sport, broadcast($0)) })
        bench.wait(milliseconds: 5000)
        #expect(try bench.reason(Bench.sport) == "topic-refused" && bench.offsets(.rejected).isEmpty)
        #expect(bench.lines.metadata(of: Self.stopped).first?["topics"] == Bench.sport)
        bench.service.reply = { _ in .accept }
        bench.wait(milliseconds: 10_000)
        #expect(bench.service.accepted.count == 30 && bench.reason(Bench.sport) == nil)
        #expect(try bench.committed()?.offset == 30 && bench.offsets(.rejected).isEmpty)
    }

    @Test("Another certificate ends the stop at once, however long the wait for the next probe is")
    func otherCertificate() throws {
        let bench = makeBench {
            $0.worker.parkProbeBase = .seconds(3600)
            $0.worker.parkProbeCap = .seconds(3600)
        }
        defer { bench.shard.leave() }
        bench.service.reply = { _ in bench.service.edition == 1 ? .refuse(.topicDisallowed) : .accept }
        for token in 1...30 as ClosedRange<UInt8> { try bench.bring((Bench.sport, [token])) }
        bench.wait(milliseconds: 5000)
        #expect(bench.reason(Bench.sport) == "topic-refused" && bench.service.accepted.isEmpty)
        bench.service.edition = 2
        bench.wait(milliseconds: 5000)
        #expect(bench.service.accepted(of: Bench.sport) == Array(1...30) && bench.reason(Bench.sport) == nil)
    }

    @Test("So does a key of another team; the log names key and team")
    func otherKey() throws {
        let keys = try ScriptedKeys(teams: ["DEF123GHIJ", "OTHER12345"])
        let bench = makeBench {
            $0.worker.parkProbeBase = .seconds(3600)
            $0.worker.parkProbeCap = .seconds(3600)
        }
        defer { bench.shard.leave() }
        bench.setClock(unixSeconds: 1_700_000_000)
        bench.service.providerTokens = keys.tokens
        bench.service.credentials[Bench.sport] = .key(keys.ids[0])
        bench.service.reply = { request in
            let key = try? ScriptedKeys.key(of: request)
            return key == keys.ids[0] ? .refuse(.topicDisallowed) : .accept
        }
        for token in 1...30 as ClosedRange<UInt8> { try bench.bring((Bench.sport, [token])) }
        bench.wait(milliseconds: 5000)
        #expect(bench.reason(Bench.sport) == "topic-refused" && bench.service.accepted.isEmpty)
        #expect(bench.lines.metadata(of: Self.stopped).first?["credential"] == "\(keys.ids[0])")
        bench.service.credentials[Bench.sport] = .key(keys.ids[1])
        bench.wait(milliseconds: 5000)
        #expect(bench.service.accepted(of: Bench.sport) == Array(1...30) && bench.reason(Bench.sport) == nil)
    }

    @Test("A refusal of the topic with a former credential does not end a probe")
    func outdatedProbe() throws {
        let keys = try ScriptedKeys()
        let bench = makeBench()
        defer { bench.shard.leave() }
        bench.setClock(unixSeconds: 1_700_000_000)
        bench.service.providerTokens = keys.tokens
        bench.service.reply = { _ in .wait }
        let health = try bench.shard.addTopic(Bench.sport).health
        let now = bench.shard.now
        health.change { $0.failed(.serviceTrouble, now: now, random: 0) }
        try bench.bring((Bench.sport, [1]))
        for _ in 0..<500 where bench.service.requests.isEmpty { bench.wait(milliseconds: 20) }
        let probe = try #require(bench.service.requests.first)
        bench.service.credentials[Bench.sport] = .key(keys.ids[0])
        bench.wait(milliseconds: 1000)
        bench.service.peers[probe.connection].answerAll(.refuse(.topicDisallowed))
        bench.wait(milliseconds: 1000)
        #expect(health.state.reason == .serviceTrouble)
        #expect(bench.service.tokens(of: Bench.sport) == [1, 1], "it goes again with the new credential")

        for peer in bench.service.peers { peer.answerAll() }
        bench.wait(milliseconds: 1000)
        #expect(health.state == .works)
    }

    // MARK: The request's fault

    @Test("Requests for a topic that the credential lacks are rejected, with one line, while the app's other one works")
    func lackedTopic() throws {
        let bench = makeBench()
        defer { bench.shard.leave() }
        bench.service.reply = { $0.topic == Self.voip ? .refuse(.topicDisallowed) : .accept }
        try bench.bring((Bench.sport, [1]))
        bench.wait(milliseconds: 500)
        try bench.bring([(Bench.sport, voipRequest(1...100))])
        try bench.bring((Bench.sport, [2]))
        bench.wait(milliseconds: 1000)
        #expect(bench.service.accepted(of: Bench.sport) == [1, 2] && bench.reason(Bench.sport) == nil)
        let refused = try bench.outcomes().filter { $0.kind == .rejected }
        #expect(refused.count == 100 && refused.allSatisfy { $0.status == 400 && $0.reason == "TopicDisallowed" })
        let lines = bench.lines.metadata(of: Self.rejected)
        #expect(lines.map { $0["topic"] } == [Self.voip])
        #expect(lines.first?["reason"] == "TopicDisallowed")
    }

    @Test("An accepted broadcast shows that the credential is the app's, and that it lacks the other topic")
    func acceptedBroadcast() throws {
        let bench = makeBench()
        defer { bench.shard.leave() }
        bench.service.reply = { $0.topic == Self.voip ? .refuse(.topicDisallowed) : .accept }
        try bench.bring([(Bench.sport, broadcast(1))])
        bench.wait(milliseconds: 1000)
        try bench.bring([(Bench.sport, voipRequest(1...3))])
        bench.wait(milliseconds: 1000)
        #expect(bench.service.tokens(of: Self.voip).sorted() == [1, 2, 3])
        #expect(try bench.outcomes().filter { $0.kind == .rejected }.count == 3)
    }

    @Test("A single request of an app that sends nothing else is rejected after some attempts, and stops nothing")
    func loneRequest() throws {
        let bench = makeBench()
        defer { bench.shard.leave() }
        bench.service.reply = { _ in .refuse(.badTopic) }
        try bench.bring((Bench.sport, [1]))
        bench.wait(milliseconds: 30_000)
        #expect(bench.service.tokens(of: Bench.sport) == Array(repeating: 1, count: TopicRefusals.attempts))
        #expect(try bench.offsets(.rejected) == [0])
        #expect(bench.reason(Bench.sport) == nil && bench.lines.levels(of: Self.stopped).isEmpty)
        #expect(bench.lines.levels(of: Self.rejected) == [.warning])
    }

    @Test("An app with one token stops before twenty of its notifications are lost")
    func oneToken() throws {
        let bench = makeBench()
        defer { bench.shard.leave() }
        bench.service.reply = { _ in .refuse(.topicDisallowed) }
        for _ in 1...40 {
            try bench.bring((Bench.sport, [1]))
            bench.wait(milliseconds: 3000)
        }
        #expect(bench.reason(Bench.sport) == "topic-refused")
        #expect(try bench.offsets(.rejected) == Array(0..<19))
    }

    // MARK: Tokens

    @Test("Of an app whose every token is called invalid no more are lost than the sample that shows it")
    func everyToken() throws {
        let bench = makeBench {
            $0.worker.parkProbeBase = .seconds(60)
            $0.worker.parkProbeCap = .seconds(60)
        }
        defer { bench.shard.leave() }
        bench.service.reply = { _ in .wait }
        try bench.bring((Bench.sport, Array(1...250)))
        bench.wait(milliseconds: 500)
        #expect(bench.service.requests.count == 250, "all are in flight")
        bench.service.reply = { _ in .refuse(.badDeviceToken) }
        bench.service.peers[0].answerAll(.refuse(.badDeviceToken))
        bench.wait(milliseconds: 5000)
        #expect(bench.reason(Bench.sport) == "tokens-doubted")
        #expect(try bench.offsets(.rejected).count == WorkerSettings().invalidTokenSample)
        bench.service.reply = { _ in .accept }
        bench.wait(milliseconds: 120_000)
        #expect(bench.reason(Bench.sport) == nil)
        #expect(try bench.offsets(.confirmed).count == 250 - WorkerSettings().invalidTokenSample)
    }
}
