import APNsProtocol
import HTTP2Transport
import NIOCore
import TLSTransport
import Testing

@testable import Sandbox

/// Connections to the provider API: certificates, provider tokens, streams and the first bytes.
struct APIConnectionTests {
    private let fixture: APIFixture

    init() throws {
        fixture = try APIFixture()
    }

    private func reason(_ client: APIClient, _ call: APICall) throws -> String? {
        try #require(try client.reply(call)).reason
    }

    // MARK: Certificates

    @Test("A certificate reaches its bundle ID and the topics of it that it names, whatever token comes along")
    func certificateTopics() throws {
        let topics = [APIFixture.news, APIFixture.news + ".voip", APIFixture.mail, APIFixture.mail + ".voip"]
        let client = fixture.connect(APIFixture.certificate(topics: topics))
        let call = fixture.request()
        for (topic, reason) in [
            (nil, nil), (APIFixture.news, nil), (APIFixture.news + ".voip", nil),
            (APIFixture.news + ".complication", "TopicDisallowed"), (APIFixture.mail, "TopicDisallowed"),
            (APIFixture.mail + ".voip", "TopicDisallowed"),
        ] as [(String?, String?)] {
            let changed = call.with(["apns-topic": topic, "authorization": "bearer nonsense"])
            #expect(try self.reason(client, changed) == reason)
        }
        let location = call.with(["apns-topic": APIFixture.news + ".location-query", "apns-push-type": "location"])
        #expect(try reason(client, location) == "TopicDisallowed")
    }

    @Test("A push type that needs a provider token is refused over a certificate, even one that names its topic")
    func needsProviderToken() throws {
        let topics = PushType.allCases.map { $0.topic(bundle: APIFixture.news) }
        let client = fixture.connect(APIFixture.certificate(topics: topics))
        let (byToken, token) = (fixture.connect(), try fixture.key.token())
        for type in PushType.allCases {
            let changes = ["apns-topic": type.topic(bundle: APIFixture.news), "apns-priority": "5"]
            for name in [type.rawValue, nil] {
                // Not named, it follows from the topic.
                let changed = changes.merging(name.map { ["apns-push-type": $0] } ?? [:]) { _, new in new }
                let refusal = type.needsProviderToken ? "TopicDisallowed" : nil
                #expect(try reason(client, fixture.request().with(changed)) == refusal, "\(type)")
                let call = fixture.request(authorization: token).with(changed)
                #expect(try reason(byToken, call) == nil, "\(type)")
            }
        }
    }

    @Test("A certificate of VoIP Services is one of its app, and sends VoIP pushes alone")
    func voipServices() throws {
        var certificate = APIFixture.certificate(APIFixture.news + ".voip")
        certificate.commonName = "VoIP Services: " + APIFixture.news
        let client = fixture.connect(certificate)
        for (topic, reason) in [
            (APIFixture.news + ".voip", nil), (nil, nil), (APIFixture.news, "TopicDisallowed"),
            (APIFixture.mail + ".voip", "TopicDisallowed"),
        ] as [(String?, String?)] {
            #expect(try self.reason(client, fixture.request().with(["apns-topic": topic])) == reason)
        }
        #expect(fixture.accepted(1).count == 2)
        // An app of its own, which is not served.
        certificate.commonName = "Apple Push Services: " + APIFixture.news + ".voip"
        #expect(try reason(fixture.connect(certificate), fixture.request()) == "BadCertificate")
    }

    @Test(
        "A client with a certificate of a topic that is not served, or of none, is not served",
        arguments: ["com.example.x", nil]
    )
    func foreignCertificate(bundle: String?) throws {
        let client = fixture.connect(APIFixture.certificate(bundle))
        let reply = try #require(try client.reply(fixture.request(authorization: fixture.key.token())))
        #expect(reply.status == 403 && reply.reason == "BadCertificate")
    }

    @Test("A certificate of the other environment gets no answer but GOAWAY with the reason, after SETTINGS")
    func environment() throws {
        let client = fixture.connect(APIFixture.certificate(environments: .production))
        let goAway = try #require(client.goAways.first)
        #expect(goAway.last == 0 && goAway.code == .noError)
        #expect(goAway.debugData == #"{"reason":"BadCertificateEnvironment"}"#)
        #expect(!client.http.acceptsStreams && client.session.outlook == .finished && client.session.failure == nil)
    }

    // MARK: Provider tokens

