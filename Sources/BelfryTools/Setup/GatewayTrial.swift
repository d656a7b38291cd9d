import BelfrySupport
import NIOCore
import TLSTransport

/// The trial of one address of a gateway.
struct GatewayTrial: Sendable {
    /// The configuration's key that names the address.
    let key: String
    let address: HostPort
    let transport: EnvironmentSettings.Transport
    let context: TLSContext

    func finding(patience: TimeAmount) async -> ConfigurationFinding {
        let notice = WaitNotice("the gateway at \(address)")
        defer { notice.end() }
        do throws(GatewayHandshake.Failure) {
            let handshake = try await GatewayHandshake.carryOut(with: address, context, patience: patience)
            return Self.finding(of: handshake, with: address, transport, key: key)
        } catch {
            return ConfigurationFinding(
                fault: "\(address): \(error)",
                of: key,
                cure: "see that the host is right, that the network lets it be reached, and trust and certificate"
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
