import APNsProtocol
import HTTP2Transport
import NIOCore

@testable import Sandbox
@testable import TLSTransport

/// A service without sockets for the tests of the provider API, with keys for provider tokens.
final class APIFixture {
    static let news = "com.example.news"
    static let mail = "com.example.mail"
    /// UNIX seconds.
    static let now = TopicFixture.now

    /// A key and the private half that signs.
    struct Key {
        let known: KnownProviderKey
        private let signing: ProviderKey

        init(
            team: String = "TEAM",
            id: String,
            bundles: Set<String> = [news, mail],
            isOfEnvironment: Bool = true
        ) throws {
            signing = try ProviderKey.generate()
            known = KnownProviderKey(
                id: ProviderKeyID(team: team, key: id)!,
                publicKey: try signing.publicKey,
                isOfEnvironment: isOfEnvironment,
                bundles: bundles
            )
        }

        /// The value of `authorization`.
        func token(issuedAt: UInt32 = now) throws -> String {
            let compact = try ProviderToken(key: known.id, issuedAt: Int64(issuedAt))
                .compact { input throws(TLSConfigurationError) in try signing.signature(of: input) }
            return "bearer " + String(decoding: compact, as: UTF8.self)
        }
    }

    let service: PushService
    let key: Key
    /// Of another team.
    let foreignKey: Key
    /// For the news alone.
    let newsKey: Key
    /// Of the other environment.
    let productionKey: Key

    init(environment: PushEnvironment = .development) throws {
        var configuration = SandboxConfiguration(pkiDirectory: "", topics: [Self.news, Self.mail], devices: 100)
        configuration.environment = environment
        configuration.ledger.rememberedPairs = 1000
        configuration.ledger.acceptedEntries = 1000
        service = PushService(configuration: configuration, tokenKey: TopicFixture.key, clock: { Self.now })
        key = try Key(id: "KEY")
        foreignKey = try Key(team: "OTHER", id: "FOREIGN")
        newsKey = try Key(id: "NEWS", bundles: [Self.news])
        productionKey = try Key(id: "PRODUCTION", isOfEnvironment: false)
    }

    static func certificate(
        _ bundle: String? = news,
        topics: [String] = [],
        environments: CertificateInfo.Environments = .development
    ) -> CertificateInfo {
        CertificateInfo(
            topic: bundle,
            topics: topics,
            environments: environments,
            commonName: "",
            serialHex: "",
            notBefore: 0,
            notAfter: 0
        )
    }

    /// A new connection.
    ///
    /// - Parameters:
    ///   - certificate: nil: one for provider tokens.
    ///   - address: the client's.
    func connect(
        _ certificate: CertificateInfo? = nil,
        isHTTP2: Bool = true,
        address: String = "192.0.2.1"
    ) -> APIClient {
        let keys = [key, foreignKey, newsKey, productionKey].map(\.known)
        let session = APISession(
            service: service,
            certificate: certificate,
            keys: keys,
            address: address,
            isHTTP2: isHTTP2,
            seed: 7
        )
        return APIClient(session)
    }

    func topic(_ name: String = news) -> PushService.Topic {
        service.topic(named: name)!
    }

    /// A device's token now, in hexadecimal digits.
    func token(_ device: UInt32, topic name: String = news) -> String {
        let topic = topic(name)
        let instance = topic.withLedger { $0.population.instance(Int(device)) }
        return Hex.encode(service.mint(for: topic).token(of: instance))
    }

    /// A request in order for one device.
    func request(_ device: UInt32 = 1, topic: String = news, authorization: String? = nil, n: Int = 1) -> APICall {
        APICall(
            path: "/3/device/" + token(device, topic: topic),
            headers: ["apns-topic": topic, "authorization": authorization].compactMapValues { $0 },
            body: Frame.payload(n: n)
        )
    }

    /// Marks that a device was accepted for, in order.
    func accepted(_ device: UInt32, topic name: String = news) -> [UInt32] {
        topic(name).withLedger { $0.log.entries(device: device, generation: nil).map(\.mark) }
    }

    /// Refusals in the books of a topic; nil: those that belong to none.
    func rejected(_ name: String? = news) -> [String: Int] {
        guard let name else { return service.refusalsWithoutTopic.byName }
        return topic(name).withLedger { $0.counters.requestRefusals.byName }
    }
}

