import BelfrySupport
import Glibc
import NIOCore
import NIOPosix
import TLSTransport

/// Opens connections for a lane: the next address in turn, TLS, and a time limit for both.
///
/// Bound to its lane's event loop.
final class GatewayConnector: GatewayConnecting {
    let eventLoop: any EventLoop
    private let addresses: GatewayAddresses
    /// Returns the certificate at the time of opening a connection; nil: there is none.
    private let tls: () -> TLSContext?
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
    init(addresses: GatewayAddresses, firstTurn: Int, timeout: TimeAmount, tls: @escaping () -> TLSContext?) {
        self.addresses = addresses
        self.tls = tls
        self.timeout = timeout
        turn = firstTurn
        eventLoop = addresses.eventLoop
    }

    func connect(_ lane: GatewayLane, attempt: Int) {
        let turn = turn
        self.turn += 1
        addresses.next(turn) { [self] result in
            guard lane.isConnecting(attempt) else { return }
            switch result {
            case .success(let place):
                names = names.suffix(3) + [(attempt, "\(place.gateway) (\(place.address.ipAddress ?? "?"))")]
                connect(lane, attempt: attempt, to: place)
            case .failure(let error):
                lane.connectionEnded(attempt: attempt, error: error)
            }
        }
    }

    func placeName(of attempt: Int) -> String {
        names.last { $0.attempt == attempt }?.name ?? "nowhere"
    }

    /// Resolves the names again before the next attempt: they may have other addresses by now.
    func noteFailure() {
        addresses.noteFailure()
    }

    private func connect(_ lane: GatewayLane, attempt: Int, to place: GatewayAddresses.Place) {
        guard let tls = tls() else {
            return lane.connectionEnded(attempt: attempt, error: CertificateMissing())
        }
        let lane = NIOLoopBound(lane, eventLoop: eventLoop)
        ClientBootstrap(group: eventLoop)
            .connectTimeout(timeout)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelOption(.socketOption(.so_keepalive), value: 1)
            .channelOption(.tcpOption(.init(rawValue: TCP_KEEPIDLE)), value: Self.keepAlive.idle)
            .channelOption(.tcpOption(.init(rawValue: TCP_KEEPINTVL)), value: Self.keepAlive.interval)
            .channelOption(.tcpOption(.init(rawValue: TCP_KEEPCNT)), value: Self.keepAlive.count)
            .channelOption(.allowRemoteHalfClosure, value: true)
            .channelOption(.writeBufferWaterMark, value: .init(low: 256 * 1024, high: 1024 * 1024))
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandlers([
                        TLSHandler(context: tls, serverName: place.gateway.host),
                        GatewayChannelHandler(lane: lane.value, attempt: attempt),
                    ])
                }
            }
            .connect(to: place.address)
            .assumeIsolated()
            .whenComplete { [self] result in
                switch result {
                case .success(let channel): limitHandshake(of: channel, lane: lane.value, attempt: attempt)
                case .failure(let error): lane.value.connectionEnded(attempt: attempt, error: error)
                }
            }
    }

    /// Limits the time of a handshake: a peer that never finishes it is a failure as well. A connection that the lane
    /// no longer wants is closed; otherwise its socket would stay for as long as the peer likes.
    private func limitHandshake(of channel: any Channel, lane: GatewayLane, attempt: Int) {
        guard lane.isConnecting(attempt) || lane.isOpen(attempt) else { return channel.close(mode: .all, promise: nil) }
        eventLoop.assumeIsolated().scheduleTask(in: timeout) { [weak lane] in
            if lane?.isOpen(attempt) != true { channel.close(mode: .all, promise: nil) }
        }
    }
}

/// A bundle's certificate is gone, so that no connection can be opened.
struct CertificateMissing: Error, CustomStringConvertible {
    var description: String { "no certificate for the bundle" }
}
