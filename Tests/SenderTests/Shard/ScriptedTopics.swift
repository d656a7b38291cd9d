import APNsProtocol
import BelfrySupport
import HTTP2Transport
import Logging
import NIOCore
import NIOEmbedded
import PipelineCore
import ProviderCredentials

@testable import Sender

/// The topics of a shard over HTTP/2, without the other stages, and connections that do as they are told.
final class ScriptedTopics: GatewayConnectors, StreamStage {
    /// Asks for connections: the topic's bundle, and the purpose.
    struct Asked: Equatable {
        var bundleID: String
        var purpose: ConnectionBudget.Purpose
    }

    var now = MonotonicTime(nanoseconds: 1_000_000_000)
    var credentials: [String: AppCredential] = [:]
    /// For all bundles, of push types that go otherwise.
    var others: [PushType: AppCredential] = [:]
    let providerTokens: ProviderTokens?
    /// The time until which the budget has no connection; nil: it has some.
    var hasBudgetFrom: MonotonicTime?
    private(set) var turns: [Int] = []
    private(set) var asked: [Asked] = []
    /// Bundles of the topics that connections were counted for when they ended, and of those that failed with them.
    private(set) var disconnected: [String] = []
    private(set) var failed: [String] = []
    /// Bundles of the topics that were refused.
    private(set) var refused: [String] = []
    /// Open connections by number, and attempts that are not done.
    private(set) var connections: [UInt32: ScriptedStreams] = [:]
    fileprivate var attempts: [(owner: CredentialConnections, number: UInt32)] = []
    private let settings: ShardSettings
    private(set) lazy var topics = HTTP2Topics(
        settings: settings,
        connectors: self,
        stage: self,
        memory: ShardMemory(settings.memory),
        logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }),
        clock: { [unowned self] in now }
    )
    private var records: UInt32 = 0
    /// Rises with each other certificate of connections to come.
    var edition: UInt64 = 1

    init(keys: ScriptedKeys? = nil, randomBits: @escaping @Sendable () -> UInt64 = { 35 }) {
        var configuration = BelfryConfiguration()
        configuration.environments = [EnvironmentSettings(name: "sandbox", gateways: [], transport: .http2)]
        settings = ShardSettings(configuration, unixMilliseconds: { 1_700_000_000_000 }, randomBits: randomBits)
        providerTokens = keys?.tokens
    }

    func makeLane(_ bundleID: String, _ credential: AppCredential) -> StreamLane {
        credentials[bundleID] = credential
        let index = Int32(credentials.count - 1)
        return topics.makeLane(
            of: settings.makeTopic(index, environment: "sandbox", bundleID: bundleID, filters: nil)
        )
    }

    /// Appends notifications, each to a token of its own.
    func append(_ count: Int, to lane: StreamLane, pushType: PushType = .alert) throws {
        guard let batch = try IntakeBench().take({ $0.pushType = pushType.rawValue }) else { return }
        let number = lane.beginContent(try batch.streamContent(bundleID: lane.topic.bundleID))
        for _ in 0..<count {
            records += 1
            let token = withUnsafeBytes(of: records, Array.init) + [UInt8](repeating: 1, count: 28)
            token.withUnsafeBytes {
                lane.append(
                    NotificationReference(assignment: 1, record: records, token: 0),
                    token: $0,
                    checksum: records,
                    content: number
                )
            }
        }
        lane.endContent(number)
    }

    /// Lets all attempts succeed; returns the new connections.
    @discardableResult
    func open() -> [ScriptedStreams] {
        let attempts = attempts
        self.attempts = []
        return attempts.map { owner, number in
            let connection = ScriptedStreams(number: number, owner: owner)
            connections[number] = connection
            owner.connectionOpened(number: number, connection: connection)
            return connection
        }
    }

    func pass(_ duration: Duration) {
        now = now + duration
        topics.tick(now: now)
    }

    // MARK: Connectors

    func hasCertificate(environment: String, bundleID: String) -> Bool { credentials[bundleID] != nil }
    func isGivenUp(environment: String, bundleID: String) -> Bool { false }
    func tick(now: MonotonicTime) {}

    func connector(environment: String, bundleID: String, lane: Int) -> any GatewayConnecting {
        preconditionFailure("no topic has the binary interface")
    }

    func credential(environment: String, bundleID: String, for pushType: PushType) -> AppCredential? {
        others[pushType] ?? credentials[bundleID]
    }

    func streamConnector(environment: String, credential: AppCredential, turn: Int) -> any StreamConnecting {
        turns.append(turn)
        return Connector(self)
    }

    private final class Connector: StreamConnecting {
        let eventLoop: any EventLoop = EmbeddedEventLoop()
        var edition: UInt64 { topics.edition }
        private unowned let topics: ScriptedTopics

        init(_ topics: ScriptedTopics) { self.topics = topics }

        func connect(_ owner: CredentialConnections, number: UInt32) { topics.attempts.append((owner, number)) }
        func placeName(of number: UInt32) -> String { "nowhere" }
        func noteFailure() {}
    }

    // MARK: The stage

    var mayWrite: Bool { true }
    var hasStoodStill: Bool { false }

    func mayConnect(_ topic: Topic, _ purpose: ConnectionBudget.Purpose, now: MonotonicTime) -> MonotonicTime? {
        asked.append(Asked(bundleID: topic.bundleID, purpose: purpose))
        return hasBudgetFrom
    }

    func handle(_ event: TransportEvent, of topic: Topic) {
        switch event {
        case .disconnected: disconnected.append(topic.bundleID)
        case .failed: failed.append(topic.bundleID)
        case .refused: refused.append(topic.bundleID)
        default: break
        }
    }

    func handle(_ event: StreamEvent, of lane: StreamLane) {}
}

/// A connection that answers nothing by itself.
final class ScriptedStreams: StreamConnection {
    let number: UInt32
    let owner: CredentialConnections
    var maxConcurrentStreams = 1000
    var isStalled: Bool { false }
    /// The answer to requests for a stream; nil: there is one.
    var refusal: HTTP2OpenRefusal?
    private(set) var isClosed = false
    /// Requests that left together.
    private(set) var writes: [Int] = []
    private(set) var requestCount = 0
    /// Of the requests, in order.
    private(set) var bodies: [ByteBuffer] = []
    private var unwritten = 0
    /// Marks of the requests that are not answered, by stream.
    private var tags: [Int32: UInt64] = [:]

    init(number: UInt32, owner: CredentialConnections) {
        self.number = number
        self.owner = owner
    }

    func open(_ request: StreamRequest, tag: UInt64) throws(HTTP2OpenRefusal) -> Int32 {
        if let refusal { throw refusal }
        unwritten += 1
        requestCount += 1
        bodies.append(request.content.body)
        let stream = Int32(2 * requestCount - 1)
        tags[stream] = tag
        return stream
    }

    func reset(stream: Int32) {}
    func ping() {}

    func flush() {
        if unwritten > 0 { writes.append(unwritten) }
        unwritten = 0
    }

    func close() { isClosed = true }
    func abort() { isClosed = true }

    /// Accepts all requests that are not answered.
    func acceptAll() {
        for (stream, tag) in tags.sorted(by: { $0.key < $1.key }) {
            owner.answered(number: number, stream: stream, tag: tag, nil)
            owner.streamClosed(number: number, tag: tag, isRefused: false)
        }
        tags = [:]
        owner.connectionReadCompletely(number: number)
    }

    /// Ends the connection without a word.
    func end(_ error: (any Error)? = nil) { owner.connectionEnded(attempt: Int(number), error: error) }
}
