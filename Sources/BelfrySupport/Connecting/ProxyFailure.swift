import PipelineCore
import SocketErrors

/// A proxy led to no connection with a server of the push service. Its text never holds a password.
package struct ProxyFailure: Error, Equatable, CustomStringConvertible {
    package enum Cause: Error, Equatable {
        /// There is no connection to the proxy; the reason in words.
        case unreachable(String)
        case noTunnel(ProxyTunnelStateMachine.Failure)
    }

    let proxy: HostPort
    let hasLogin: Bool
    /// The server that was asked for.
    let target: HostPort
    let cause: Cause

    package init(of proxy: ProxySettings, target: HostPort, _ cause: Cause) {
        self.proxy = proxy.address
        hasLogin = proxy.login != nil
        self.target = target
        self.cause = cause
    }

    /// The proxy takes no connection of ours as configured, wherever it is to lead: no network trouble.
    package var isLoginRefused: Bool {
        if case .noTunnel(.loginRefused) = cause { true } else { false }
    }

    /// Another server may be reached through the same proxy.
    package var isOfTarget: Bool {
        switch cause {
        case .noTunnel(.refused), .noTunnel(.silent): true
        default: false
        }
    }

    /// Another address of the proxy may do better.
    var isOfAddress: Bool {
        switch cause {
        case .noTunnel(.refused), .noTunnel(.loginRefused): false
        default: true
        }
    }

    package var description: String {
        let place = "the proxy \(proxy)"
        switch cause {
        case .unreachable(let reason): return "\(place): \(reason)"
        case .noTunnel(.loginRefused(let status, let schemes)):
            return "\(place) \(wish(schemes)) (status \(status))"
        case .noTunnel(.refused(let status)):
            return "\(place) does not connect to \(target): status \(status)\(Self.words(for: status))"
        case .noTunnel(.notHTTP): return "\(place) answers something else than HTTP"
        case .noTunnel(.headTooLong):
            return "\(place) answers with a head of more than \(ProxyTunnelStateMachine.headBytes) bytes"
        case .noTunnel(.spokeFirst): return "\(place) sent bytes behind its answer, before TLS began"
        case .noTunnel(.closed): return "\(place) closed the connection before it answered"
        case .noTunnel(.silent): return "\(place) did not answer in time whether it connects to \(target)"
        }
    }

    private func wish(_ schemes: [String]) -> String {
        if !schemes.isEmpty, !schemes.contains("basic") {
            return "wants a login by \(schemes.joined(separator: " or ")); Belfry knows basic alone"
        }
        return hasLogin
            ? "refuses the configured user and password" : "wants a user and a password, and none are configured"
    }

    private static func words(for status: Int) -> String {
        switch status {
        case 403, 405: ", its rules forbid it"
        case 500, 502, 503: ", it cannot, or may be overloaded"
        case 504: ", it had no answer in time"
        default: ""
        }
    }
}
