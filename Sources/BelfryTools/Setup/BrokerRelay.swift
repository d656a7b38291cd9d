import BelfrySupport
import NIOCore
import NIOPosix
import ServiceLifecycle
import SocketErrors

/// Passes what comes to a port of the loopback address on to the embedded broker, whose own port is random.
///
/// Clients find the broker here and are told its own address, as by any bootstrap server.
struct BrokerRelay: Sendable {
    private typealias Connection = NIOAsyncChannel<ByteBuffer, ByteBuffer>

    private static let host = "127.0.0.1"

    let broker: HostPort

    /// Runs until a graceful shutdown, or its task's cancellation.
    ///
    /// - Parameters:
    ///   - port: 0: a free one.
    ///   - onReady: called once with the address when connections are taken.
    /// - Throws: `ToolError.kafka`: the port cannot be had.
    func run(port: Int, onReady: @Sendable (HostPort) -> Void) async throws {
        let server: NIOAsyncChannel<Connection, Never>
        do {
            server = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .bind(host: Self.host, port: port) { channel in
                    channel.eventLoop.makeCompletedFuture { try Connection(wrappingChannelSynchronously: channel) }
                }
        } catch {
            guard let reason = listeningProblem(error) else { throw error }
            let address = HostPort(host: Self.host, port: port)
            throw ToolError.kafka("cannot listen on \(address): \(reason); --port names another port")
        }
        onReady(HostPort(host: Self.host, port: server.channel.localAddress?.port ?? port))
        await cancelWhenGracefulShutdown {
            // An error of one client, or of the listener's end, concerns no other.
            try? await server.executeThenClose { clients in
                try await withThrowingDiscardingTaskGroup { tasks in
                    for try await client in clients { tasks.addTask { try? await relay(client) } }
                }
            }
        }
    }

    private func relay(_ client: Connection) async throws {
        let broker = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .connect(host: broker.host, port: broker.port) { channel in
                channel.eventLoop.makeCompletedFuture { try Connection(wrappingChannelSynchronously: channel) }
            }
        try await client.executeThenClose { fromClient, toClient in
            try await broker.executeThenClose { fromBroker, toBroker in
                await withTaskGroup { directions in
                    directions.addTask { try? await pass(from: fromClient, to: toBroker) }
                    directions.addTask { try? await pass(from: fromBroker, to: toClient) }
                    // When one end has gone the other has nothing to wait for.
                    await directions.next()
                    directions.cancelAll()
                }
            }
        }
    }

    private func pass(
        from source: NIOAsyncChannelInboundStream<ByteBuffer>,
        to target: NIOAsyncChannelOutboundWriter<ByteBuffer>
    ) async throws {
        for try await bytes in source { try await target.write(bytes) }
    }
}
