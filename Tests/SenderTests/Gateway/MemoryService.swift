import APNsProtocol
import HTTP2Transport
import NIOCore
import NIOEmbedded
import ProviderCredentials

@testable import Sender
@testable import TLSTransport

/// The provider API in memory. Its connections are the real ones, but for TLS and sockets; it answers as it is told.
final class MemoryService {
    /// One request as it came.
    struct Request: Equatable {
        /// Number of its connection, from 0 in the order of opening.
        var connection: Int
        var stream: HTTP2StreamID
        /// In the order of sending, pseudo-header fields first.
        var fields: [Field]
        var body: String

        struct Field: Equatable {
            var name: String
            var value: String
        }

        /// The value of the first field of a name; empty: there is none.
        func value(of name: String) -> String { fields.first { $0.name == name }?.value ?? "" }

        var topic: String { value(of: "apns-topic") }
        var id: String { value(of: "apns-id") }
        var authorization: String { value(of: "authorization") }

        /// First byte of the token.
        var token: UInt8 { UInt8(value(of: ":path").dropFirst("/3/device/".count).prefix(2), radix: 16) ?? 0 }
    }

    enum Reply {
        case accept
        /// An error; by default with the usual status of the reason. `deadSince`: UNIX milliseconds.
        case refuse(ProviderReason, status: Int? = nil, deadSince: Int64? = nil)
        /// The test answers, or no answer comes.
        case wait
        case reset(HTTP2ErrorCode)
    }

    /// A host that is no provider API.
    enum Stranger: Sendable {
        case agreesOn(protocol: String)
        /// These are its first words.
        case says(String)
    }

    /// Opens the connections to come instead; nil: the service does.
    var stranger: Stranger?
    /// The answer to each request.
    var reply: (Request) -> Reply = { _ in .accept }
    /// By bundle; for others there is a certificate of theirs.
    var credentials: [String: AppCredential] = [:]
    var providerTokens: ProviderTokens?
    /// Attempts to connect fail.
    var isUnreachable = false
    /// The error of such attempts.
    var trouble: any Error = Unreachable()
    /// Rises with each other certificate of connections to come.
    var edition: UInt64 = 1
    /// The time that an attempt to connect takes.
    var connectTime = TimeAmount.zero
    /// Called for each connection when it has opened.
    var greet: (MemoryPeer) -> Void = { _ in }
    /// Of connections to come.
    var settings = HTTP2Settings(maxConcurrentStreams: 1000)
    fileprivate(set) var requests: [Request] = []
    /// Requests that were accepted, in the order of the answers.
    fileprivate(set) var accepted: [Request] = []
    /// In the order of opening.
    fileprivate(set) var peers: [MemoryPeer] = []
    fileprivate(set) var attempts = 0
    /// Writes of providers to connections.
    fileprivate(set) var writes = 0
    private let eventLoop: EmbeddedEventLoop

    private struct Unreachable: Error {}

    init(_ eventLoop: EmbeddedEventLoop) {
        self.eventLoop = eventLoop
    }

    /// First bytes of the tokens of a topic's requests, in order.
    func tokens(of topic: String) -> [UInt8] { requests.filter { $0.topic == topic }.map(\.token) }

    /// First bytes of the tokens of a topic's accepted requests, in order.
    func accepted(of topic: String) -> [UInt8] { accepted.filter { $0.topic == topic }.map(\.token) }

    /// The connections that carried requests of a topic, each once, in order.
    func connections(of topic: String) -> [Int] {
        requests.filter { $0.topic == topic }.map(\.connection).reduce(into: []) { numbers, number in
            if !numbers.contains(number) { numbers.append(number) }
        }
    }

    func connector(_ credential: AppCredential, in environment: String) -> any StreamConnecting {
        MemoryStreamConnector(self, credential, environment, eventLoop)
    }

    fileprivate func open(
        _ owner: CredentialConnections,
        _ number: UInt32,
        _ credential: AppCredential,
        in environment: String
    ) {
        let peer = MemoryPeer(self, number: peers.count, credential, in: environment, eventLoop)
        peers.append(peer)
        peer.serve(owner, number)
        greet(peer)
    }
}

/// Opens connections to a service in memory.
private final class MemoryStreamConnector: StreamConnecting {
    private let embedded: EmbeddedEventLoop
    private let credential: AppCredential
    private let environment: String
    private unowned let service: MemoryService

    init(
        _ service: MemoryService,
        _ credential: AppCredential,
        _ environment: String,
        _ eventLoop: EmbeddedEventLoop
    ) {
        self.service = service
        self.credential = credential
        self.environment = environment
        embedded = eventLoop
    }

    var eventLoop: any EventLoop { embedded }
    var edition: UInt64 { service.edition }

    func connect(_ owner: CredentialConnections, number: UInt32) {
        service.attempts += 1
        let isReachable = !service.isUnreachable
        embedded.assumeIsolated().scheduleTask(in: service.connectTime) { [service, credential, environment] in
            guard owner.isConnecting(Int(number)) else { return }
            guard isReachable else { return owner.connectionEnded(attempt: Int(number), error: service.trouble) }
            service.open(owner, number, credential, in: environment)
        }
    }

    func placeName(of number: UInt32) -> String { "nowhere" }

    func noteFailure() {}
}

