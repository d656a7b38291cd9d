import APNsProtocol
import NIOCore
import NIOEmbedded
import PipelineCore
import ProviderCredentials
import TLSTransport

@testable import Sender

/// Gateways in memory that read at once, and answer as they are told; and which certificates there are.
final class MemoryGateway: GatewayConnectors {
    /// A notification that was accepted.
    struct Accepted: Equatable {
        var bundleID: String
        /// First byte of its token.
        var token: UInt8
    }

    /// Bundles without a certificate, and those of them that are given up.
    var missing: Set<String> = []
    var givenUp: Set<String> = []
    /// By bundle, the push types that its credential may not send.
    var refusedTypes: [String: [PushType]] = [:]
    /// By bundle, what a gateway says to its notifications; nil: nothing, which is to accept it.
    var answers: [String: (_ token: UInt8) -> APNsStatus?] = [:]
    /// Attempts of these bundles fail.
    var unreachable: Set<String> = []
    /// The error of such attempts.
    var trouble: any Error = Unreachable()
    /// Attempts, or those of these bundles, are not answered until they time out.
    var isSilent = false
    var silent: Set<String> = []
    /// Bundles whose gateways take in nothing once they are connected: no byte is acknowledged.
    var halfDead: Set<String> = []
    var timeout = TimeAmount.hours(1)
    fileprivate(set) var accepted: [Accepted] = []
    /// By place in `accepted`.
    fileprivate(set) var payloads: [[UInt8]] = []
    fileprivate(set) var expirations: [UInt32] = []
    private(set) var attempts: [String] = []
    private(set) var ticks = 0
    /// Connections that have freed their buffers, in order: their bundles.
    fileprivate(set) var rested: [String] = []
    /// Writes to connections: their bundles.
    fileprivate(set) var writes: [String] = []
    /// Rises with each other certificate of connections to come.
    var edition: UInt64 = 1
    /// Connections with certificates of these editions are refused, soon after the handshake.
    var refusedEditions: Set<UInt64> = []
    /// Editions of the certificates that connections have shown; of those through which notifications came, by place
    /// in `accepted`.
    fileprivate(set) var shown: [UInt64] = []
    fileprivate(set) var acceptedOver: [UInt64] = []
    /// Bundles that the verdict on their records was asked for.
    private(set) var askedAbout: Set<String> = []
    /// The other end of connections over HTTP/2.
    private(set) lazy var service: MemoryService = {
        guard let embedded = eventLoop as? EmbeddedEventLoop else {
            preconditionFailure("channels in memory have such an event loop")
        }
        return MemoryService(embedded)
    }()
    private let eventLoop: any EventLoop

    init(_ eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
    }

    /// Accepted notifications of a bundle: the tokens' first bytes, in order.
    func accepted(of bundleID: String) -> [UInt8] { accepted.filter { $0.bundleID == bundleID }.map(\.token) }

    func hasCertificate(environment: String, bundleID: String) -> Bool { !missing.contains(bundleID) }

    func isGivenUp(environment: String, bundleID: String) -> Bool {
        askedAbout.insert(bundleID)
        return givenUp.contains(bundleID)
    }

    func tick(now: MonotonicTime) { ticks += 1 }

    func connector(environment: String, bundleID: String, lane: Int) -> any GatewayConnecting {
        Connector(self, bundleID, eventLoop)
    }

    func credential(environment: String, bundleID: String, for pushType: PushType) -> AppCredential? {
        guard !missing.contains(bundleID), !(refusedTypes[bundleID] ?? []).contains(pushType) else { return nil }
        return service.credentials[bundleID] ?? .certificate(bundleID: bundleID)
    }

    func streamConnector(environment: String, credential: AppCredential, turn: Int) -> any StreamConnecting {
        service.connector(credential, in: environment)
    }

    var providerTokens: ProviderTokens? { service.providerTokens }

    private struct Unreachable: Error {}

