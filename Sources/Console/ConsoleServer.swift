import BelfrySupport
import HTTPPorts
import PageParts
import SocketErrors
import TLSTransport

/// A running console: one thread that looks at the fleet and serves the page.
///
/// ``stop()`` is to be called before the last reference goes.
public final class ConsoleServer: Sendable {
    private let page: RunningPort

    private init(page: RunningPort) { self.page = page }

    /// The port on which it listens.
    public var port: Int { page.port }

    /// Starts it; when this returns, the port is open.
    ///
    /// - Throws: ``ConsolePortError``; ``ConsoleSetupError``: the authorities cannot be used.
    public static func start(_ configuration: ConsoleConfiguration) async throws -> ConsoleServer {
        let route = try route(configuration)
        do {
            let page = try await RunningPort.open(host: configuration.listen, port: configuration.port) { loop in
                let watch = FleetWatch(configuration.targets, route: route, eventLoop: loop)
                watch.start()
                let isOpen = !["127.0.0.1", "::1", "localhost"].contains(configuration.listen)
                let guardian = RequestGuard(names: configuration.names, takesAddresses: isOpen)
                return PagePort.channel(ConsoleSite(watch: watch, guardian: guardian), on: loop)
            }
            return ConsoleServer(page: page)
        } catch {
            guard let reason = listeningProblem(error) else { throw error }
            let address = HostPort(host: configuration.listen, port: configuration.port)
            throw ConsolePortError(address: address, reason: reason)
        }
    }

    /// Closes the port and all connections and ends the thread. Idempotent.
    public func stop() async throws {
        try await page.stop()
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
}

/// The console's port cannot be had: it is taken, needs privileges, or the address is not this machine's.
public struct ConsolePortError: Error, CustomStringConvertible {
    public let address: HostPort
    /// Fit to follow the address.
    public let reason: String

    public var description: String { "cannot listen on \(address): \(reason); --port names another port" }
}
