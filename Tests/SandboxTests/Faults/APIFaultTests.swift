import APNsProtocol
import Foundation
import HTTP2Transport
import NIOCore
import TestSupport
import Testing

@testable import Sandbox

/// Misbehaviour of the provider API on demand.
struct APIFaultTests {
    private let fixture: APIFixture

    init() throws {
        fixture = try APIFixture()
    }

    private func connect() -> APIClient {
        fixture.connect(APIFixture.certificate())
    }

    private func arm(_ behaviour: Fault.Behaviour, times: Int? = nil, topic: String = APIFixture.news) {
        fixture.topic(topic).changeFaults { $0.arm(Fault(behaviour, times: times)) }
    }

    private func clear(_ name: Fault.Name) {
        fixture.topic().changeFaults { $0.clear(name) }
    }

    private var strikes: [Fault.Name: Int] { fixture.topic().withLedger { $0.faults.strikes } }
    private var discarded: Int { fixture.topic().withLedger { $0.counters.discarded } }

    /// Sends requests for device 1 with these marks in one chunk.
    ///
    /// - Returns: their tags.
    private func send(_ marks: ClosedRange<Int>, on client: APIClient) throws -> [UInt64] {
        let tags = try marks.map { try client.open(fixture.request(n: $0)) }
        client.pump()
        return tags
    }

    private func statuses(_ tags: [UInt64], _ client: APIClient) -> [Int?] {
        tags.map { client.replies[$0]?.status }
    }

    // MARK: Requests

    @Test("request-error refuses the n-th request of a connection, with any status and reason")
    func requestError() throws {
        let error = Fault.RequestError(reason: .tooManyRequests, selection: .every(3))
        arm(.requestError(error))
        let client = connect()
        let tags = try send(1...7, on: client)
        #expect(statuses(tags, client) == [200, 200, 429, 200, 200, 429, 200])
        #expect(client.replies[tags[2]]?.reason == "TooManyRequests")
        #expect(fixture.accepted(1) == [1, 2, 4, 5, 7] && fixture.rejected() == ["429 TooManyRequests": 2])
        #expect(strikes == [.requestError: 2])

        arm(.requestError(Fault.RequestError(status: 503, reason: ProviderReason(rawValue: "Odd"))), times: 1)
        let odd = try #require(try client.reply(fixture.request()))
        #expect(odd.status == 503 && odd.reason == "Odd")
        #expect(try client.reply(fixture.request())?.status == 200)
    }

    @Test("request-error by chance refuses its share, and the same requests with the same seed")
    func requestErrorByChance() throws {
        arm(.requestError(Fault.RequestError(reason: .tooManyRequests, selection: .probability(0.3))))
        func refused(seed: UInt64) throws -> [Int] {
            fixture.topic().changeFaults { $0.seed(seed) }
            let client = connect()
            let statuses = statuses(try send(1...200, on: client), client)
            #expect(statuses.allSatisfy { $0 == 200 || $0 == 429 })
            return statuses.indices.filter { statuses[$0] == 429 }
        }
        let (first, again, other) = (try refused(seed: 7), try refused(seed: 7), try refused(seed: 8))
        #expect((30...90).contains(first.count), "200 chances of 0.3")
        #expect(first == again && first != other)
        #expect(strikes == [.requestError: first.count + again.count + other.count])
    }

    @Test("Every documented reason comes by request-error, with its usual status", arguments: ProviderReason.table)
    func everyReason(entry: ProviderReason.Entry) throws {
        arm(.requestError(Fault.RequestError(reason: entry.reason)), times: 1)
        let client = connect()
        let reply = try #require(try client.reply(fixture.request()))
        #expect(reply.status == entry.statuses.first && reply.reason == entry.reason.rawValue)
        #expect((reply.timestampMilliseconds != nil) == (reply.status == 410))
        #expect(try client.reply(fixture.request())?.status == 200)
    }

