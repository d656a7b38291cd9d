import NIOCore
import NIOEmbedded
import Testing

@testable import TLSTransport

/// The protocol on top of TLS, agreed on by ALPN.
struct ProtocolTests {
    static func connected(
        client: [String],
        server: [String],
        version: Version = .tls13,
        refusesOtherProtocols: Bool = true
    ) throws -> EmbeddedPair {
        let pair = try EmbeddedPair(
            client: .testClient(version: version, protocols: client),
            server: .testServer(protocols: server, refusesOtherProtocols: refusesOtherProtocols)
        )
        try pair.connect()
        try pair.pump()
        return pair
    }

    @Test("Both sides know the protocol after the handshake", arguments: Version.allCases)
    func agreed(version: Version) throws {
        let pair = try Self.connected(client: ["h2"], server: ["h2"], version: version)
        #expect(pair.clientRecorder.seen.handshake?.applicationProtocol == "h2")
        #expect(pair.serverRecorder.seen.handshake?.applicationProtocol == "h2")
    }

    @Test("The server's order decides")
    func order() throws {
        let pair = try Self.connected(client: ["http/1.1", "h2"], server: ["h2", "http/1.1"])
        #expect(pair.clientRecorder.seen.handshake?.applicationProtocol == "h2")
    }

    @Test("A client with other protocols is refused, and both sides say why", arguments: Version.allCases)
    func refused(version: Version) throws {
        let pair = try Self.connected(client: ["http/1.1"], server: ["h2"], version: version)
        #expect(pair.clientRecorder.seen.handshake == nil)
        #expect(pair.serverRecorder.seen.handshake == nil)
        let seenByClient = try #require(pair.clientRecorder.seen.errors.first??.description)
        #expect(seenByClient.contains("the peer sent \(TLSAlert.noApplicationProtocol)"))
        #expect(seenByClient.contains("it speaks none of the protocols that are offered to it (ALPN)"))
        let seenByServer = try #require(pair.serverRecorder.seen.errors.first??.description)
        #expect(seenByServer.contains("the client offers none of the protocols that this server speaks"))
    }

    @Test("A server that does not insist goes on without a protocol")
    func tolerated() throws {
        let pair = try Self.connected(client: ["http/1.1"], server: ["h2"], refusesOtherProtocols: false)
        #expect(pair.clientRecorder.seen.errors.isEmpty)
        let handshake = try #require(pair.serverRecorder.seen.handshake)
        #expect(handshake.applicationProtocol == nil)
    }

    @Test(
        "Without an offer, or without a choice, there is no protocol and no refusal",
        arguments: [([], ["h2"]), (["h2"], [])] as [([String], [String])]
    )
    func silent(client: [String], server: [String]) throws {
        let pair = try Self.connected(client: client, server: server)
        let (seenByClient, seenByServer) = (pair.clientRecorder.seen, pair.serverRecorder.seen)
        #expect(try #require(seenByClient.handshake).applicationProtocol == nil)
        #expect(try #require(seenByServer.handshake).applicationProtocol == nil)
        #expect(seenByClient.errors.isEmpty)
        #expect(seenByServer.errors.isEmpty)
    }
}
