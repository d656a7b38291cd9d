import Foundation
import HTTPPorts
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import PipelineCore
import ServiceLifecycle
import SocketErrors

extension PortLimits {
    /// Far longer heads than those of a scraper or a probe; bodies are not needed.
    static let operations = PortLimits(connections: 64, headBytes: 8 << 10, bodyBytes: 8 << 10)
}

/// The HTTP endpoint for operators of a role (`operations.listen`).
///
/// | request | answer |
/// |---|---|
/// | `GET /metrics` | text exposition of Prometheus; 401 without the token, where there is one |
/// | `GET /status` | JSON: the role's state, see ``RoleStatus``; 401 likewise |
/// | `GET /readyz` | 200 when the role does its work, else 503; JSON that says what it waits for |
/// | `GET /livez` | 200 while the role can go on, else 503; text that says why it has to be started again |
///
/// It runs on threads of its own, so that it answers while an event loop of the role stands still. It tells and changes
/// nothing. Token and TLS are configured, see ``OperationsAccess``; a probe shows no token, because
/// a kubelet has none. What a client can hold up is bounded, see ``PortLimits``.
public struct OperationsEndpoint: Service {
    private let address: HostPort
    private let access: OperationsAccess
    private let source: any OperationsSource
    private let logger: Logger

    init(address: HostPort, access: OperationsAccess, source: any OperationsSource, logger: Logger) {
        self.address = address
        self.access = access
        self.source = source
        self.logger = logger
    }

    /// Serves until the graceful shutdown of its group.
    ///
    /// - Throws: ``OperationsPortError`` when the address cannot be had.
    public func run() async throws {
        let (access, logger) = (access, logger)
        let host = address.host
        // The framework logs each request and its start; what matters of both is said here.
        var quiet = logger
        quiet.logLevel = .error
        let application = Application(
            router: makeRouter(),
            server: HTTPServerBuilder { [connections = PortConnections(.operations)] responder in
                PortChannel(connections, prepare: access.speakTLS, responder: responder)
            },
            configuration: ApplicationConfiguration(address: .hostname(address.host, port: address.port)),
            onServerRunning: { channel in
                let address = HostPort(host: host, port: channel.localAddress?.port ?? 0)
                logger.info("operations endpoint listens", metadata: ["address": "\(address)"])
                access.warnOfOpenness(at: address)
            },
            logger: quiet
        )
        do {
            try await application.run()
        } catch {
            guard let reason = listeningProblem(error) else { throw error }
            throw OperationsPortError(address: address, reason: reason)
        }
    }

    private func makeRouter() -> Router<BasicRequestContext> {
        let (access, source, logger) = (access, source, logger)
        let router = Router()
        router.get("metrics") { request, _ in
            guard access.isAllowed(authorization: request.headers[.authorization]) else { return Self.unauthorized() }
            let now = MonotonicTime(.now())
            // An event loop that stands still would never answer.
            let own =
                source.health.isStuck(now: now)
                ? Readiness.table.families(of: [source.health.readiness(now: now)].compactMap(\.self))
                : await source.metrics()
            return Self.answer(
                .ok,
                MetricsText.contentType,
                MetricsText.render(own + everyRole(now: now))
            )
        }
        router.get("status") { request, _ in
            guard access.isAllowed(authorization: request.headers[.authorization]) else { return Self.unauthorized() }
            return Self.answer(.ok, "application/json", try await status())
        }
        router.get("readyz") { _, _ in
            let unwell = source.health.readiness(now: MonotonicTime(.now()))
            let readiness = if let unwell { unwell } else { await source.readiness() }
            var line = JSONLine()
            line.append("ready", readiness.isReady)
            line.append("obstacles", readiness.obstacles)
            return Self.answer(readiness.isReady ? .ok : .serviceUnavailable, "application/json", line.text + "\n")
        }
        router.get("livez") { _, _ in
            let now = MonotonicTime(.now())
            for silence in source.health.takeNews(now: now) {
                let metadata: Logger.Metadata = ["loop": "\(silence.loop)", "for": "\(silence.duration)"]
                logger.critical("event loop stands still", metadata: metadata)
            }
            let liveness = source.health.liveness(now: now)
            return Self.answer(
                liveness.isAlive ? .ok : .serviceUnavailable,
                "text/plain; charset=utf-8",
                liveness.text
            )
        }
        return router
    }

    /// The metrics that need no event loop.
    private func everyRole(now: MonotonicTime) -> [MetricFamily] {
        let report = ProcessMetrics.Report(figures: ProcessFigures.ofThisProcess(), role: source.name)
        return source.health.metrics(now: now) + ProcessMetrics.table.families(of: [report])
    }

    /// The answer to `/status`; without the role's part while an event loop stands still.
    private func status() async throws -> String {
        let time = Double(UTCTimestamp.now()) / 1000
        let liveness = source.health.liveness(now: MonotonicTime(.now()))
        let isStuck = source.health.isStuck(now: MonotonicTime(.now()))
        var status = isStuck ? RoleStatus(role: source.name, now: time) : await source.status(now: time)
        if !liveness.isAlive {
            status.isReady = false
            status.obstacles = liveness.troubles
        }
        status.addProcess(ProcessFigures.ofThisProcess())
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(status), as: UTF8.self) + "\n"
    }

    /// Names the way to be let in (RFC 6750 §3).
    private static func unauthorized() -> Response {
        var response = answer(.unauthorized, "text/plain; charset=utf-8", "the token is missing or wrong\n")
        response.headers[.wwwAuthenticate] = "Bearer"
        return response
    }

    private static func answer(_ status: HTTPResponse.Status, _ contentType: String, _ text: String) -> Response {
        Response(
            status: status,
            headers: [.contentType: contentType, .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: text))
        )
    }
}

/// The address of `operations.listen` cannot be had: it is taken, needs privileges, or is not this machine's.
public struct OperationsPortError: Error, CustomStringConvertible {
    public let address: HostPort
    /// Fit to follow the address.
    public let reason: String

    public var description: String { "operations.listen: cannot listen on \(address): \(reason)" }
}