    @Test("A token of the team reaches all its topics, one of a key for a topic only that one")
    func reach() throws {
        let client = fixture.connect()
        let (team, news) = (try fixture.key.token(), try fixture.newsKey.token())
        #expect(try reason(client, fixture.request(authorization: team)) == nil)
        #expect(try reason(client, fixture.request(topic: APIFixture.mail, authorization: team)) == nil)
        let location = fixture.request(authorization: team)
            .with(["apns-topic": APIFixture.news + ".location-query", "apns-push-type": "location"])
        #expect(try reason(client, location) == nil)

        let other = fixture.connect()
        #expect(try reason(other, fixture.request(authorization: news)) == nil)
        #expect(try reason(other, fixture.request(topic: APIFixture.mail, authorization: news)) == "TopicDisallowed")
    }

    @Test("What is wrong with a provider token has its reason")
    func badTokens() throws {
        let now = APIFixture.now
        let good = try fixture.key.token()
        let unknown = try APIFixture.Key(id: "UNKNOWN")
        let impostor = try APIFixture.Key(id: "KEY")
        let cases: [(String?, String?)] = [
            (nil, "MissingProviderToken"), ("", "MissingProviderToken"), ("basic a", "MissingProviderToken"),
            ("bearer x", "InvalidProviderToken"), (try unknown.token(), "InvalidProviderToken"),
            (try impostor.token(), "InvalidProviderToken"), (String(good.dropLast(2)), "InvalidProviderToken"),
            (try fixture.productionKey.token(), "BadEnvironmentKeyIdInToken"),
            (try fixture.key.token(issuedAt: now - 3601), "ExpiredProviderToken"),
            // From a clock that is ahead.
            (try fixture.key.token(issuedAt: now + 61), "ExpiredProviderToken"),
            (try fixture.key.token(issuedAt: now - 3600), nil), (try fixture.key.token(issuedAt: now + 60), nil),
            (good, nil),
        ]
        for (number, (token, reason)) in cases.enumerated() {
            // Too many tokens of one key from one address would be a fault of their own.
            let client = fixture.connect(address: "192.0.2.\(number)")
            let reply = try #require(try client.reply(fixture.request(authorization: token)))
            #expect(reply.status == (reason == nil ? 200 : 403) && reply.reason == reason)
        }
    }

    @Test("A token expires in use; the connection stays of no use, another one takes a new token")
    func expiry() throws {
        let client = fixture.connect()
        let call = fixture.request(authorization: try fixture.key.token())
        #expect(try reason(client, call) == nil)
        client.now += 3600
        #expect(try reason(client, call) == nil)
        client.now += 1
        #expect(try reason(client, call) == "ExpiredProviderToken")
        let renewed = fixture.request(authorization: try fixture.key.token(issuedAt: client.now))
        #expect(try reason(client, renewed) == "ExpiredProviderToken")
        let other = fixture.connect()
        other.now = client.now
        #expect(try reason(other, renewed) == nil)
    }

    @Test("A connection belongs to the team of its first token")
    func teams() throws {
        let client = fixture.connect()
        let call = fixture.request(authorization: try fixture.key.token())
        #expect(try reason(client, call) == nil)
        let foreign = fixture.request(authorization: try fixture.foreignKey.token())
        let reply = try #require(try client.reply(foreign))
        #expect(reply.status == 403 && reply.reason == "UnrelatedKeyIdInToken")
        #expect(try reason(client, call) == nil)
        #expect(try reason(fixture.connect(), foreign) == nil)
    }

    /// Answers a request with a token of the given second, over a connection of its own.
    private func reply(
        issued seconds: UInt32,
        address: String = "192.0.2.1",
        now: UInt32 = APIFixture.now
    ) throws -> APIReply {
        let client = fixture.connect(address: address)
        client.now = now
        let token = try fixture.key.token(issuedAt: APIFixture.now + seconds)
        return try #require(try client.reply(fixture.request(authorization: token)))
    }

    @Test("Tokens that change more than once in 20 minutes are refused, whichever connections show them")
    func updates() throws {
        #expect(try reply(issued: 0).status == 200 && reply(issued: 0).status == 200)
        #expect(try reply(issued: 1).status == 200)
        let refused = try reply(issued: 2)
        #expect(refused.status == 429 && refused.reason == "TooManyProviderTokenUpdates")
        #expect(try reply(issued: 1).status == 200 && reply(issued: 0).status == 200, "those go on")
        #expect(try reply(issued: 2, now: APIFixture.now + 1199).status == 429)
        #expect(try reply(issued: 2, now: APIFixture.now + 1200).status == 200)
    }

