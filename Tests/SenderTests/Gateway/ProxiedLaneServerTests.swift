import BelfrySupport
import PipelineCore
import Testing

@testable import PipelineTestSupport

/// A lane over real sockets, through a proxy.
@Suite(.timeLimit(.minutes(1)))
struct ProxiedLaneServerTests {
    /// The clock is put forward faster than a socket can answer: no peer counts as dead.
    private static let untiring = LaneLimits(peerTimeout: .seconds(1_000_000_000))

    @Test("Through a proxy notifications arrive over one tunnel, and silence settles all of them")
    func presumed() async throws {
        let gateway = try await ScriptedGateway(FeedbackService.PKI.shared.get())
        let proxy = try await ScriptedProxy { _ in .tunnel }
        try await LaneDriver.withLane(to: [gateway.port], limits: Self.untiring, through: proxy.settings()) { lane in
            try await lane.run { $0.publish(3) }
            let peer = try await gateway.peer()
            try await peer.read()
            try await peer.until(identifiers: [1, 2, 3])
            try await lane.until { lane in
                lane.tick(after: .seconds(1))
                return lane.told.presumed == [0, 1, 2]
            }
            #expect(proxy.requests.count == 1)
        }
        try await gateway.close()
        try await proxy.close()
    }

    @Test("A proxy that cannot connect fails the attempt; once it can, what waits is sent over one connection")
    func refused() async throws {
        let gateway = try await ScriptedGateway(FeedbackService.PKI.shared.get())
        let port = gateway.port
        let proxy = try await ScriptedProxy { authority in
            authority.hasSuffix(":\(port)") ? .tunnel : .answer(["HTTP/1.1 502 Bad Gateway\r\n\r\n"])
        }
        // The first gateway is one that the proxy does not reach.
        try await LaneDriver.withLane(to: [1, port], through: proxy.settings()) { lane in
            try await lane.run { $0.publish(1) }
            let peer = try await gateway.peer()
            try await peer.read()
            try await peer.until(identifiers: [1])
            let told = try await lane.told
            #expect(told.connects == 1 && told.disconnects == 0, "one attempt of the budget asked for both")
            #expect(try await lane.run(\.charged) == 1)
        }
        try await gateway.close()
        try await proxy.close()
    }
}