    @Test("The sandbox's document tells of every documented reason how to provoke it")
    func documentedReasons() throws {
        let document = Repository.top.appending(path: "Sources/Sandbox/README.md")
        let text = String(decoding: try Data(contentsOf: document), as: UTF8.self)
        let section = try #require(text.components(separatedBy: "### Reasons").last)
        let rows = section.components(separatedBy: "###")[0].split(separator: "\n").filter { $0.hasPrefix("| `") }
        let told = rows.flatMap { row in
            row.split(separator: "|").first.map { $0.split(separator: "`").filter { $0.first?.isLetter == true } } ?? []
        }
        #expect(told.map(String.init).sorted() == ProviderReason.table.map(\.reason.rawValue).sorted())
    }

    @Test("request-error for tokens spares the others, tells the time with status 410, and leaves bad requests alone")
    func selectedError() throws {
        let unlucky = Fault.RequestError(reason: .unregistered, selection: .instances([AppInstance(device: 2)]))
        arm(.requestError(unlucky))
        let client = connect()
        #expect(try client.reply(fixture.request(1))?.status == 200)
        let dead = try #require(try client.reply(fixture.request(2)))
        #expect(dead.status == 410 && dead.timestampMilliseconds == Int64(APIFixture.now) * 1000)
        let bad = fixture.request(2).with(["apns-priority": "7"])
        #expect(try client.reply(bad)?.reason == "BadPriority")
    }

    @Test("A refused stream was not processed; one that is reset with another code was, which the client is not told")
    func streamReset() throws {
        arm(.streamReset(Fault.StreamReset(selection: .every(2))))
        let client = connect()
        let refused = try send(1...3, on: client)
        #expect(statuses(refused, client) == [200, nil, 200] && client.ends[refused[1]] == .refusedStream)
        #expect(fixture.accepted(1) == [1, 3] && discarded == 1)

        arm(.streamReset(Fault.StreamReset(code: .internalError)), times: 1)
        let reset = try send(4...5, on: client)
        #expect(statuses(reset, client) == [nil, 200] && client.ends[reset[0]] == .internalError)
        #expect(fixture.accepted(1) == [1, 3, 4, 5] && strikes[.streamReset] == 2)
    }

    // MARK: Connections

    @Test("connection-limit closes on connections with provider tokens at their first good request for the topic")
    func connectionLimit() throws {
        arm(.connectionLimit(count: 1))
        let call = fixture.request(authorization: try fixture.key.token())
        let (first, second) = (fixture.connect(), fixture.connect())
        #expect(try first.reply(call.with(["apns-priority": "7"]))?.reason == "BadPriority")
        // The first connection has carried nothing good yet, so the second one takes the place.
        #expect(try second.reply(call)?.status == 200)
        let mail = fixture.request(topic: APIFixture.mail, authorization: try fixture.key.token())
        #expect(try first.reply(mail)?.status == 200, "another topic has no limit")
        #expect(try first.reply(call) == nil)
        #expect(first.session.outlook == .finished && first.session.isOverLimit)
        #expect(discarded == 1 && strikes == [.connectionLimit: 1])
        first.session.leave()

        #expect(try second.reply(call)?.status == 200)
        second.session.leave()
        second.session.leave()
        let third = fixture.connect()
        #expect(try third.reply(call)?.status == 200 && !third.session.isOverLimit)
    }

    // MARK: Ends

    @Test("goaway-after answers up to the last stream, says why, and processes nothing beyond")
    func goAway() throws {
        arm(.goAwayAfter(Fault.GoAway(count: 3, reason: "Why", code: .enhanceYourCalm)))
        let client = connect()
        let tags = try send(1...5, on: client)
        #expect(statuses(tags, client) == [200, 200, 200, nil, nil])
        let goAway = try #require(client.goAways.first)
        #expect(goAway.code == .enhanceYourCalm && goAway.debugData == #"{"reason":"Why"}"#)
        #expect(goAway.last == 5, "the third stream of a client")
        #expect(client.ends[tags[3]] == .refusedStream && client.ends[tags[4]] == .refusedStream)
        #expect(fixture.accepted(1) == [1, 2, 3] && discarded == 2 && strikes == [.goAwayAfter: 1])
        #expect(client.session.outlook == .finished)
    }

