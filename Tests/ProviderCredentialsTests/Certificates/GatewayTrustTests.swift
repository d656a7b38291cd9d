import NIOCore
import NIOEmbedded
import TLSTransport
import Testing

@testable import BelfrySupport
@testable import PipelineTestSupport
@testable import ProviderCredentials

/// An environment's terms of trust, up to the handshake with its gateway.
@Suite struct GatewayTrustTests {
    private typealias Version = FeedbackService.Version

    /// The end of a handshake, as one side saw it.
    private final class Witness: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private(set) var version: String?
        private(set) var errors: [String] = []

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            if let event = event as? TLSHandshakeCompleted { version = event.version }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { errors.append("\(error)") }
    }

    private static func end(_ context: TLSContext, serverName: String?) throws -> (EmbeddedChannel, Witness) {
        let channel = EmbeddedChannel()
        let witness = Witness()
        let operations = channel.pipeline.syncOperations
        try operations.addHandlers(TLSHandler(context: context, serverName: serverName), witness)
        return (channel, witness)
    }

    private static func carry(from: EmbeddedChannel, to: EmbeddedChannel) throws -> Bool {
        var hasMoved = false
        while let buffer = try from.readOutbound(as: ByteBuffer.self) {
            hasMoved = true
            // A closed channel is a peer that is gone.
            if to.isActive { try to.writeInbound(buffer) }
        }
        return hasMoved
    }

    /// A handshake of an environment's client with a gateway that speaks no later version.
    private static func handshake(minimum: String?, gateway version: Version) throws -> Witness {
        let pki = try FeedbackService.PKI.shared.get()
        let files = try CertificateFiles()
        try files.write(String(decoding: try pki.authority.rootPEM(), as: UTF8.self), to: "ca.pem")
        let setting = minimum.map { ", tls-minimum: \($0)" } ?? ""
        let configuration = try BelfryConfiguration.load(
            yaml: "environments: {sandbox: {gateways: a, trust: \(files.path("ca.pem"))\(setting)}}",
            file: "belfry.yaml",
            directory: nil,
            variables: [:]
        )
        let trust = try GatewayTrust(configuration.environments[0])
        let (client, seen) = try end(trust.context(of: pki.client), serverName: "localhost")
        let (server, _) = try end(pki.serverContext(version), serverName: nil)
        let address = try SocketAddress(ipAddress: "127.0.0.1", port: 1)
        client.connect(to: address, promise: nil)
        server.connect(to: address, promise: nil)
        while try carry(from: client, to: server) || carry(from: server, to: client) {}
        for channel in [client, server] {
            // Not `finish()`, which would wait for the other side's end without letting time pass.
            channel.close(promise: nil)
            channel.embeddedEventLoop.advanceTime(by: .seconds(3))
            #expect(!channel.isActive)
        }
        return seen
    }

    @Test(
        "An environment takes a gateway that speaks its oldest version of TLS, or a later one",
        arguments: [(nil, .tls12, "TLSv1.2"), ("1.2", .tls12, "TLSv1.2"), ("1.2", .tls13, "TLSv1.3")]
            + [("1.3", .tls13, "TLSv1.3")] as [(String?, Version, String)]
    )
    private func taken(minimum: String?, gateway version: Version, agreed: String) throws {
        let seen = try Self.handshake(minimum: minimum, gateway: version)
        #expect(seen.version == agreed)
        #expect(seen.errors == [])
    }

    @Test("An environment that wants TLS 1.3 refuses a gateway of TLS 1.2, with the reason")
    func refused() throws {
        let seen = try Self.handshake(minimum: "1.3", gateway: .tls12)
        #expect(seen.version == nil)
        #expect(seen.errors.first?.contains("protocol version") == true, "\(seen.errors)")
    }
}
