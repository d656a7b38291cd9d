import NIOCore
import NIOPosix
import Testing

/// Connections to a gateway that accepts them and never ends a handshake.
@Suite("Handshakes that never end", .timeLimit(.minutes(1)))
struct AbandonedHandshakeServerTests {
    private func withMuteGateway(
        _ test: (inout AsyncStream<MuteGateway.Event>.AsyncIterator, LaneRemote) async throws -> Void
    ) async throws {
        let gateway = try await MuteGateway()
        try await LaneDriver.withLane(to: [gateway.port], timeout: .milliseconds(50)) { lane in
            var events = gateway.events.makeAsyncIterator()
            try await test(&events, lane)
        }
        try await gateway.close()
    }

    @Test("A handshake that does not end in time is a failure of the attempt, and its socket is closed")
    func timeout() async throws {
        try await withMuteGateway { events, lane in
            try await lane.run { $0.publish(1) }
            #expect(await events.next() == .accepted)
            #expect(await events.next() == .closed)
            try await lane.until { if case .waiting = $0.machine.phase { true } else { false } }
            #expect(try await lane.told.connects == 0)
        }
    }

    @Test("A handshake that its lane has abandoned closes its socket")
    func abandoned() async throws {
        try await withMuteGateway { events, lane in
            try await lane.run { $0.publish(1) }
            #expect(await events.next() == .accepted)
            try await lane.run { $0.close() }
            #expect(await events.next() == .closed)
            #expect(try await lane.told.connects == 0)
        }
    }
}

/// Listens on loopback and sends nothing to its clients. The test closes it.
private final class MuteGateway: Sendable {
    enum Event { case accepted, closed }

    /// The begins and ends of its connections.
    let events: AsyncStream<Event>
    private let listener: any Channel

    init() async throws {
        let (events, continuation) = AsyncStream<Event>.makeStream()
        self.events = events
        listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Watcher { continuation.yield($0) })
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
    }

    var port: Int { listener.localAddress?.port ?? 0 }

    func close() async throws { try await listener.close() }

    private final class Watcher: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let tell: (Event) -> Void

        init(_ tell: @escaping (Event) -> Void) { self.tell = tell }

        func channelActive(context: ChannelHandlerContext) { tell(.accepted) }

        func channelInactive(context: ChannelHandlerContext) { tell(.closed) }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
}
