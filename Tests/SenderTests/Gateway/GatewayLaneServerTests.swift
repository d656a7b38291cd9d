import APNsProtocol
import BelfrySupport
import NIOCore
import PipelineCore
import Testing

@testable import PipelineTestSupport

/// A lane over real sockets.
@Suite(.timeLimit(.minutes(1)))
struct GatewayLaneServerTests {
    private static let many = 20_000
    /// For tests that put the clock forward faster than a socket can answer: no peer counts as dead.
    private static let untiring = LaneLimits(peerTimeout: .seconds(1_000_000_000))

    private func withGateway(
        limits: LaneLimits = Self.untiring,
        _ test: (ScriptedGateway, LaneRemote) async throws -> Void
    ) async throws {
        let gateway = try await ScriptedGateway(FeedbackService.PKI.shared.get())
        try await LaneDriver.withLane(to: [gateway.port], limits: limits) { lane in
            try await test(gateway, lane)
        }
        try await gateway.close()
    }

    @Test("What a gateway that does not read leaves in our kernel is never presumed, and is once it reads")
    func stalledReader() async throws {
        try await withGateway { gateway, lane in
            try await lane.run { $0.publish(Self.many) }
            let peer = try await gateway.peer()
            // Both kernels fill up; a day goes by at every look.
            var presumed = 0
            for _ in 0..<200 {
                presumed = try await lane.run { lane in
                    lane.tick(after: .seconds(86_400))
                    return lane.told.presumed.count
                }
                try await lane.until { _ in true }
            }
            let sent = try await lane.run { $0.machine.sentEnd }
            #expect(sent > 2000, "our kernel took more than the peer's")
            #expect(presumed * LaneDriver.frameBytes < 256 * 1024, "no more than the peer's kernel holds")
            try await peer.read()
            try await lane.until { lane in
                lane.tick(after: .seconds(1))
                return lane.told.presumed.count == Self.many
            }
            #expect(try await lane.told.presumed == Array(0..<UInt32(Self.many)))
        }
    }

    @Test("An answer that is followed by a reset is read before the connection is given up, also while we write")
    func answerBeforeReset() async throws {
        try await withGateway { gateway, lane in
            try await lane.run { $0.publish(Self.many) }
            let peer = try await gateway.peer()
            try await peer.answer(.invalidToken, 3)
            try await peer.reset()
            try await lane.until { $0.told.answers == 1 }
            let second = try await gateway.peer()
            try await second.read()
            try await lane.until { lane in
                lane.tick(after: .seconds(1))
                return lane.machine.isDrained
            }
            let told = try await lane.told
            #expect(told.confirmed == [0, 1])
            #expect(told.refused == [2])
            #expect(told.unknown == [])
            #expect(told.presumed == Array(3..<UInt32(Self.many)))
            #expect(try await second.identifiers() == Array(4...UInt32(Self.many)))
        }
    }

    @Test("After close_notify silence proves nothing, though the end of the stream does not come")
    func goodbyeWithoutEnd() async throws {
        try await withGateway { gateway, lane in
            try await lane.run { $0.publish(3) }
            let peer = try await gateway.peer()
            try await peer.read()
            try await peer.until(identifiers: [1, 2, 3])
            try await peer.sayGoodbye()
            // On a machine that is very busy the lane may have waited long enough for the end already.
            try await lane.until { $0.machine.isEnding || $0.machine.phase != .open }
            try await lane.run { lane in
                lane.publish(1)
                for _ in 0..<3 { lane.tick(after: .seconds(1)) }
            }
            #expect(try await lane.told.presumed == [])
            try await lane.until { lane in
                lane.tick()
                return lane.told.connects == 2
            }
            let second = try await gateway.peer()
            try await second.read()
            // Before time passes: a handshake takes none of it.
            try await second.until(identifiers: [1, 2, 3, 4])
            try await lane.until { lane in
                lane.tick(after: .seconds(1))
                return lane.machine.isDrained
            }
            #expect(try await lane.told.presumed == [0, 1, 2, 3])
            #expect(try await second.identifiers() == [1, 2, 3, 4])
            try await peer.endStream()
        }
    }

    /// A window so long that silence settles nothing in a test.
    private static let patient = LaneLimits(
        confirmationWindow: .seconds(3600),
        peerTimeout: .seconds(1_000_000_000),
        connectionMaxAge: .seconds(1000),
        idleTimeout: .seconds(100_000)
    )

    @Test("At a stop a sentinel follows the last notification, and its answer proves all without waiting for silence")
    func sentinelAtStop() async throws {
        try await withGateway(limits: Self.patient) { gateway, lane in
            try await lane.run { $0.publish(5) }
            let peer = try await gateway.peer()
            try await peer.read()
            try await lane.run { $0.finish() }
            try await peer.until(identifiers: [1, 2, 3, 4, 5, 6])
            try await peer.answer(.missingDeviceToken, 6)
            try await lane.until { $0.machine.isDrained }
            let told = try await lane.told
            #expect(told.confirmed == [0, 1, 2, 3, 4])
            #expect(told.refused == [] && told.presumed == [] && told.connects == 1)
        }
    }

