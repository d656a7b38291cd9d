import BelfrySupport
import NIOCore
import TLSTransport

/// Opens HTTP/2 connections for a credential, see ``GatewayDialer``.
///
/// Bound to its credential's event loop.
final class StreamConnector: StreamConnecting {
    private let dialer: GatewayDialer
    private let hasAuthorization: Bool

    init(dialer: GatewayDialer, hasAuthorization: Bool) {
        self.dialer = dialer
        self.hasAuthorization = hasAuthorization
    }

    var eventLoop: any EventLoop { dialer.eventLoop }

    var edition: UInt64 { dialer.edition }

    func connect(_ connections: CredentialConnections, number: UInt32) {
        dialer.dial(for: connections, attempt: Int(number)) { [hasAuthorization] gateway in
            HTTP2Channel(
                owner: connections,
                number: number,
                authority: gateway.port == 443 ? gateway.host : gateway.description,
                hasAuthorization: hasAuthorization
            )
        }
    }

    func placeName(of number: UInt32) -> String { dialer.placeName(of: Int(number)) }

    func noteFailure() { dialer.noteFailure() }
}
