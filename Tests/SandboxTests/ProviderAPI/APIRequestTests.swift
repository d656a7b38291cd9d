import APNsProtocol
import Testing

@testable import Sandbox

/// Requests to the provider API: what is accepted, what is refused and why, and what is answered.
struct APIRequestTests {
    private let fixture: APIFixture
    private let token: String

    init() throws {
        fixture = try APIFixture()
        token = try fixture.key.token()
    }

    @Test("A request in order is accepted, and its id comes back as it was written")
    func accepted() throws {
        let client = fixture.connect(APIFixture.certificate())
        for id in ["123e4567-e89b-42d3-a456-426614174000", "123E4567-E89B-42D3-A456-426614174001"] {
            let reply = try #require(try client.reply(fixture.request().with(["apns-id": id])))
            #expect(reply.status == 200 && reply.body.isEmpty)
            #expect(reply.fields["apns-id"] == id)
        }
        #expect(fixture.accepted(1) == [1, 1])
        #expect(fixture.rejected() == [:])
    }

    @Test("A request without an id gets one, in upper case; in development a second one tells it apart")
    func newID() throws {
        let client = fixture.connect(APIFixture.certificate())
        var seen: Set<String> = []
        for _ in 0..<3 {
            let reply = try #require(try client.reply(fixture.request()))
            for name in ["apns-id", "apns-unique-id"] {
                let id = try #require(reply.fields[name])
                #expect(NotificationID(id)?.text(isUpperCase: true) == id)
                seen.insert(id)
            }
        }
        #expect(seen.count == 6)
        let refused = try #require(try client.reply(fixture.request().with(["apns-id": "no id"])))
        #expect(refused.reason == "BadMessageId" && NotificationID(refused.fields["apns-id"] ?? "") != nil)

        let production = try APIFixture(environment: .production)
        let certificate = APIFixture.certificate(environments: .production)
        let reply = try #require(try production.connect(certificate).reply(production.request()))
        #expect(reply.status == 200 && reply.fields.keys.sorted() == ["apns-id"])
    }

    @Test(
        "What is wrong with a request has its reason, by certificate and by provider token, and is counted",
        arguments: [true, false],
        [
            (["method": "GET"], 405, "MethodNotAllowed"), (["path": "/3/devices/"], 404, "BadPath"),
            (["path": "/3/device/"], 400, "MissingDeviceToken"), (["path": "/3/device/0g"], 400, "BadDeviceToken"),
            (["path": "/3/device/" + String(repeating: "0", count: 64)], 400, "BadDeviceToken"),
            (["twice": "apns-id"], 400, "DuplicateHeaders"), (["apns-id": "1"], 400, "BadMessageId"),
            (["apns-topic": "a b"], 400, "BadTopic"), (["apns-topic": "com.example.other"], 400, "TopicDisallowed"),
            (["apns-push-type": "loud"], 400, "InvalidPushType"), (["apns-priority": "7"], 400, "BadPriority"),
            (["apns-expiration": "soon"], 400, "BadExpirationDate"),
            (["apns-collapse-id": String(repeating: "a", count: 65)], 400, "BadCollapseId"),
            (["body": "0"], 400, "PayloadEmpty"), (["body": "4097"], 413, "PayloadTooLarge"),
        ] as [([String: String], Int, String)]
    )
    func refused(byCertificate: Bool, wrong: ([String: String], Int, String)) throws {
        let client = fixture.connect(byCertificate ? APIFixture.certificate() : nil)
        var call = fixture.request(authorization: byCertificate ? nil : token).with(["apns-id": Self.id])
        for (name, value) in wrong.0 {
            switch name {
            case "method": call.method = value
            case "path": call.path = value
            case "twice": call.twice = [value]
            case "body": call.body = [UInt8](repeating: 0x20, count: Int(value) ?? 0)
            default: call.headers[name] = value
            }
        }
        let reply = try #require(try client.reply(call))
        #expect(reply.status == wrong.1 && reply.reason == wrong.2)
        #expect(reply.fields["content-type"] == "application/json" && reply.timestampMilliseconds == nil)
        #expect((reply.fields["apns-id"] == Self.id) == (wrong.0["apns-id"] == nil))
        // A request that names no topic of the service counts for none.
        let isNamed = wrong.0["apns-topic"] == nil
        #expect(fixture.rejected(isNamed ? APIFixture.news : nil) == ["\(wrong.1) \(wrong.2)": 1])
        #expect(fixture.accepted(1).isEmpty)
    }

