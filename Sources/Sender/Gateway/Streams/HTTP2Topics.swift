import APNsProtocol
import BelfrySupport
import Logging
import NIOCore
import PipelineCore

/// The topics of a shard over HTTP/2, and the connections that they share by their credentials.
///
/// Bound to the shard's event loop.
final class HTTP2Topics {
    /// Settings for lanes and connections made from now on.
    var settings: ShardSettings
    /// Of the shard; what the lanes remember of tokens counts towards it.
    let memory: ShardMemory
    let logger: Logger
    unowned let stage: any StreamStage
    private let connectors: any StreamConnectors
    private let clock: () -> MonotonicTime
    private var lanes: [StreamLane] = []
    private(set) var all: [CredentialConnections] = []
    private var byIdentity: [CredentialConnections.Identity: CredentialConnections] = [:]
    /// Lanes with confirmations that are not settled.
    private var unsettled: [StreamLane] = []
    var isHeld = false
    /// GOAWAY frames by environment and reason.
    private(set) var goAways: [String: [String: Int]] = [:]

    /// Spreads the first connections of shards and workers over the addresses of a gateway.
    private lazy var firstTurn = Int(random() >> 33)
    private var connectionsMade: UInt32 = 0
    /// Owners of the connections that are open or being opened.
    private var owners: [UInt32: CredentialConnections] = [:]

    init(
        settings: ShardSettings,
        connectors: any StreamConnectors,
        stage: any StreamStage,
        memory: ShardMemory,
        logger: Logger,
        clock: @escaping () -> MonotonicTime
    ) {
        self.settings = settings
        self.memory = memory
        self.connectors = connectors
        self.stage = stage
        self.logger = logger
        self.clock = clock
    }

    var now: MonotonicTime { clock() }

    /// 64 random bits.
    func random() -> UInt64 { settings.randomBits() }

    // MARK: Topics and their connections

    /// Makes the lane of a topic.
    func makeLane(of topic: Topic) -> StreamLane {
        precondition(lanes.count < StreamTicket.mostQueues, "a shard has at most 65,536 topics over HTTP/2")
        let lane = StreamLane(
            topic,
            number: UInt16(lanes.count),
            limits: settings.streamLimits(topic.limits),
            topics: self
        )
        lanes.append(lane)
        assign(lane)
        return lane
    }

    /// Gives a lane the connections of its present credentials.
    func assign(_ lane: StreamLane) {
        assign(lane, .alert)
        for (pushType, _) in lane.sources.suffixed { assign(lane, pushType) }
    }

    private func assign(_ lane: StreamLane, _ pushType: PushType) {
        let topic = lane.topic
        let (environment, bundleID) = (topic.environment, topic.bundleID)
        guard let credential = connectors.credential(environment: environment, bundleID: bundleID, for: pushType) else {
            return
        }
        var identity = CredentialConnections.Identity(
            environment: topic.environment,
            credential: credential,
            bundleID: nil
        )
        // A certificate is one topic's already.
        if case .key = credential, lane.queue.needsOwnConnections(now: now) { identity.bundleID = topic.bundleID }
        let former = lane.sources[pushType]
        if former?.identity != identity {
            let connections = byIdentity[identity] ?? makeConnections(identity)
            lane.use(connections, for: pushType)
            if let former, !lane.sources.has(former) { former.leave(lane) }
            connections.join(lane)
            lane.list(now: now)
        }
        guard let edition = lane.sources[pushType]?.edition else { return }
        topic.health.noteCredential(credential, edition: edition, for: pushType, now: now)
    }

    private func makeConnections(_ identity: CredentialConnections.Identity) -> CredentialConnections {
        var tokens: CredentialTokens?
        if case .key(let key) = identity.credential, let providerTokens = connectors.providerTokens {
            tokens = CredentialTokens(key, providerTokens, unixMilliseconds: settings.unixMilliseconds)
        }
        let connections = CredentialConnections(
            identity,
            limits: settings.streamPoolLimits(startsWithOneStream: tokens != nil),
            connector: connectors.streamConnector(
                environment: identity.environment,
                credential: identity.credential,
                turn: firstTurn + all.count
            ),
            tokens: tokens,
            topics: self
        )
        all.append(connections)
        byIdentity[identity] = connections
        return connections
    }

    /// The lane of a request; nil for a mark that was never given.
    func lane(of ticket: StreamTicket) -> StreamLane? {
        Int(ticket.queue) < lanes.count ? lanes[Int(ticket.queue)] : nil
    }

    // MARK: Time

    /// Lets time pass for the connections, after the lanes. Those that all topics have left go when they have ended.
    func tick(now: MonotonicTime) {
        for connections in all { connections.tick(now: now) }
        all.removeAll { connections in
            guard connections.pool.isEmpty, connections.members.isEmpty else { return false }
            byIdentity[connections.identity] = nil
            return true
        }
    }

    /// Closes all connections in order.
    func close() {
        for connections in all { connections.close() }
    }

    // MARK: Connections

    var mayWrite: Bool { !isHeld && stage.mayWrite }

    /// See ``TransportStage/hasStoodStill``.
    var hasStoodStill: Bool { stage.hasStoodStill }

    /// The topics that connections are for.
    private func members(of connections: CredentialConnections) -> [StreamLane] {
        connections.members.map { lanes[Int($0)] }
    }

    /// The open connections that a report gives to a topic: all, if it is the first of their topics. So each connection
    /// is reported once.
    func openConnections(of lane: StreamLane) -> Int {
        lane.sources.all.reduce(0) { count, connections in
            count + (connections.members.first == lane.queue.number ? connections.pool.openCount : 0)
        }
    }

