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
    /// The attempt, or the connection it led to, has ended.
    func connectionEnded(attempt: Int, error: (any Error)?)
}

/// Opens channels to the gateways of an environment: the next address in turn, TLS, and a time limit for both.
///
/// Bound to one event loop.
final class GatewayDialer {
    let eventLoop: any EventLoop
    private let addresses: GatewayAddresses
    /// Returns the context at the time of opening a connection; nil: there is no credential.
    private let tls: () -> TLSContext?
    private let latestEdition: () -> UInt64
    private let timeout: TimeAmount
    /// The number of the next address. The lanes of a topic start at different ones.
    private var turn: Int
    /// The addresses of the latest attempts, for the log.
    private var names: [(attempt: Int, name: String)] = []

    /// Keep-alive of the kernel. Seconds without traffic before the first question, seconds between questions, and the
    /// number of unanswered ones that ends the connection: a dead peer is found within two minutes. [ours]
    private static let keepAlive = (idle: 60, interval: 15, count: 4)

    /// - Parameters:
    ///   - firstTurn: position of the first address to use, modulo their number.
    ///   - timeout: for connecting, and again for the handshake.
    ///   - edition: see ``edition``.
    init(
        addresses: GatewayAddresses,
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

    /// Begins an attempt. Its owner is told if it fails; else the handler at the end of the pipeline sees the
    /// handshake.
    ///
    /// - Parameter makeHandler: makes that handler for a connection to a gateway; called on the event loop.
    func dial(
        for owner: some ConnectionOwner,
        attempt: Int,
        _ makeHandler: @escaping (HostPort) -> any ChannelInboundHandler
    ) {
        let turn = turn
        self.turn += 1
        addresses.next(turn) { [self] result in
            guard owner.isConnecting(attempt) else { return }
            switch result {
            case .success(let place):
                names = names.suffix(3) + [(attempt, "\(place.gateway) (\(place.address.ipAddress ?? "?"))")]
                connect(owner, attempt: attempt, to: place, makeHandler)
            case .failure(let error):
                owner.connectionEnded(attempt: attempt, error: error)
            }
        }
    }

    /// See ``GatewayConnecting/edition``. An attempt uses the credential of this edition or of a later one.
    var edition: UInt64 { latestEdition() }

    func placeName(of attempt: Int) -> String {
        names.last { $0.attempt == attempt }?.name ?? "nowhere"
    }

    /// Resolves the names again before the next attempt: they may have other addresses by now.
    func noteFailure() {
        addresses.noteFailure()
    }

    private func connect(
        _ owner: some ConnectionOwner,
        attempt: Int,
        to place: GatewayAddresses.Place,
        _ makeHandler: @escaping (HostPort) -> any ChannelInboundHandler
    ) {
        guard let tls = tls() else {
            return owner.connectionEnded(attempt: attempt, error: CertificateMissing())
        }
        let makeHandler = NIOLoopBound(makeHandler, eventLoop: eventLoop)
        ClientBootstrap(group: eventLoop)
            .connectTimeout(timeout)
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
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandlers([
                        TLSHandler(context: tls, serverName: place.gateway.host),
                        makeHandler.value(place.gateway),
                    ])
                }
            }
            .connect(to: place.address)
            .assumeIsolated()
            .whenComplete { [self] result in
                switch result {
                case .success(let channel): limitHandshake(of: channel, owner, attempt: attempt)
                case .failure(let error): owner.connectionEnded(attempt: attempt, error: error)
                }
            }
    }

    /// Limits the time of a handshake: a peer that never finishes it is a failure as well. A connection that its owner
    /// no longer wants is closed; otherwise its socket would stay for as long as the peer likes.
    private func limitHandshake(of channel: any Channel, _ owner: some ConnectionOwner, attempt: Int) {
        guard owner.isConnecting(attempt) || owner.isOpen(attempt) else {
            return channel.close(mode: .all, promise: nil)
        }
        // Not weak: that would slow down every count of references to the owner, which is on the way of notifications.
        eventLoop.assumeIsolated().scheduleTask(in: timeout) {
            if !owner.isOpen(attempt) { channel.close(mode: .all, promise: nil) }
        }
    }
}

/// A topic's credential is gone, so that no connection can be opened.
struct CertificateMissing: Error, CustomStringConvertible {
    var description: String { "no certificate for the bundle" }
}
