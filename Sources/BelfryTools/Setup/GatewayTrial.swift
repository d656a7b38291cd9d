import BelfrySupport
import NIOCore
import TLSTransport

/// The trial of one address of a gateway.
struct GatewayTrial: Sendable {
    /// The environment's key, such as `environments.sandbox`.
    let environment: String
    /// The name of the key in it that names the address.
    let name: String
    let address: HostPort
    let transport: EnvironmentSettings.Transport
    let proxy: ProxySettings?
    let context: TLSContext

    private var key: String { "\(environment).\(name)" }

    func finding(patience: TimeAmount) async -> ConfigurationFinding {
        let notice = WaitNotice("the gateway at \(address)")
        defer { notice.end() }
        do throws(GatewayHandshake.Failure) {
            let handshake = try await GatewayHandshake.carryOut(
                with: address,
                through: proxy,
                context,
                patience: patience
            )
            return Self.finding(of: handshake, with: address, transport, key: key)
        } catch {
            guard !error.isOfProxy else {
                return ConfigurationFinding(
                    fault: "\(address): \(error)",
                    of: "\(environment).proxy",
                    cure: "name a proxy that answers, with the user and password that it knows"
                )
            }
            return ConfigurationFinding(
                fault: "\(address): \(error)",
                of: key,
                cure: proxy == nil
                    ? "see that the host is right, that the network lets it be reached, and trust and certificate"
                    : "see that the host is right, that the proxy may connect to it, and trust and certificate"
            )
        }
    }

    static func finding(
        of handshake: TLSHandshakeCompleted,
        with address: HostPort,
        _ transport: EnvironmentSettings.Transport,
        key: String
    ) -> ConfigurationFinding {
        if transport == .http2, handshake.applicationProtocol != "h2" {
            return ConfigurationFinding(
                fault: "\(address): a server that does not speak HTTP/2",
                of: key,
                cure: "name the provider API's host, or set transport: binary"
            )
        }
        let peer = handshake.peer.map { ", certificate of \($0.commonName)" } ?? ""
        return ConfigurationFinding(good: "\(address): \(handshake.version)\(peer)", of: key)
    }
}