/// A request as a client sends it.
struct APICall: Sendable {
    var method = "POST"
    var path: String
    var headers: [String: String]
    /// Sent twice, each with the value `again` the second time.
    var twice: [String] = []
    var body: [UInt8]

    var fields: HTTP2Fields {
        var fields = HTTP2Fields()
        fields.append(":method", method)
        fields.append(":scheme", "https")
        fields.append(":authority", "localhost")
        fields.append(":path", path)
        for (name, value) in headers.sorted(by: { $0.key < $1.key }) { fields.append(name, value) }
        for name in twice { fields.append(name, "again") }
        return fields
    }

    func with(_ changes: [String: String?]) -> APICall {
        var call = self
        for (name, value) in changes { call.headers[name] = value }
        return call
    }
}

/// An answer as a client sees it.
struct APIReply: Equatable, Sendable {
    let status: Int
    /// Names and values, in the order of the answer.
    let fields: [String: String]
    let body: String

    init(status: Int, _ message: HTTP2Message) {
        var fields: [String: String] = [:]
        message.forEachField { name, value in
            fields[String(decoding: name, as: UTF8.self)] = String(decoding: value, as: UTF8.self)
        }
        self.status = status
        self.fields = fields
        body = String(buffer: message.body)
    }

    var reason: String? {
        (try? ProviderErrorBody(parsing: Array(body.utf8)))?.reason.rawValue
    }

    var timestampMilliseconds: Int64? {
        (try? ProviderErrorBody(parsing: Array(body.utf8)))?.timestampMilliseconds
    }
}

/// A provider in memory on one connection.
final class APIClient {
    let http: HTTP2ClientSession
    let session: APISession
    /// UNIX seconds.
    var now = APIFixture.now
    private(set) var replies: [UInt64: APIReply] = [:]
    /// Tags in the order of their answers.
    private(set) var order: [UInt64] = []
    private(set) var ends: [UInt64: HTTP2ErrorCode] = [:]
    private(set) var goAways: [(last: Int32, code: HTTP2ErrorCode, debugData: String)] = []
    private(set) var pongs: [UInt64] = []
    private var tags: UInt64 = 0
    private var clock = NIODeadline.uptimeNanoseconds(1_000_000_000)

    init(_ session: APISession) {
        self.session = session
        http = HTTP2ClientSession()
        pump()
    }

    var time: APISession.Time { APISession.Time(clock: clock, unixSeconds: now) }

    /// Sends a request; it is on its way only after ``pump()``.
    ///
    /// - Returns: its tag.
    @discardableResult
    func open(_ call: APICall) throws -> UInt64 {
        tags += 1
        try http.openStream(call.fields, body: ByteBuffer(bytes: call.body), tag: tags)
        return tags
    }

    /// Carries bytes both ways until both are silent.
    func pump() {
        while carryToSession() || carryToClient() {}
    }

    func carryToSession() -> Bool {
        var bytes = ByteBuffer()
        http.takeOutput(into: &bytes)
        guard bytes.readableBytes > 0 else { return false }
        session.receive(bytes, now: time)
        return true
    }

    func carryToClient() -> Bool {
        var bytes = ByteBuffer()
        session.takeOutput(into: &bytes)
        guard bytes.readableBytes > 0 else { return false }
        http.receive(bytes, now: clock)
        while let event = http.nextEvent() { note(event) }
        return true
    }

    /// Time goes by for the connection, and its session is woken if it wants to be.
    func advance(milliseconds: Int64) {
        clock = clock + .milliseconds(milliseconds)
        if let wake = session.nextWake, wake <= clock { session.wake(now: time) }
        pump()
    }

    /// Sends one request and waits for its answer; nil: there is none.
    func reply(_ call: APICall) throws -> APIReply? {
        let tag = try open(call)
        pump()
        return replies[tag]
    }

    private func note(_ event: HTTP2ClientEvent) {
        switch event {
        case .response(_, let tag, let status, let message):
            replies[tag] = APIReply(status: status, message)
            order.append(tag)
        case .closed(_, let tag, let code):
            ends[tag] = code
        case .goAway(let last, let code, let debugData):
            goAways.append((last.rawValue, code, String(decoding: debugData, as: UTF8.self)))
        case .pong(let number):
            pongs.append(number)
        case .settings, .failed:
            break
        }
    }
}