    @Test(
        "A gateway that does not answer a sentinel is given up in time, and a worker that stops sends nothing again"
    )
    func unansweredSentinel() async throws {
        try await withGateway { gateway, lane in
            try await lane.run { $0.publish(Self.many) }
            _ = try await gateway.peer()
            // Nothing is read: the sentinel waits behind megabytes.
            try await lane.run { $0.finish() }
            try await lane.until { lane in
                lane.tick(after: .seconds(1))
                return lane.machine.hasGivenUp || lane.machine.isDrained
            }
            #expect(try await lane.run { $0.machine.hasGivenUp })
            #expect(try await lane.told.connects == 1)
        }
    }

    @Test(
        "An old connection is drained with a sentinel after its successor is open; what comes meanwhile goes over that"
    )
    func rotation() async throws {
        try await withGateway(limits: Self.patient) { gateway, lane in
            try await lane.run { $0.publish(3) }
            let old = try await gateway.peer()
            try await old.read()
            try await old.until(identifiers: [1, 2, 3])
            try await lane.run { $0.tick(after: .seconds(1000)) }
            let new = try await gateway.peer()
            try await new.read()
            try await old.until(identifiers: [1, 2, 3, 4])
            try await lane.run { $0.publish(2) }
            #expect(try await new.identifiers() == [], "the old one is not proven yet")
            try await old.answer(.missingDeviceToken, 4)
            try await new.until(identifiers: [4, 5])
            let told = try await lane.told
            #expect(told.confirmed == [0, 1, 2])
            #expect(told.connects == 2 && told.resent == 0)
        }
    }

    @Test("When a gateway does not answer the sentinel in time, the lane goes on over the successor that is ready")
    func unansweredSentinelBeforeSuccessor() async throws {
        try await withGateway(limits: Self.patient) { gateway, lane in
            try await lane.run { $0.publish(Self.many) }
            // Nothing is read there: the sentinel waits behind megabytes.
            _ = try await gateway.peer()
            try await lane.run { $0.tick(after: .seconds(1000)) }
            let new = try await gateway.peer()
            try await new.read()
            try await lane.until { $0.told.connects == 2 }
            #expect(try await new.identifiers() == [], "the old one has its time")
            // A third connection is not to be had: by the test's clock the new one would be old at once.
            try await lane.run { lane in
                lane.mayConnect = false
                lane.tick(after: .seconds(3600))
            }
            let told = try await lane.told
            #expect(told.unknown == [] && told.resent > 0)
            #expect(told.presumed == Array(0..<UInt32(told.presumed.count)))
            try await new.until(identifiers: Array(UInt32(told.presumed.count) + 1...UInt32(Self.many)))
        }
    }

    @Test("While the budget allows no successor the old connection goes on, and one is opened later")
    func postponedSuccessor() async throws {
        try await withGateway(limits: Self.patient) { gateway, lane in
            try await lane.run { $0.publish(1) }
            let old = try await gateway.peer()
            try await old.read()
            try await old.until(identifiers: [1])
            try await lane.run { $0.mayConnect = false }
            try await lane.run { $0.tick(after: .seconds(1000)) }
            try await lane.run { $0.publish(1) }
            try await old.until(identifiers: [1, 2])
            try await lane.run { $0.mayConnect = true }
            try await lane.run { $0.tick(after: .seconds(1000)) }
            _ = try await gateway.peer()
            try await old.until(identifiers: [1, 2, 3])
        }
    }

    @Test("Eight dead addresses before a good one are no failure, and cost one connection of the budget with it")
    func deadAddresses() async throws {
        let gateway = try await ScriptedGateway(FeedbackService.PKI.shared.get())
        try await LaneDriver.withLane(to: [gateway.port], resolve: Self.behindDead) { lane in
            try await lane.run { $0.publish(1) }
            let peer = try await gateway.peer()
            try await peer.read()
            try await peer.until(identifiers: [1])
            let told = try await lane.told
            #expect(told.connects == 1 && told.disconnects == 0)
            #expect(try await lane.run(\.charged) == 1)
        }
        try await gateway.close()
    }

    /// The address of a gateway, behind eight at whose port no server listens.
    private static func behindDead(_ name: HostPort) throws -> [SocketAddress] {
        let hosts = (2...9).map { "127.0.0.\($0)" } + [name.host]
        return try hosts.map { try SocketAddress(ipAddress: $0, port: name.port) }
    }

    @Test("A connection that was idle for long is closed in order; the next notification opens another")
    func idle() async throws {
        try await withGateway { gateway, lane in
            try await lane.run { $0.publish(1) }
            let first = try await gateway.peer()
            try await first.read()
            try await lane.until { lane in
                lane.tick(after: .seconds(1))
                return lane.machine.isDrained
            }
            try await lane.run { $0.tick(after: .seconds(3600)) }
            #expect(try await lane.run { $0.machine.phase } == .disconnected)
            try await lane.run { $0.publish(1) }
            let second = try await gateway.peer()
            try await second.read()
            try await second.until(identifiers: [2])
        }
    }
}
