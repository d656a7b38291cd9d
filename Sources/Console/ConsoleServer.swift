import BelfrySupport
import Logging
import NIOCore
import NIOHTTP1
import NIOPosix
import PageParts
import SocketErrors
import TLSTransport

/// A running console: one thread that looks at the fleet and serves the page.
///
/// ``stop()`` is to be called before the last reference goes.
public final class ConsoleServer: Sendable {
    /// The port on which it listens.
    public let port: Int

    private let thread: MultiThreadedEventLoopGroup

    private init(port: Int, thread: MultiThreadedEventLoopGroup) {
        self.port = port
        self.thread = thread
    }

    /// Starts it; when this returns, the port is open.
    ///
    /// - Throws: ``ConsolePortError``; ``ConsoleSetupError``: the authorities cannot be used.
    public static func start(_ configuration: ConsoleConfiguration) async throws -> ConsoleServer {
        let route = try route(configuration)
        let thread = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let loop = thread.next()
        do {
            let site = try await loop.submit {
                let watch = FleetWatch(configuration.targets, route: route, eventLoop: loop)
                watch.start()
                let isOpen = !["127.0.0.1", "::1", "localhost"].contains(configuration.listen)
                let guardian = RequestGuard(names: configuration.names, takesAddresses: isOpen)
                return NIOLoopBound(ConsoleSite(watch: watch, guardian: guardian), eventLoop: loop)
            }.get()
            let channel = try await bootstrap(on: thread, site)
                .bind(host: configuration.listen, port: configuration.port).get()
            guard let port = channel.localAddress?.port else {
                preconditionFailure("a listening TCP socket has a port")
            }
            return ConsoleServer(port: port, thread: thread)
        } catch {
            try await thread.shutdownGracefully()
            guard let reason = listeningProblem(error) else { throw error }
            let address = HostPort(host: configuration.listen, port: configuration.port)
            throw ConsolePortError(address: address, reason: reason)
        }
    }

    /// Closes the port and all connections and ends the thread. Idempotent.
    public func stop() async throws {
        try await thread.shutdownGracefully()
    }

    private static func route(_ configuration: ConsoleConfiguration) throws(ConsoleSetupError) -> StatusRequest.Route {
        var route = StatusRequest.Route(authorization: configuration.bearerToken.map { "Bearer \($0)" })
        route.serverName = configuration.serverName
        do throws(TLSConfigurationError) {
            route.tls = try configuration.trustFile.map { (file) throws(TLSConfigurationError) in
                try TLSContext(client: nil, trust: .file(file))
            }
        } catch {
            throw ConsoleSetupError("trust: \(error)")
        }
        return route
    }

    private static func bootstrap(
        on thread: MultiThreadedEventLoopGroup,
        _ site: NIOLoopBound<ConsoleSite>
    ) -> ServerBootstrap {
        ServerBootstrap(group: thread)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try PageHandler.serve(site.value, on: channel)
                }
            }
    }
}

/// The console's port cannot be had: it is taken, needs privileges, or the address is not this machine's.
public struct ConsolePortError: Error, CustomStringConvertible {
    public let address: HostPort
    /// Fit to follow the address.
    public let reason: String

    public var description: String { "cannot listen on \(address): \(reason); --port names another port" }
}