    private final class Connector: GatewayConnecting {
        let eventLoop: any EventLoop
        private unowned let gateway: MemoryGateway
        private let bundleID: String

        init(_ gateway: MemoryGateway, _ bundleID: String, _ eventLoop: any EventLoop) {
            self.gateway = gateway
            self.bundleID = bundleID
            self.eventLoop = eventLoop
        }

        var edition: UInt64 { gateway.edition }

        func connect(_ lane: GatewayLane, attempt: Int) {
            gateway.attempts.append(bundleID)
            guard !gateway.isSilent, !gateway.silent.contains(bundleID) else {
                eventLoop.assumeIsolated().scheduleTask(in: gateway.timeout) {
                    lane.connectionEnded(attempt: attempt, error: Unreachable())
                }
                return
            }
            let isReachable = !gateway.unreachable.contains(bundleID) && !gateway.missing.contains(bundleID)
            eventLoop.assumeIsolated().execute { [gateway, bundleID] in
                guard isReachable else { return lane.connectionEnded(attempt: attempt, error: gateway.trouble) }
                let connection = MemoryConnection(gateway, bundleID, lane, attempt)
                lane.connectionOpened(attempt: attempt, connection: connection)
                guard connection.isRefused else { return }
                lane.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(50)) {
                    let error = TLSError.certificateRefused(alert: .certificateRevoked, openSSLErrors: [])
                    lane.connectionEnded(attempt: attempt, error: error)
                }
            }
        }

        func placeName(of attempt: Int) -> String { "nowhere" }

        func noteFailure() {}
    }
}

/// A connection whose peer has what is flushed at once.
private final class MemoryConnection: GatewayConnection {
    private let gateway: MemoryGateway
    private let bundleID: String
    private weak var lane: GatewayLane?
    private let attempt: Int
    private let edition: UInt64
    let isRefused: Bool
    private var decoder = GatewayFrameDecoder(limits: GatewayLimits())
    private var buffered: [ByteBuffer] = []
    private var isOver = false
    private(set) var writtenBytes: UInt64 = 0

    init(_ gateway: MemoryGateway, _ bundleID: String, _ lane: GatewayLane, _ attempt: Int) {
        self.gateway = gateway
        self.bundleID = bundleID
        self.lane = lane
        self.attempt = attempt
        edition = gateway.edition
        isRefused = gateway.refusedEditions.contains(edition)
        gateway.shown.append(edition)
    }

    var isWritable: Bool { true }
    var tellsAcknowledgements: Bool { true }
    var acknowledged: UInt64? { isHalfDead ? 0 : writtenBytes }
    private var isHalfDead: Bool { gateway.halfDead.contains(bundleID) }

    func write(_ bytes: ByteBuffer) { buffered.append(bytes) }

    func writeAndFlush(_ bytes: ByteBuffer, whenFlushed: (() -> Void)?) {
        gateway.writes.append(bundleID)
        for bytes in buffered + [bytes] {
            writtenBytes += UInt64(bytes.readableBytes)
            read(bytes)
        }
        buffered = []
        whenFlushed?()
    }

    private func read(_ bytes: ByteBuffer) {
        guard !isOver, !isRefused, !isHalfDead else { return }
        let answer = gateway.answers[bundleID]
        let outcome = bytes.withUnsafeReadableBytes { bytes in
            decoder.decode(bytes) { view in
                let token = view.token.first ?? 0
                if let status = answer?(token) { return status }
                gateway.accepted.append(.init(bundleID: bundleID, token: token))
                gateway.payloads.append(Array(view.payload))
                gateway.expirations.append(view.expiration)
                gateway.acceptedOver.append(edition)
                return nil
            }
        }
        guard case .failed(let response, _) = outcome, let lane else { return }
        isOver = true
        let attempt = attempt
        lane.eventLoop.assumeIsolated().execute { lane.connectionAnswered(attempt: attempt, response: response) }
    }

    func rest() { gateway.rested.append(bundleID) }

    func close() { isOver = true }
}
