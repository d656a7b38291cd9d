import APNsProtocol
import BelfrySupport
import Foundation
import HTTP2Transport
import NIOCore
import PipelineCore
import PushSchemas
import Testing

@testable import Sender
@testable import SimulatedServers

/// Requests over HTTP/2 as the service sees them.
@Suite("Requests of the provider API")
struct StreamRequestTests {
    private typealias Bench = ShardBench
    private typealias Field = MemoryService.Request.Field

    private func request(_ tokens: [UInt8], _ fill: (inout PushSendRequest) -> Void = { _ in }) -> PushSendRequest {
        .with {
            $0.packedTokens = Data(tokens.flatMap { Array(repeating: $0, count: 32) })
            fill(&$0)
        }
    }

    /// The id of the notification at an index of the first record.
    private func id(_ token: UInt8, index: UInt32 = 0, requestID: String = "") -> String {
        let bytes = [UInt8](repeating: token, count: 32)
        return Array("push.requests".utf8).withUnsafeBytes { name in
            Array(requestID.utf8).withUnsafeBytes { requestID in
                let ids = NotificationIDs(kafkaTopic: name, partition: 0, offset: 0, requestID: requestID)
                return bytes.withUnsafeBytes { ids.id(token: $0, index: index) }.text()
            }
        }
    }

    // MARK: Headers