/// The service's end of one connection.
final class MemoryPeer {
    /// Among the service's connections.
    let number: Int
    /// Shown by the provider.
    let credential: AppCredential
    let environment: String
    /// Of the certificate that the provider has shown.
    let edition: UInt64
    let session: HTTP2ServerSession
    /// Reads nothing and answers nothing, not even a ping.
    var isFrozen = false
    /// Requests that wait for their answers.
    private(set) var unanswered: [MemoryService.Request] = []
    /// Streams that the provider has reset, and the codes.
    private(set) var resets: [HTTP2StreamID: HTTP2ErrorCode] = [:]
    /// The provider has said goodbye.
    private(set) var isDismissed = false
    /// The provider's close takes longer than the test, as that of TLS may.
    var closesSlowly = false
    fileprivate(set) var isEnded = false
    private let eventLoop: EmbeddedEventLoop
    private var channel: EmbeddedChannel?
    private unowned let service: MemoryService

    fileprivate init(
        _ service: MemoryService,
        number: Int,
        _ credential: AppCredential,
        in environment: String,
        _ eventLoop: EmbeddedEventLoop
    ) {
        self.service = service
        self.number = number
        self.credential = credential
        self.environment = environment
        self.eventLoop = eventLoop
        edition = service.edition
        session = HTTP2ServerSession(settings: service.settings)
    }

    fileprivate func serve(_ owner: CredentialConnections, _ connection: UInt32) {
        let hasAuthorization = if case .key = credential { true } else { false }
        let provider = HTTP2Channel(
            owner: owner,
            number: connection,
            authority: "gateway.example",
            hasAuthorization: hasAuthorization
        )
        let channel = EmbeddedChannel(handlers: [MemoryWire(self), provider], loop: eventLoop)
        self.channel = channel
        isFrozen = service.stranger != nil
        let chosen = if case .agreesOn(let name)? = service.stranger { name } else { "h2" }
        channel.pipeline.syncOperations.fireUserInboundEventTriggered(
            TLSHandshakeCompleted(version: "TLSv1.3", cipher: "", applicationProtocol: chosen, peer: nil)
        )
        guard case .says(let words)? = service.stranger else { return flush() }
        channel.pipeline.syncOperations.fireChannelRead(NIOAny(ByteBuffer(string: words)))
        channel.pipeline.syncOperations.fireChannelReadComplete()
    }

    // MARK: What the test does

    func answer(_ request: MemoryService.Request, _ reply: MemoryService.Reply) {
        unanswered.removeAll { $0 == request }
        respond(request, reply)
        flush()
    }

    private func respond(_ request: MemoryService.Request, _ reply: MemoryService.Reply) {
        switch reply {
        case .accept:
            if session.respond(to: request.stream, status: 200, HTTP2Fields()) { service.accepted.append(request) }
        case .wait: unanswered.append(request)
        case .reset(let code): session.reset(request.stream, code)
        case .refuse(let reason, let status, let deadSince):
            let time = deadSince.map { #","timestamp":\#($0)"# } ?? ""
            session.respond(
                to: request.stream,
                status: status ?? reason.entry?.statuses.first ?? 400,
                HTTP2Fields(),
                body: ByteBuffer(string: #"{"reason":"\#(reason)"\#(time)}"#)
            )
        }
    }

    /// Answers all that waits.
    func answerAll(_ reply: MemoryService.Reply = .accept) {
        for request in unanswered { answer(request, reply) }
    }

    func goAway(
        _ code: HTTP2ErrorCode = .noError,
        debugData: String = "",
        last: HTTP2StreamID? = nil
    ) {
        session.goAway(code, debugData: Array(debugData.utf8), last: last)
        flush()
    }

    /// Ends the connection without a word.
    func end() {
        channel?.close(promise: nil)
    }

    /// Ends its side alone; the socket stays.
    func sayGoodbye() {
        closesSlowly = true
        channel?.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
    }

    /// Sends what the session has to say.
    func flush() {
        guard let channel, !isEnded || closesSlowly, !isFrozen, session.outputBytes > 0 else { return }
        var output = ByteBuffer()
        session.takeOutput(into: &output)
        channel.pipeline.syncOperations.fireChannelRead(NIOAny(output))
        channel.pipeline.syncOperations.fireChannelReadComplete()
    }

    // MARK: The wire

    /// Takes what the provider has written, when its turn has come.
    fileprivate func isWritten() {
        service.writes += 1
        eventLoop.assumeIsolated().execute { self.read() }
    }

    private func read() {
        while let bytes = try? channel?.readOutbound(as: ByteBuffer.self) {
            if !isFrozen { session.receive(bytes, now: eventLoop.now) }
        }
        guard !isFrozen else { return }
        while let event = session.nextEvent() { note(event) }
        flush()
    }

    private func note(_ event: HTTP2ServerEvent) {
        switch event {
        case .request(let stream, let message):
            let request = MemoryService.Request(number, stream, message)
            service.requests.append(request)
            respond(request, service.reply(request))
        case .closed(let stream, let code):
            resets[stream] = code
            unanswered.removeAll { $0.stream == stream }
        case .goAway:
            isDismissed = true
        case .settings, .pong, .failed:
            break
        }
    }
}

extension MemoryService.Request {
    fileprivate init(_ connection: Int, _ stream: HTTP2StreamID, _ message: HTTP2Message) {
        var fields: [Field] = []
        message.forEachField { name, value in
            fields.append(
                Field(name: String(decoding: name, as: UTF8.self), value: String(decoding: value, as: UTF8.self))
            )
        }
        self.init(connection: connection, stream: stream, fields: fields, body: String(buffer: message.body))
    }
}

/// The provider's side of the wire: tells its peer what happens.
private final class MemoryWire: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let peer: MemoryPeer

    init(_ peer: MemoryPeer) { self.peer = peer }

    func flush(context: ChannelHandlerContext) {
        context.flush()
        peer.isWritten()
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        peer.isEnded = true
        if !peer.closesSlowly { context.close(mode: mode, promise: promise) }
    }
}
