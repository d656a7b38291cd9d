import BelfrySupport
import Glibc
import NIOCore
import NIOPosix
import TLSTransport

/// Wants connections, by the numbers of the attempts to make them. Bound to its event loop.
protocol ConnectionOwner: AnyObject {
    /// The attempt is still wanted and not done.
    func isConnecting(_ attempt: Int) -> Bool
    /// The attempt led to a connection that the owner has.
    func isOpen(_ attempt: Int) -> Bool
    /// The shard stood still, and has not looked at its permit since: see ``StandstillGate``.
    var hasStoodStill: Bool { get }
    /// The attempt, or the connection it led to, has ended.
    func connectionEnded(attempt: Int, error: (any Error)?)
}

/// Opens channels to the gateways of an environment: the first of their addresses that answers, or a tunnel through the
/// environment's proxy, then TLS, and a time limit for each.
///
/// Bound to one event loop.
final class GatewayDialer {
    let eventLoop: any EventLoop
    private let addresses: ServiceAddresses
    /// Returns the context at the time of opening a connection; nil: there is no credential.
    private let tls: () -> TLSContext?
    private let latestEdition: () -> UInt64
    private let timeout: TimeAmount
    /// The number of the next attempt, which begins with another address. The lanes of a topic start at different ones.
    private var turn: Int
    /// The addresses of the latest connections, for the log.
    private var names: [(attempt: Int, name: String)] = []

    /// Keep-alive of the kernel. Seconds without traffic before the first question, seconds between questions, and the
    /// number of unanswered ones that ends the connection: a dead peer is found within two minutes. [ours]
    private static let keepAlive = (idle: 60, interval: 15, count: 4)

    /// - Parameters:
    ///   - firstTurn: of the first attempt, see ``ServiceAddresses/connect(_:turn:timeout:_:)``.
    ///   - timeout: for connecting, and again for the handshake.
    ///   - edition: see ``edition``.
    init(
        addresses: ServiceAddresses,
        firstTurn: Int,
        timeout: TimeAmount,
        edition: @escaping () -> UInt64 = { 0 },
        tls: @escaping () -> TLSContext?
    ) {
        self.addresses = addresses
        self.tls = tls
        latestEdition = edition
        self.timeout = timeout
        turn = firstTurn
        eventLoop = addresses.eventLoop
    }

    /// Begins an attempt. Its owner is told later if it fails; else the handler at the end of the pipeline sees the
    /// handshake.
    ///
    /// - Parameter makeHandler: makes that handler for a connection to a gateway; called on the event loop.
    func dial(
        for owner: some ConnectionOwner,
        attempt: Int,
        _ makeHandler: @escaping (HostPort) -> any ChannelInboundHandler
    ) {
        guard let tls = tls() else {
            return eventLoop.assumeIsolated().execute {
                owner.connectionEnded(attempt: attempt, error: CertificateMissing())
            }
        }
        let turn = turn
        self.turn += 1
        addresses.connect(bootstrap, turn: turn, timeout: timeout) { [self] result in
            switch result {
            case .success(let connected):
                names = names.suffix(3) + [(attempt, Self.name(of: connected.place))]
                begin(connected, tls, owner, attempt: attempt, makeHandler)
            case .failure(let error):
                owner.connectionEnded(attempt: attempt, error: error)
            }
        }
    }

    /// See ``GatewayConnecting/edition``. An attempt uses the credential of this edition or of a later one.
    var edition: UInt64 { latestEdition() }

    func placeName(of attempt: Int) -> String {
        names.last { $0.attempt == attempt }?.name ?? addresses.description
    }

    private static func name(of place: ServiceAddresses.Place) -> String {
        "\(place.name) (\(place.address.ipAddress ?? "?"))"
    }

    /// Resolves the names again before the next attempt: they may have other addresses by now.
    func noteFailure() {
        addresses.noteFailure()
    }

    private var bootstrap: ClientBootstrap {
        ClientBootstrap(group: eventLoop)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelOption(.socketOption(.so_keepalive), value: 1)
            .channelOption(.tcpOption(.init(rawValue: TCP_KEEPIDLE)), value: Self.keepAlive.idle)
            .channelOption(.tcpOption(.init(rawValue: TCP_KEEPINTVL)), value: Self.keepAlive.interval)
            .channelOption(.tcpOption(.init(rawValue: TCP_KEEPCNT)), value: Self.keepAlive.count)
            .channelOption(.allowRemoteHalfClosure, value: true)
            // Answers in small portions: while the next requests go out, the gateway works on those before.
            .channelOption(.recvAllocator, value: ShardLimits.readAllocator)
            .channelOption(.maxMessagesPerRead, value: 1)
            .channelOption(.writeBufferWaterMark, value: .init(low: 256 * 1024, high: 1024 * 1024))
    }

    /// Begins the handshake, and limits its time: a peer that never finishes it is a failure as well, and its address
    /// is tried after others. A connection that its owner no longer wants is closed.
    private func begin(
        _ connected: ServiceAddresses.Connected,
        _ tls: TLSContext,
        _ owner: some ConnectionOwner,
        attempt: Int,
        _ makeHandler: (HostPort) -> any ChannelInboundHandler
    ) {
        let (channel, place) = (connected.channel, connected.place)
        guard owner.isConnecting(attempt) else {
            channel.close(mode: .all, promise: nil)
            return owner.connectionEnded(attempt: attempt, error: nil)
        }
        do {
            try connected.beginTLS(tls, makeHandler(place.name))
            let gate = StandstillGate(of: owner, attempt: attempt)
            try channel.pipeline.syncOperations.addHandler(gate, position: .first)
        } catch {
            return owner.connectionEnded(attempt: attempt, error: error)
        }
        // Not weak: that would slow down every count of references to the owner, which is on the way of notifications.
        eventLoop.assumeIsolated().scheduleTask(in: timeout) { [self] in
            guard channel.isActive, !owner.isOpen(attempt) else { return }
            addresses.setBack(place)
            channel.close(mode: .all, promise: nil)
        }
    }
}

/// A topic's credential is gone, so that no connection can be opened.
struct CertificateMissing: Error, CustomStringConvertible {
    var description: String { "no certificate for the bundle" }
}
