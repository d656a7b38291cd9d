import LocalPipeline
import NIOCore
import NIOPosix
import Synchronization
import TLSTransport
import Workbench

/// The gateway of one topic, over HTTP/2 also of two: an address that stays, and behind it whoever its manner puts
/// there.
///
/// It has a thread of its own. ``stop()`` is to be called before the last reference goes.
final class Gateway: Sendable {
    struct Counters: Sendable {
        var connections = 0
        var open = 0
        /// Refused with an answer.
        var refused = 0
        /// Closed on for a poisonous notification.
        var poisoned = 0
    }

    let port: Int
    private let transport: PipelineTransport
    /// By topic.
    private let ledgers: [String: SharedLedger]
    private let counters = Mutex(Counters())
    private let welcoming: TLSContext
    private let refusing: TLSContext
    private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    private let listener = Mutex<(any Channel)?>(nil)

    /// Room in the kernel for bytes of a peer that are not read; it makes the best of so little.
    private static let narrowBytes: Int32 = 4096
    private static let slowReadBytes = 2048

    /// - Parameters:
    ///   - pki: directory with the server's certificate and the authority's.
    ///   - ledgers: by topic; one over the binary interface, where no notification names its topic.
    init(pki: String, transport: PipelineTransport, ledgers: [String: SharedLedger]) throws {
        precondition(transport == .http2 || ledgers.count == 1, "each notification has a topic")
        self.transport = transport
        self.ledgers = ledgers
        port = try freePort()
        let identity = try TLSIdentity(pemFile: "\(pki)/server.pem")
        let trust = TLSTrust.file("\(pki)/ca.pem")
        welcoming = try TLSContext(
            server: identity,
            clientTrust: trust,
            requireClientCertificate: transport == .binary,
            protocols: transport == .http2 ? ["h2"] : []
        )
        refusing = try TLSContext(refusingServer: identity, clientTrust: trust)
    }

    var counts: Counters { counters.withLock { $0 } }

    func count(_ body: (inout Counters) -> Void) {
        counters.withLock { body(&$0) }
    }

    /// Listens, in a manner other than ``GatewayManner/closed``.
    func open(_ manner: GatewayManner) async throws {
        let channel = try await bootstrap(manner).bind(host: "127.0.0.1", port: port).get()
        listener.withLock { $0 = channel }
    }

    /// Stops listening and cuts all connections.
    func shut() async throws {
        let channel = listener.withLock { listener in
            defer { listener = nil }
            return listener
        }
        try await channel?.close()
        try await group.next().submit { self.cutAll() }.get()
    }

    func stop() async throws {
        try await group.shutdownGracefully()
    }

    private func bootstrap(_ manner: GatewayManner) -> ServerBootstrap {
        let context = manner == .refusesCertificates ? refusing : welcoming
        let bootstrap = ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 1024)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.socketOption(.tcp_nodelay), value: 1)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandlers([
                        TLSHandler(context: context, serverName: nil),
                        GatewayConnection(gateway: self, session: self.session(), manner: manner),
                    ])
                    self.note(channel)
                }
            }
        switch manner {
        case .works, .closed, .refusesCertificates:
            return bootstrap.childChannelOption(
                .recvAllocator,
                value: AdaptiveRecvByteBufferAllocator(minimum: 4096, initial: 65_536, maximum: 262_144)
            )
        case .readsNothing, .slow:
            return
                bootstrap
                .serverChannelOption(.socketOption(.so_rcvbuf), value: .init(Self.narrowBytes))
                .childChannelOption(.maxMessagesPerRead, value: 1)
                .childChannelOption(
                    .recvAllocator,
                    value: FixedSizeRecvByteBufferAllocator(capacity: Self.slowReadBytes)
                )
        }
    }

    // MARK: Connections, on the event loop

    private func session() -> any GatewaySession {
        switch transport {
        case .binary: BinaryGatewaySession(ledgers: ledgers)
        case .http2: StreamGatewaySession(ledgers: ledgers)
        }
    }

    private let channels = Mutex<[ObjectIdentifier: any Channel]>([:])

    private func note(_ channel: any Channel) {
        let identifier = ObjectIdentifier(channel)
        channels.withLock { $0[identifier] = channel }
        count {
            $0.connections += 1
            $0.open += 1
        }
        channel.closeFuture.whenComplete { _ in
            _ = self.channels.withLock { $0.removeValue(forKey: identifier) }
            self.count { $0.open -= 1 }
        }
    }

    private func cutAll() {
        for channel in channels.withLock({ Array($0.values) }) { channel.close(promise: nil) }
    }
}