    @Test("Tokens are counted by the client's address, and by their key")
    func updatesApart() throws {
        for second in 0..<2 as Range<UInt32> { #expect(try reply(issued: second).status == 200) }
        #expect(try reply(issued: 2).status == 429)
        #expect(try reply(issued: 2, address: "192.0.2.2").status == 200)
        let other = fixture.request(authorization: try fixture.newsKey.token())
        #expect(try reason(fixture.connect(), other) == nil)
    }

    // MARK: Streams

    @Test("With a provider token one stream is open until the first success, with a certificate a thousand at once")
    func streams() throws {
        #expect(fixture.connect(APIFixture.certificate()).http.maxConcurrentStreams == 1000)
        let client = fixture.connect()
        #expect(client.http.maxConcurrentStreams == 1)
        let token = try fixture.key.token()
        // Neither a refusal of the token nor one of the notification proves anything.
        _ = try client.reply(fixture.request())
        _ = try client.reply(fixture.request(authorization: token).with(["apns-priority": "7"]))
        #expect(client.http.maxConcurrentStreams == 1)
        try client.open(fixture.request(authorization: token))
        #expect(throws: HTTP2OpenRefusal.noStreamLeft) { try client.open(fixture.request(authorization: token)) }
        client.pump()
        #expect(client.http.maxConcurrentStreams == 1000)
    }

    // MARK: The first bytes

    @Test("A client without ALPN may speak HTTP/2, however its first bytes are cut")
    func priorKnowledge() throws {
        let client = fixture.connect(APIFixture.certificate(), isHTTP2: false)
        #expect(try client.reply(fixture.request())?.status == 200)

        let session = APISession(service: fixture.service, certificate: nil, keys: [], isHTTP2: false, seed: 1)
        let time = APISession.Time(clock: .uptimeNanoseconds(1), unixSeconds: APIFixture.now)
        var output = ByteBuffer()
        for (index, byte) in "PRI * HTTP/2.0".utf8.enumerated() {
            session.receive(ByteBuffer(bytes: [byte]), now: time)
            session.takeOutput(into: &output)
            #expect((output.readableBytes > 0) == (index >= 3), "nothing is said before it is clear")
        }
        #expect(session.failure == nil)
    }

    @Test(
        "A client that speaks HTTP/1.1 is told so in HTTP/1.1 and nothing else",
        arguments: ["GET / HTTP/1.1\r\n\r\n", "POST /3/device/00 HTTP/1.1\r\n\r\n", "P", "PR"]
    )
    func http1(request: String) throws {
        let session = APISession(service: fixture.service, certificate: nil, keys: [], isHTTP2: false, seed: 1)
        let time = APISession.Time(clock: .uptimeNanoseconds(1), unixSeconds: APIFixture.now)
        session.receive(ByteBuffer(string: request), now: time)
        session.receive(ByteBuffer(string: "OST /3"), now: time)
        var output = ByteBuffer()
        session.takeOutput(into: &output)
        let answer = String(buffer: output)
        #expect(answer.hasPrefix("HTTP/1.1 505 ") && answer.contains("speaks HTTP/2"))
        let length = answer.split(separator: "\r\n").first { $0.hasPrefix("content-length: ") }.map { $0.dropFirst(16) }
        let body = try #require(answer.firstRange(of: "\r\n\r\n")).upperBound
        #expect(length == "\(answer[body...].utf8.count)")
        #expect(session.outlook == .finished)
        var more = ByteBuffer()
        session.takeOutput(into: &more)
        #expect(more.readableBytes == 0)
    }

    @Test("Bytes that are no HTTP/2 after both sides agreed on it end the connection without a word")
    func agreed() throws {
        let session = APISession(service: fixture.service, certificate: nil, keys: [], isHTTP2: true, seed: 1)
        var output = ByteBuffer()
        session.takeOutput(into: &output)
        #expect(output.readableBytes > 0)
        output.clear()
        let time = APISession.Time(clock: .uptimeNanoseconds(1), unixSeconds: APIFixture.now)
        session.receive(ByteBuffer(string: "GET / HTTP/1.1\r\n\r\n"), now: time)
        session.takeOutput(into: &output)
        #expect(output.readableBytes == 0 && session.outlook == .finished && session.failure != nil)
    }
}