    @Test("A request has all its headers, with the topic of its push type, and the payload as its body")
    func headers() throws {
        let bench = Bench(over: .http2)
        defer { bench.shard.leave() }
        bench.assign(0)
        try bench.bring([
            (
                Bench.news,
                request([0xAB]) {
                    $0.requestID = "r"
                    $0.pushType = "voip"
                    $0.priority = 5
                    $0.expiration = 2_000_000_000
                    $0.collapseID = "score"
                }
            )
        ])
        bench.wait(milliseconds: 100)
        let request = try #require(bench.service.requests.first)
        #expect(
            request.fields == [
                Field(name: ":method", value: "POST"),
                Field(name: ":scheme", value: "https"),
                Field(name: ":authority", value: "gateway.example"),
                Field(name: ":path", value: "/3/device/" + String(repeating: "ab", count: 32)),
                Field(name: "apns-topic", value: "com.example.news.voip"),
                Field(name: "apns-push-type", value: "voip"),
                Field(name: "apns-priority", value: "5"),
                Field(name: "apns-id", value: id(0xAB, requestID: "r")),
                Field(name: "apns-expiration", value: "2000000000"),
                Field(name: "apns-collapse-id", value: "score"),
            ]
        )
        #expect(request.body == #"{"aps":{}}"#)
        #expect(bench.service.requests.count == 1)
    }

    @Test("Requests over one connection have their own headers each, whatever the one before had")
    func headersOfMany() throws {
        let bench = Bench(over: .http2)
        defer { bench.shard.leave() }
        bench.assign(0)
        try bench.bring([
            (Bench.news, request([1, 2]) { $0.collapseID = "a rather long collapse id" }),
            (Bench.news, request([3])),
            (Bench.news, request([4]) { $0.collapseID = "b" }),
            (Bench.news, request([5]) { $0.pushType = "background" }),
        ])
        bench.wait(milliseconds: 500)
        let requests = bench.service.requests
        let long = "a rather long collapse id"
        #expect(requests.map { $0.value(of: "apns-collapse-id") } == [long, long, "", "b", ""])
        #expect(requests.map { $0.value(of: "apns-push-type") } == Array(repeating: "alert", count: 4) + ["background"])
        #expect(requests.map { $0.value(of: "apns-priority") } == ["10", "10", "10", "10", "5"])
        #expect(requests.map(\.token) == [1, 2, 3, 4, 5] && Set(requests.map(\.id)).count == 5)
        #expect(Set(requests.map(\.connection)) == [0])
    }

    @Test("With a key each request carries the provider token, with a certificate none does")
    func authorization() throws {
        let keys = try ScriptedKeys()
        let bench = Bench(over: .http2)
        defer { bench.shard.leave() }
        bench.setClock(unixSeconds: 1_700_000_000)
        bench.service.providerTokens = keys.tokens
        bench.service.credentials = [Bench.sport: .key(keys.ids[0])]
        bench.assign(0)
        try bench.bring((Bench.news, [1, 2]), (Bench.sport, [3, 4]))
        bench.wait(milliseconds: 500)
        for request in bench.service.requests {
            #expect(try ScriptedKeys.key(of: request) == (request.topic == Bench.sport ? keys.ids[0] : nil))
        }
        #expect(bench.service.accepted(of: Bench.sport) == [3, 4] && keys.tokens.reports.map(\.minted) == [1])
    }

    // MARK: Ids and order

    @Test("A notification that goes again keeps its id")
    func resent() throws {
        let bench = Bench(over: .http2)
        defer { bench.shard.leave() }
        var troubles: [MemoryService.Reply] = [
            .reset(.refusedStream), .reset(.internalError), .refuse(.tooManyRequests), .refuse(.serviceUnavailable),
            .refuse(.shutdown),
        ]
        bench.service.reply = { _ in troubles.isEmpty ? .accept : troubles.removeFirst() }
        bench.assign(0)
        try bench.bring((Bench.news, [7]))
        bench.wait(milliseconds: 20_000)
        let requests = bench.service.requests
        #expect(requests.count == 6 && Set(requests.map(\.id)) == [id(7)])
        #expect(try bench.offsets(.confirmed) == [0])
    }

    @Test("A token has one request in flight; the next goes when the one before has its outcome, in order")
    func oneInFlight() throws {
        let bench = Bench(over: .http2)
        defer { bench.shard.leave() }
        bench.service.reply = { $0.token == 1 ? .wait : .accept }
        bench.assign(0)
        try bench.bring((Bench.news, [1]), (Bench.news, [1, 2]), (Bench.news, [1]))
        bench.wait(milliseconds: 500)
        #expect(bench.service.tokens(of: Bench.news) == [1, 2])
        for count in 1...3 {
            #expect(bench.service.requests.count { $0.token == 1 } == count)
            bench.service.peers[0].answerAll()
            bench.wait(milliseconds: 100)
        }
        #expect(bench.service.requests.count == 4)
        #expect(try bench.offsets(.confirmed).sorted() == [0, 1, 1, 2])
    }

    // MARK: Memory

    @Test("The content that a record shares is kept while a notification of it is under way, and no longer")
    func contents() throws {
        let bench = Bench(over: .http2)
        defer { bench.shard.leave() }
        bench.service.reply = { _ in .wait }
        bench.assign(0)
        for token in 1...20 as ClosedRange<UInt8> { try bench.bring((Bench.news, [token, token + 100])) }
        bench.wait(milliseconds: 500)
        let lane = try #require(bench.streamLane(Bench.news))
        #expect(lane.inFlightCount == 40 && lane.keptContents == 20)
        #expect(bench.shard.stages.group.memory.budget.usedBytes > 0)
        bench.service.peers[0].answerAll()
        bench.wait(milliseconds: 1000)
        #expect(lane.inFlightCount == 0 && lane.waitingCount == 0 && lane.keptContents == 0)
        #expect(bench.shard.stages.group.memory.budget.usedBytes == 0)
        #expect(try bench.offsets(.confirmed).count == 40)
    }

    @Test("A topic that stops lets go of the records it has not sent, but for one that waits for a probe")
    func contentsOfStoppedTopic() throws {
        let bench = Bench(over: .http2)
        defer { bench.shard.leave() }
        bench.service.reply = { _ in .refuse(.forbidden) }
        bench.assign(0)
        try bench.bring((Bench.news, [1]), (Bench.news, [2]), (Bench.news, [3]))
        bench.wait(milliseconds: 200)
        let lane = try #require(bench.streamLane(Bench.news))
        #expect(bench.reason(Bench.news) == "topic-refused" && lane.keptContents <= 1)
    }

    // MARK: Coalescing

    @Test("A request that would wait for a stream waits where it can be superseded, and goes when there are streams")
    func coalescing() throws {
        let bench = Bench(over: .http2)
        defer { bench.shard.leave() }
        bench.group.cachedEnd = 0
        bench.service.connectTime = .seconds(3)
        bench.assign(0)
        try bench.bring([(Bench.news, request([9])), (Bench.news, request([1]) { $0.coalescingKey = "score" })])
        bench.wait(milliseconds: 1000)
        #expect(bench.shard.stages.coalescing.count == 1)
        try bench.bring([(Bench.news, request([1]) { $0.coalescingKey = "score" })])
        bench.wait(milliseconds: 1000)
        #expect(bench.shard.stages.coalescing.count == 1)
        #expect(try bench.offsets(.superseded) == [1])
        bench.wait(milliseconds: 5000)
        #expect(bench.shard.stages.coalescing.count == 0)
        #expect(bench.service.accepted(of: Bench.news) == [9, 1])
        #expect(try bench.offsets(.confirmed).sorted() == [0, 2])
    }
}
