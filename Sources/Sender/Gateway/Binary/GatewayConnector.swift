import BelfrySupport
import NIOCore

/// Opens connections of the binary protocol for a lane.
///
/// Bound to its lane's event loop.
final class GatewayConnector: GatewayConnecting {
    private let dialer: GatewayDialer

    init(dialer: GatewayDialer) {
        self.dialer = dialer
    }

    var eventLoop: any EventLoop { dialer.eventLoop }

    var edition: UInt64 { dialer.edition }

    func connect(_ lane: GatewayLane, attempt: Int) {
        dialer.dial(for: lane, attempt: attempt) { _ in GatewayChannelHandler(lane: lane, attempt: attempt) }
    }

    func placeName(of attempt: Int) -> String { dialer.placeName(of: attempt) }

    func noteFailure() { dialer.noteFailure() }
}