    /// The topic that a connection is counted for: the first that works and has work, else one that has, else one that
    /// is kept warm, else any.
    ///
    /// The name of a topic that is probed would make a probe of the connection, and probes wait long for the budget.
    private func leader(of connections: CredentialConnections) -> StreamLane? {
        let members = members(of: connections)
        let busy = members.filter { $0.waitingCount > 0 || $0.inFlightCount > 0 }
        let leader = busy.first { $0.queue.admission == .all } ?? busy.first
        return leader ?? members.first { $0.topic.flow.keepsWarm } ?? members.first
    }

    func mayConnect(
        _ connections: CredentialConnections,
        _ purpose: ConnectionBudget.Purpose,
        now: MonotonicTime
    ) -> MonotonicTime? {
        // All topics have left since one of them was kept warm.
        guard let leader = leader(of: connections) else { return now + ShardLimits.retryInterval }
        let isProbe = leader.topic.flow.sending == .probing
        return stage.mayConnect(leader.topic, isProbe ? .probe : purpose, now: now)
    }

    /// A number for a new connection, which no other of the shard has.
    func takeConnectionNumber(for connections: CredentialConnections) -> UInt32 {
        connectionsMade &+= 1
        owners[connectionsMade] = connections
        return connectionsMade
    }

    /// A connection is about to be opened. Its topics note the credential now, and not after it may have been refused:
    /// else the refusal would be taken for that of the former one, and the same tried again at once.
    func noteCredential(of connections: CredentialConnections, now: MonotonicTime) {
        guard let edition = connections.edition else { return }
        let credential = connections.identity.credential
        for lane in members(of: connections) {
            for pushType in lane.sources.pushTypes(of: connections) {
                lane.topic.health.noteCredential(credential, edition: edition, for: pushType, now: now)
            }
        }
    }

    func connected(_ connections: CredentialConnections) {
        if let leader = leader(of: connections) { stage.handle(.connected, of: leader.topic) }
        for other in all where other !== connections && other.identity.environment == connections.identity.environment {
            other.gatewayAnswers(now: now)
        }
    }

    /// A connection ends, or the attempt to make it. It is in its pool still.
    func disconnected(_ connections: CredentialConnections, _ number: UInt32, _ reason: DisconnectReason) {
        if let leader = leader(of: connections) { stage.handle(.disconnected(reason), of: leader.topic) }
        switch reason {
        case .certificateRefused, .proxyRefused:
            // Others go on with the credentials that they have shown.
            guard !connections.pool.connections.contains(where: { $0.number != number && $0.phase == .open }) else {
                return
            }
            // Nothing would probe a topic that stopped without a notification.
            guard !connections.pool.isOnlyWarm(number, now: now) else { return }
            for lane in members(of: connections) where lane.needs(connections) {
                stage.handle(.failed(reason), of: lane.topic)
            }
        case .connectFailed, .endOfStream, .failure:
            // Others go on over the connections that are left.
            let isLast = !connections.pool.connections.contains { $0.number != number && $0.phase != .draining }
            for lane in lanes where isLast && lane.needs(connections) || lane.queue.hasRequests(on: number) {
                stage.handle(.failed(reason), of: lane.topic)
            }
        case .errorResponse, .shutdown, .closedHere, .goAway:
            break
        }
    }

    /// A connection of a credential is replaced.
    func rotated(_ connections: CredentialConnections, _ reason: ConnectionRotation.Reason) {
        if let leader = leader(of: connections) { stage.handle(.rotated(reason), of: leader.topic) }
    }

    /// The gateway takes no more streams on a connection of a credential.
    ///
    /// - Parameter reason: nil: it named none.
    func wentAway(_ connections: CredentialConnections, _ number: UInt32, _ reason: ProviderReason?) {
        // Only reasons that are known may become labels: a peer names them.
        let name = reason.map { $0.entry == nil ? "other" : $0.rawValue } ?? "none"
        goAways[connections.identity.environment, default: [:]][name, default: 0] += 1
        disconnected(connections, number, .goAway)
    }

    /// The service refuses a credential: for the topics of these connections, or for all topics that have it, on all
    /// connections. A topic that sent with it once, and needs it no more, goes on.
    func refused(_ connections: CredentialConnections, _ extent: ProviderVerdict.Extent) {
        var refused = connections.identity
        refused.bundleID = nil
        for lane in lanes {
            let concerned = lane.sources.all.filter { other in
                guard extent == .team else { return other === connections }
                var identity = other.identity
                identity.bundleID = nil
                return identity == refused
            }
            for connections in concerned { connections.renew() }
            guard concerned.contains(where: lane.needs) else { continue }
            stage.handle(.refused(extent), of: lane.topic)
        }
    }

    /// A connection ended: any lane may have had requests on it, whatever its credential is by now.
    func lost(_ loss: StreamLoss) {
        owners[loss.connection] = nil
        for lane in lanes { lane.lost(loss) }
    }

    /// Topics with requests in flight on a connection.
    func topicCount(on connection: UInt32) -> Int { lanes.count { $0.queue.hasRequests(on: connection) } }

    /// A request was not answered in time.
    ///
    /// - Returns: its connection has answered a later one.
    func timedOut(connection: UInt32, stream: Int32, now: MonotonicTime) -> Bool {
        owners[connection]?.timedOut(connection: connection, stream: stream, now: now) ?? false
    }

    // MARK: Results

    /// A lane has confirmations to settle.
    func hasConfirmed(_ lane: StreamLane) { unsettled.append(lane) }

    /// Settles the confirmations of all lanes.
    func settle() {
        for lane in unsettled { lane.settleConfirmed() }
        unsettled.removeAll(keepingCapacity: true)
    }
}