    private static let id = "123e4567-e89b-42d3-a456-426614174000"

    @Test("The service looks at the method, then at the provider, then at path and device, and then at the rest")
    func order() throws {
        let client = fixture.connect()
        var call = APICall(method: "GET", path: "/", headers: ["apns-id": "1"], body: [])
        let steps: [(String, (inout APICall) -> Void)] = [
            ("MethodNotAllowed", { $0.method = "POST" }),
            ("MissingProviderToken", { $0.headers["authorization"] = token }), ("BadPath", { $0.path = "/3/device/" }),
            ("MissingDeviceToken", { $0.path = "/3/device/00" }),
            ("BadDeviceToken", { [fixture] in $0.path = fixture.request(2, topic: APIFixture.mail).path }),
            ("BadMessageId", { $0.headers["apns-id"] = nil }),
            ("MissingTopic", { $0.headers["apns-topic"] = APIFixture.news }), ("PayloadEmpty", { $0.body = [0x7b] }),
            ("DeviceTokenNotForTopic", { $0.headers["apns-topic"] = APIFixture.mail }),
        ]
        for (reason, mend) in steps {
            #expect(try client.reply(call)?.reason == reason)
            mend(&call)
        }
        #expect(try client.reply(call)?.status == 200)
        #expect(fixture.accepted(2, topic: APIFixture.mail).count == 1)
        let nobodys = [
            "405 MethodNotAllowed", "403 MissingProviderToken", "404 BadPath", "400 MissingDeviceToken",
            "400 BadDeviceToken", "400 BadMessageId", "400 MissingTopic",
        ]
        #expect(fixture.rejected(nil) == Dictionary(uniqueKeysWithValues: nobodys.map { ($0, 1) }))
        #expect(fixture.rejected() == ["400 PayloadEmpty": 1, "400 DeviceTokenNotForTopic": 1])
    }

    @Test(
        "Each push type goes with the topic of its suffix and brings its limit of the payload",
        arguments: PushType.allCases
    )
    func payloadLimits(type: PushType) throws {
        let client = fixture.connect()
        let changes = ["apns-push-type": type.rawValue, "apns-priority": "5"]
        var call = fixture.request(authorization: token).with(changes)
        call.headers["apns-topic"] = type.topic(bundle: APIFixture.news)
        let limit = type == .voip ? 5120 : 4096
        for (bytes, status) in [(limit, 200), (limit + 1, 413), (100_000, 413), (limit, 200)] {
            call.body = [UInt8](repeating: 0x20, count: bytes)
            #expect(try client.reply(call)?.status == status)
        }
        #expect(fixture.accepted(1).count == 2)
        // Nothing else of the app is meant by the suffix of another type.
        call.headers["apns-topic"] = type.topicSuffix.isEmpty ? APIFixture.news + ".voip" : APIFixture.news
        call.body = Array("{}".utf8)
        #expect(try client.reply(call)?.reason == "InvalidPushType")
    }