    @Test("A request below the last stream of a GOAWAY is answered when its body has come, one above it never")
    func goAwayAnswersTheRest() throws {
        arm(.goAwayAfter(Fault.GoAway(count: 1)))
        // So that the second request overtakes the body of the first.
        arm(.windowSize(bytes: 100))
        let client = connect()
        var large = fixture.request(1)
        large.body = [UInt8](repeating: 0x20, count: 4000)
        let (first, second) = (try client.open(large), try client.open(fixture.request(2)))
        let third = try client.open(large)
        client.pump()
        #expect(client.order == [second, first] && client.goAways.first?.last == 3)
        #expect(client.replies[first]?.status == 200 && client.replies[second]?.status == 200)
        #expect(client.ends[third] == .refusedStream && fixture.accepted(1).count == 1)
    }

    @Test("shutdown-after is a GOAWAY with the reason Shutdown, without one the debug data is empty")
    func shutdown() throws {
        arm(.shutdownAfter(count: 1))
        let client = connect()
        #expect(try client.reply(fixture.request())?.status == 200)
        #expect(client.goAways.first?.debugData == #"{"reason":"Shutdown"}"# && client.goAways.first?.code == .noError)
        clear(.shutdownAfter)
        arm(.goAwayAfter(Fault.GoAway(count: 1, reason: "")))
        let other = connect()
        #expect(try other.reply(fixture.request())?.status == 200)
        #expect(other.goAways.first?.debugData == "")
    }

    @Test(
        "close-after, reset-after and silence-after take so many and answer none of them",
        arguments: [
            (.closeAfter(count: 3), .finished), (.resetAfter(count: 3), .cut), (.silenceAfter(count: 3), .open),
        ] as [(Fault.Behaviour, APISession.Outlook)]
    )
    func endings(behaviour: Fault.Behaviour, outlook: APISession.Outlook) throws {
        arm(behaviour)
        let client = connect()
        let before = try send(1...2, on: client)
        #expect(statuses(before, client) == [200, 200] && client.session.outlook == .open)
        let tags = try send(3...5, on: client)
        #expect(statuses(tags, client) == [nil, nil, nil] && client.session.outlook == outlook)
        #expect(fixture.accepted(1) == [1, 2, 3] && discarded == 2)
        client.http.ping(7)
        client.pump()
        #expect(client.pongs.isEmpty && strikes == [Fault(behaviour).name: 1])
    }

    @Test("mute-after takes requests and answers none of them, but pings")
    func mute() throws {
        arm(.muteAfter(count: 2))
        let client = connect()
        let tags = try send(1...4, on: client)
        #expect(statuses(tags, client) == [200, 200, nil, nil])
        client.http.ping(7)
        var stranger = fixture.request()
        stranger.headers["apns-topic"] = "com.example.other"
        let other = try client.open(stranger)
        client.pump()
        #expect(client.pongs == [7] && client.replies[other] == nil && client.session.outlook == .open)
        #expect(fixture.accepted(1) == [1, 2] && discarded == 2)
    }

    @Test("stall-after asks to stop reading, once for each time it is switched on")
    func stall() throws {
        arm(.stallAfter(count: 2, milliseconds: 50))
        let client = connect()
        _ = try send(1...1, on: client)
        #expect(client.session.takeStall() == nil)
        _ = try send(2...3, on: client)
        let stall = client.session.takeStall()
        #expect(stall?.topic === fixture.topic() && stall?.1.milliseconds == 50)
        _ = try send(4...4, on: client)
        #expect(client.session.takeStall() == nil)
    }

    // MARK: Answers

    @Test("answer-delay holds every answer back, and its id is that of the request")
    func delay() throws {
        arm(.answerDelay(milliseconds: 50))
        let client = connect()
        let id = "123E4567-e89b-42d3-a456-426614174000"
        let call = fixture.request().with(["apns-id": id])
        let calls = [call, call.with(["apns-priority": "7"]), fixture.request()]
        let tags = try calls.map { try client.open($0) }
        client.pump()
        #expect(client.replies.isEmpty && client.session.isHolding && fixture.accepted(1).count == 2)
        client.advance(milliseconds: 49)
        #expect(client.replies.isEmpty)
        client.advance(milliseconds: 1)
        #expect(statuses(tags, client) == [200, 400, 200])
        #expect(client.replies[tags[0]]?.fields["apns-id"] == id && client.replies[tags[1]]?.fields["apns-id"] == id)
        #expect(NotificationID(client.replies[tags[2]]?.fields["apns-id"] ?? "") != nil)
        #expect(!client.session.isHolding && client.session.nextWake == nil)
    }

