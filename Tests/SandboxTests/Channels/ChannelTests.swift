import APNsProtocol
import Foundation
import PageParts
import TestSupport
import Testing

@testable import Sandbox

/// Channels and broadcasts of the provider API.
struct ChannelTests {
    private static let id = "123e4567-e89b-42d3-a456-426614174000"
    private let fixture: APIFixture
    private let client: APIClient

    init() throws {
        fixture = try APIFixture()
        client = fixture.connect(APIFixture.certificate())
    }

    private func management(
        _ method: String,
        channel: String? = nil,
        path: BroadcastPath = .channels(bundle: APIFixture.news),
        body: String = ""
    ) -> APICall {
        APICall(
            method: method,
            path: path.text,
            headers: channel.map { ["apns-channel-id": $0] } ?? [:],
            body: Array(body.utf8)
        )
    }

    private func creation(policy: Int = 0) -> APICall {
        management("POST", body: #"{"message-storage-policy":\#(policy),"push-type":"LiveActivity"}"#)
    }

    private func create(policy: Int = 0) throws -> String {
        try #require(try client.reply(creation(policy: policy))?.fields["apns-channel-id"])
    }

    private func broadcast(to channel: String, n: Int = 1, authorization: String? = nil) -> APICall {
        let headers = [
            "apns-channel-id": channel, "apns-push-type": "liveactivity", "apns-priority": "10",
            "apns-expiration": "0", "apns-request-id": Self.id, "authorization": authorization,
        ]
        return APICall(
            path: BroadcastPath.broadcast(bundle: APIFixture.news).text,
            headers: headers.compactMapValues { $0 },
            body: Frame.payload(n: n)
        )
    }

    private func subscribe(_ devices: Range<UInt32>, to channel: String) {
        let isDone = fixture.topic().withLedger { $0.channels.setSubscribed(true, devices, to: channel) }
        #expect(isDone)
    }

    private var counters: ChannelList.Counters { fixture.topic().withLedger { $0.channels.counters } }

    // MARK: Management

    @Test("A channel is created under a random id, can be read, is listed, and is gone when it was deleted")
    func life() throws {
        let created = try #require(try client.reply(creation(policy: 1).with(["apns-request-id": Self.id])))
        #expect(created.status == 201 && created.body.isEmpty)
        #expect(created.fields["apns-request-id"] == Self.id && created.fields["apns-id"] == nil)
        let channel = try #require(created.fields["apns-channel-id"])
        #expect(ChannelID.isValid(channel))
        let other = try create()
        #expect(other != channel)

        let read = try client.reply(management("GET", channel: channel))
        #expect(read?.status == 200)
        #expect(read?.body == #"{"message-storage-policy":1,"push-type":"LiveActivity"}"#)
        let list = management("GET", path: .allChannels(bundle: APIFixture.news))
        let ids = [channel, other].sorted().map { "\"\($0)\"" }.joined(separator: ",")
        #expect(try client.reply(list)?.body == #"{"channels":[\#(ids)]}"#)

        #expect(try client.reply(management("DELETE", channel: channel))?.status == 204)
        #expect(try client.reply(management("GET", channel: channel))?.reason == "ChannelNotRegistered")
        #expect(try client.reply(management("DELETE", channel: channel))?.reason == "ChannelNotRegistered")
        #expect(try client.reply(broadcast(to: channel))?.reason == "ChannelNotRegistered")
        #expect(try client.reply(list)?.body == #"{"channels":["\#(other)"]}"#)
        #expect(fixture.rejected() == ["400 ChannelNotRegistered": 3])
    }

    @Test("An app has 10,000 channels at most")
    func most() throws {
        var random = SeededGenerator(seed: 1)
        for _ in 0..<SandboxLimits.channels {
            let id = fixture.topic().withLedger { $0.channels.create(storesMessages: false, random: &random) }
            #expect(id != nil)
        }
        let reply = try client.reply(creation())
        #expect(reply?.status == 400 && reply?.reason == "CannotCreateChannelConfig")
    }

    @Test(
        "What is wrong with a request to create has its reason",
        arguments: [
            ("", "BadRequestPayload"), ("[]", "BadRequestPayload"),
            (#"{"push-type":"LiveActivity"}"#, "BadRequestPayload"),
            (#"{"message-storage-policy":2,"push-type":"LiveActivity"}"#, "BadRequestPayload"),
            (#"{"message-storage-policy":"1","push-type":"LiveActivity"}"#, "BadRequestPayload"),
            (#"{"message-storage-policy":1}"#, "MissingPushType"),
            (#"{"message-storage-policy":1,"push-type":"alert"}"#, "InvalidPushType"),
        ]
    )
    func wrongCreation(body: String, reason: String) throws {
        let reply = try client.reply(management("POST", body: body))
        #expect(reply?.status == 400 && reply?.reason == reason)
        #expect(fixture.rejected() == ["400 \(reason)": 1])
        #expect(fixture.topic().withLedger { $0.channels.count } == 0)
    }

    @Test("Channels have their methods")
    func methods() throws {
        let calls = [
            management("PUT"), management("POST", path: .allChannels(bundle: APIFixture.news)),
            management("GET", path: .broadcast(bundle: APIFixture.news)),
        ]
        for call in calls {
            let reply = try client.reply(call)
            #expect(reply?.status == 405 && reply?.reason == "MethodNotAllowed")
        }
    }

    @Test("Channels of an app are for its own providers, by certificate or provider token")
    func providers() throws {
        let list = management("GET", path: .allChannels(bundle: APIFixture.mail))
        #expect(try client.reply(list)?.reason == "TopicMismatch")
        for bundle in ["com.example.other", APIFixture.news + ".push-type.liveactivity"] {
            let reply = try client.reply(management("GET", path: .allChannels(bundle: bundle)))
            #expect(reply?.status == 403 && reply?.reason == "TopicMismatch")
        }
        let byToken = fixture.connect()
        #expect(try byToken.reply(list)?.reason == "MissingProviderToken")
        let newsToken = try fixture.newsKey.token()
        #expect(try byToken.reply(list.with(["authorization": newsToken]))?.reason == "TopicMismatch")
        let news = management("GET", path: .allChannels(bundle: APIFixture.news))
        #expect(try byToken.reply(news.with(["authorization": newsToken]))?.status == 200)
    }

    // MARK: Broadcasts

    @Test("A broadcast reaches the subscribers that are online, and stands in books of its own")
    func delivery() throws {
        let channel = try create()
        subscribe(0..<10, to: channel)
        fixture.topic().withLedger { ledger in
            for device in 0..<3 { ledger.set(device, .offline, now: APIFixture.now) }
        }
        let reply = try #require(try client.reply(broadcast(to: channel, n: 7)))
        #expect(reply.status == 200 && reply.body.isEmpty)
        #expect(reply.fields["apns-request-id"] == Self.id)
        #expect(NotificationID(reply.fields["apns-unique-id"] ?? "") != nil)
        #expect(counters == ChannelList.Counters(accepted: 1, delivered: 7, missed: 3))
        #expect(fixture.topic().withLedger { $0.counters.accepted } == 0)
        #expect(fixture.topic().withLedger { $0.channels[channel]?.marks } == [7])
    }

    @Test("A provider token broadcasts, too")
    func byToken() throws {
        let channel = try create()
        let reply = try fixture.connect().reply(broadcast(to: channel, authorization: fixture.key.token()))
        #expect(reply?.status == 200)
    }

    @Test("Broadcasts and requests to devices share a connection")
    func sharedConnection() throws {
        let channel = try create()
        for n in 1...3 {
            #expect(try client.reply(broadcast(to: channel, n: n))?.status == 200)
            #expect(try client.reply(fixture.request(n: n))?.status == 200)
        }
        #expect(fixture.topic().withLedger { $0.channels[channel]?.marks } == [1, 2, 3])
        #expect(fixture.accepted(1) == [1, 2, 3])
    }

    @Test(
        "What is wrong with a broadcast has its reason, and is counted",
        arguments: [
            (["apns-channel-id": nil], 400, "MissingChannelId"), (["apns-channel-id": "x"], 400, "BadChannelId"),
            (["apns-channel-id": "AAAA"], 400, "ChannelNotRegistered"),
            (["apns-push-type": nil], 400, "MissingPushType"), (["apns-push-type": "alert"], 400, "InvalidPushType"),
            (["apns-priority": nil], 400, "BadRequestParams"), (["apns-priority": "7"], 400, "BadPriority"),
            (["apns-expiration": nil], 400, "BadRequestParams"),
            (["apns-expiration": "soon"], 400, "BadExpirationDate"),
            (["apns-expiration": "9999999999"], 400, "BadExpirationDate"),
            (["apns-request-id": "1"], 400, "BadMessageId"),
        ] as [([String: String?], Int, String)]
    )
    func wrongBroadcast(changes: [String: String?], status: Int, reason: String) throws {
        let reply = try client.reply(broadcast(to: create()).with(changes))
        #expect(reply?.status == status && reply?.reason == reason)
        #expect(fixture.rejected() == ["\(status) \(reason)": 1])
        #expect(counters.accepted == 0)
    }

    @Test("A broadcast has 1 to 5120 bytes of payload")
    func payloads() throws {
        let channel = try create()
        let cases: [(Int, String?)] = [(0, "PayloadEmpty"), (1, nil), (5120, nil), (5121, "PayloadTooLarge")]
        for (bytes, reason) in cases {
            var call = broadcast(to: channel)
            call.body = [UInt8](repeating: 0x20, count: bytes)
            #expect(try client.reply(call)?.reason == reason)
        }
        #expect(counters.accepted == 2)
    }

    // MARK: Storage

    /// A broadcast that may be stored for so many seconds.
    private func keep(_ channel: String, n: Int, seconds: UInt32 = 60) throws {
        let call = broadcast(to: channel, n: n).with(["apns-expiration": "\(APIFixture.now + seconds)"])
        #expect(try client.reply(call)?.status == 200)
    }

    private func set(_ device: Int, _ state: DevicePopulation.Reachability, after seconds: UInt32 = 0) {
        fixture.topic().withLedger { $0.set(device, state, now: APIFixture.now + seconds) }
    }

    @Test("A channel that stores messages keeps the most recent one for devices that are offline")
    func mostRecent() throws {
        let channel = try create(policy: 1)
        subscribe(0..<3, to: channel)
        set(0, .offline)
        set(1, .uninstalled)
        try keep(channel, n: 1)
        #expect(counters == ChannelList.Counters(accepted: 1, delivered: 1, stored: 1, missed: 1))
        try keep(channel, n: 2)
        #expect(counters == ChannelList.Counters(accepted: 2, delivered: 2, stored: 1, missed: 3))

        let topic = fixture.topic()
        let instance = topic.withLedger { $0.population.instance(0) }
        let presentation = topic.withLedger { $0.present(instance, connection: 1, now: APIFixture.now) }
        #expect(presentation == .online)
        let parcel = topic.withLedger { $0.outbox.takeParcel(0, connection: 1, limit: 9) }
        #expect(parcel.deliveries.map(\.payload) == [Frame.payload(n: 2)])
        #expect(parcel.deliveries.map(\.pushType) == [.liveactivity])
        #expect(counters == ChannelList.Counters(accepted: 2, delivered: 3, stored: 0, missed: 3))
        set(0, .offline)
        set(0, .online)
        #expect(counters.delivered == 3, "each device gets it once")
    }

    @Test("A stored broadcast ends with its expiration, the app, the subscription or the channel")
    func storedInVain() throws {
        let channel = try create(policy: 1)
        subscribe(0..<4, to: channel)
        for device in 0..<4 { set(device, .offline) }
        try keep(channel, n: 1)
        #expect(counters == ChannelList.Counters(accepted: 1, delivered: 0, stored: 4, missed: 0))
        set(0, .online, after: 60)
        set(1, .uninstalled)
        let isEnded = fixture.topic().withLedger { $0.channels.setSubscribed(false, 2..<3, to: channel) }
        #expect(isEnded && counters == ChannelList.Counters(accepted: 1, delivered: 0, stored: 1, missed: 3))
        #expect(try client.reply(management("DELETE", channel: channel))?.status == 204)
        #expect(counters == ChannelList.Counters(accepted: 1, delivered: 0, stored: 0, missed: 4))
        set(3, .online)
        #expect(counters.delivered == 0)
    }

    @Test("A broadcast that may not be stored leaves the one that is stored in its place")
    func notToBeStored() throws {
        let channel = try create(policy: 1)
        subscribe(0..<1, to: channel)
        set(0, .offline)
        try keep(channel, n: 1)
        #expect(try client.reply(broadcast(to: channel, n: 2))?.status == 200)
        #expect(counters == ChannelList.Counters(accepted: 2, delivered: 0, stored: 1, missed: 1))
        fixture.topic().withLedger { _ = $0.renew(0, now: APIFixture.now) }
        #expect(counters.delivered == 1 && counters.stored == 0, "a new token does not matter")
    }

    @Test("A stored broadcast that a device does not take waits for it again")
    func untakenAgain() throws {
        let channel = try create(policy: 1)
        subscribe(0..<1, to: channel)
        let topic = fixture.topic()
        let instance = topic.withLedger { $0.population.instance(0) }
        _ = topic.withLedger { $0.present(instance, connection: 1, now: APIFixture.now) }
        try keep(channel, n: 1)
        try keep(channel, n: 2)
        topic.withLedger { $0.leave(0, connection: 1, now: APIFixture.now) }
        #expect(counters == ChannelList.Counters(accepted: 2, delivered: 0, stored: 1, missed: 1))
        set(0, .online)
        #expect(counters == ChannelList.Counters(accepted: 2, delivered: 1, stored: 0, missed: 1))
    }

    @Test("An answer that is held back is the same")
    func heldAnswer() throws {
        let channel = try create()
        fixture.topic().changeFaults { $0.arm(Fault(.answerDelay(milliseconds: 10))) }
        let tag = try client.open(broadcast(to: channel))
        client.pump()
        #expect(client.replies[tag] == nil)
        client.advance(milliseconds: 10)
        #expect(client.replies[tag]?.fields["apns-request-id"] == Self.id)
    }

    @Test("Faults of requests strike broadcasts, but those that name tokens")
    func faults() throws {
        let channel = try create()
        let error = Fault.RequestError(status: 400, reason: .featureNotEnabled, selection: .every(1))
        fixture.topic().changeFaults { $0.arm(Fault(.requestError(error))) }
        #expect(try client.reply(broadcast(to: channel))?.reason == "FeatureNotEnabled")
        #expect(counters.accepted == 0)
    }

    // MARK: Subscriptions

    @Test("The control port subscribes devices, and shows the channels")
    func control() throws {
        let api = ControlAPI(service: fixture.service)
        let channel = try create()
        func post(_ changes: String, channel: String) -> ControlAPI.Response {
            let body = #"{"topic":"\#(APIFixture.news)","channel":"\#(channel)",\#(changes)}"#
            return api.respond(method: "POST", path: "/subscriptions", body: Array(body.utf8))
        }
        #expect(post(#""first":0,"count":10"#, channel: channel).body == Array(#"{"subscribers":10}"#.utf8))
        let fewer = post(#""first":5,"count":10,"subscribed":false"#, channel: channel)
        #expect(fewer.body == Array(#"{"subscribers":5}"#.utf8))
        #expect(post(#""first":0,"count":1"#, channel: "AAAA").status == 400)
        #expect(post(#""first":99,"count":2"#, channel: channel).status == 400)
        _ = try client.reply(broadcast(to: channel, n: 3))
        let answer = api.respond(method: "GET", path: "/channels", query: "topic=\(APIFixture.news)", body: [])
        let expected =
            #"[{"accepted":1,"channel":"\#(channel)","marks":[3],"storagePolicy":0,"subscribers":5,"waiting":0}]"#
        #expect(String(decoding: answer.body, as: UTF8.self) == expected)
        let stats = String(decoding: DocumentJSON.encode(StatsDocument(of: fixture.service)), as: UTF8.self)
        let counts = #""channels":{"accepted":1,"delivered":5,"missed":0,"registered":1,"stored":0,"subscribers":5}"#
        #expect(stats.contains(counts))
    }

    @Test("A channel remembers its last broadcasts, and has a limited number of subscribers")
    func limits() throws {
        var list = ChannelList()
        var random = SeededGenerator(seed: 1)
        let id = try #require(list.create(storesMessages: false, random: &random))
        let message = BroadcastMessage(payload: [], expiration: 0, priority: .immediate)
        for mark in 0..<UInt32(SandboxLimits.channelMarks + 1) {
            _ = list.broadcast(message, mark: mark, to: id, now: APIFixture.now) { _ in .takes }
        }
        #expect(list[id]?.marks.first == 1 && list[id]?.marks.count == SandboxLimits.channelMarks)
        let most = UInt32(SandboxLimits.channelSubscribers)
        let isTaken = list.setSubscribed(true, 0..<most, to: id)
        #expect(isTaken)
        let isMoreTaken = list.setSubscribed(true, most..<most + 1, to: id)
        #expect(!isMoreTaken && list[id]?.subscriberCount == Int(most))
    }

    @Test("A broadcast that a device does not take counts as missed, not as a notification of its own")
    func untaken() throws {
        let channel = try create()
        subscribe(0..<1, to: channel)
        let topic = fixture.topic()
        let instance = topic.withLedger { $0.population.instance(0) }
        _ = topic.withLedger { $0.present(instance, connection: 1, now: APIFixture.now) }
        _ = try client.reply(broadcast(to: channel))
        topic.withLedger { $0.leave(0, connection: 1, now: APIFixture.now) }
        #expect(counters == ChannelList.Counters(accepted: 1, delivered: 0, missed: 1))
        #expect(topic.withLedger { $0.counters } == SandboxTopicCounters())
    }
}