    @Test("A payload is not judged by its push type: the service answers 200, with aps or without")
    func payloads() throws {
        let client = fixture.connect(APIFixture.certificate())
        for (type, body) in [("mdm", #"{"mdm":"x"}"#), ("mdm", #"{"aps":{}}"#), ("background", "{}"), ("alert", "{}")] {
            var call = fixture.request().with(["apns-push-type": type, "apns-priority": "5"])
            call.body = Array(body.utf8)
            #expect(try client.reply(call)?.status == 200)
        }
    }

    @Test("A background notification has priority 5, others have the priorities that the service knows")
    func priorities() throws {
        let client = fixture.connect(APIFixture.certificate())
        for (type, priority, isAllowed) in [
            ("background", "10", false), ("background", "5", true), ("background", "1", false), ("alert", "1", false),
            ("alert", "5", true), ("alert", "10", true), ("mdm", "1", true),
        ] {
            let call = fixture.request().with(["apns-push-type": type, "apns-priority": priority])
            #expect(try client.reply(call)?.reason == (isAllowed ? nil : "BadPriority"))
        }
    }

    @Test("An app that is missing is answered with 410 and the time in milliseconds, and not put on the feedback list")
    func unregistered() throws {
        let client = fixture.connect(APIFixture.certificate())
        let call = fixture.request()
        fixture.topic().withLedger { $0.set(1, .uninstalled, now: APIFixture.now) }
        client.now += 5
        let reply = try #require(try client.reply(call))
        #expect(reply.status == 410 && reply.reason == "Unregistered")
        #expect(reply.timestampMilliseconds == Int64(APIFixture.now + 5) * 1000)
        fixture.topic().withLedger { #expect($0.feedback.count == 0 && $0.counters.accepted == 0) }

        fixture.topic().withLedger { $0.set(1, .online, now: APIFixture.now) }
        #expect(try client.reply(call)?.status == 200)
    }

    @Test("A token that was replaced has expired, one of a device that is gone is none")
    func deadTokens() throws {
        let client = fixture.connect(APIFixture.certificate())
        let call = fixture.request()
        fixture.topic().withLedger { _ = $0.renew(1, now: APIFixture.now) }
        let reply = try #require(try client.reply(call))
        #expect(reply.status == 410 && reply.reason == "ExpiredToken" && reply.timestampMilliseconds != nil)
        #expect(try client.reply(fixture.request())?.status == 200)
        fixture.topic().withLedger { $0.set(1, .removed, now: APIFixture.now) }
        #expect(try client.reply(call)?.reason == "BadDeviceToken")
        // A token names its environment, and the service its devices.
        let mint = TokenMint(key: TopicFixture.key, environment: .production, topic: APIFixture.news)
        for token in [
            mint.token(of: AppInstance(device: 1)),
            fixture.service.mint(for: fixture.topic()).token(of: AppInstance(device: 100)),
        ] {
            var call = call
            call.path = ProviderPath.text(token: token)
            #expect(try client.reply(call)?.reason == "BadDeviceToken")
        }
        #expect(fixture.rejected() == ["410 ExpiredToken": 1, "400 BadDeviceToken": 3])
    }

    @Test("Requests of one chunk are answered in their order, whichever topics they are for")
    func batch() throws {
        let client = fixture.connect()
        #expect(try client.reply(fixture.request(authorization: token))?.status == 200)
        var tags: [UInt64] = []
        for n in 0..<60 {
            let topic = n % 5 < 3 ? APIFixture.news : APIFixture.mail
            var call = fixture.request(3, topic: topic, authorization: token, n: n)
            if n % 7 == 0 { call.path = "/3/device/00" }
            tags.append(try client.open(call))
        }
        client.pump()
        #expect(client.order.dropFirst() == tags[...])
        for (n, tag) in tags.enumerated() { #expect(client.replies[tag]?.status == (n % 7 == 0 ? 400 : 200)) }
        let good = (0..<60).filter { $0 % 7 != 0 }
        #expect(fixture.accepted(3) == good.filter { $0 % 5 < 3 }.map(UInt32.init))
        #expect(fixture.accepted(3, topic: APIFixture.mail) == good.filter { $0 % 5 >= 3 }.map(UInt32.init))
    }
}