    @Test("answer-shuffle lets answers come in another order, each of them once")
    func shuffle() throws {
        arm(.answerShuffle(milliseconds: 1000))
        let client = connect()
        let tags = try send(1...50, on: client)
        for _ in 0..<100 { client.advance(milliseconds: 10) }
        #expect(client.order.sorted() == tags && client.order != tags)
        #expect(statuses(tags, client) == [Int?](repeating: 200, count: 50))
    }

    // MARK: SETTINGS and windows

    @Test("stream-limit lets the streams fall, on open connections of the topic too, and come back")
    func streamLimit() throws {
        let (client, other) = (connect(), fixture.connect(APIFixture.certificate(APIFixture.mail)))
        arm(.streamLimit(count: 1))
        for client in [client, other] {
            client.session.faultsChanged()
            client.pump()
        }
        #expect(client.http.maxConcurrentStreams == 1 && other.http.maxConcurrentStreams == 1000)
        #expect(connect().http.maxConcurrentStreams == 1, "from the first SETTINGS on")
        clear(.streamLimit)
        client.session.faultsChanged()
        client.pump()
        #expect(client.http.maxConcurrentStreams == 1000 && strikes == [.streamLimit: 2])
    }

    @Test("A connection with provider tokens meets a topic's faults with its first request")
    func tokenConnection() throws {
        arm(.streamLimit(count: 7))
        let client = fixture.connect()
        #expect(try client.reply(fixture.request(authorization: fixture.key.token()))?.status == 200)
        #expect(client.http.maxConcurrentStreams == 7)
    }

    @Test("stream-collapse leaves one stream after a rejection, until the next success; 410 does not count")
    func streamCollapse() throws {
        arm(.streamCollapse)
        let client = connect()
        fixture.topic().withLedger { $0.set(2, .uninstalled, now: APIFixture.now) }
        #expect(try client.reply(fixture.request(2))?.status == 410)
        #expect(client.http.maxConcurrentStreams == 1000)
        var bad = fixture.request()
        bad.path = "/3/device/00"
        _ = try client.reply(bad)
        #expect(client.http.maxConcurrentStreams == 1)
        _ = try client.reply(fixture.request())
        #expect(client.http.maxConcurrentStreams == 1000 && strikes == [.streamCollapse: 1])
    }

    @Test("window-size keeps the windows small, so that bodies come in pieces")
    func windowSize() throws {
        arm(.windowSize(bytes: 100))
        let client = connect()
        #expect(client.http.remoteWindowBytes == 65_535)
        var large = fixture.request()
        large.body = [UInt8](repeating: 0x20, count: 4000)
        let tag = try client.open(large)
        #expect(client.http.stalledBodyBytes == 3900, "a stream's window")
        client.pump()
        #expect(client.replies[tag]?.status == 200)
        clear(.windowSize)
        client.session.faultsChanged()
        client.pump()
        try client.open(large)
        #expect(client.http.stalledBodyBytes == 0)
    }

    @Test("window-stall keeps windows back until it is cleared")
    func windowStall() throws {
        arm(.windowStall)
        let client = connect()
        var large = fixture.request()
        large.body = [UInt8](repeating: 0x20, count: 4000)
        let tags = try (0..<20).map { _ in try client.open(large) }
        client.pump()
        #expect(client.replies.count == 16 && client.http.stalledBodyBytes > 0)
        clear(.windowStall)
        client.session.faultsChanged()
        client.pump()
        #expect(statuses(tags, client) == [Int?](repeating: 200, count: 20))
    }

    // MARK: Provider tokens

    @Test("token-clock lets good provider tokens expire, on connections for them only")
    func tokenClock() throws {
        let call = fixture.request(authorization: try fixture.key.token())
        fixture.service.withDoor { $0.arm(Fault(.tokenClock(seconds: 3601))) }
        #expect(try fixture.connect().reply(call)?.reason == "ExpiredProviderToken")
        #expect(try connect().reply(call)?.status == 200)
        #expect(fixture.service.withDoor { $0.strikes } == [.tokenClock: 1])
        fixture.service.withDoor { $0.clear(.tokenClock) }
        #expect(try fixture.connect().reply(call)?.status == 200)
    }
}
