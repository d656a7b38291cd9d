import Glibc
import HTTPPorts
import Logging
import NIOCore
import NIOPosix
import PageParts
import SocketErrors
import TLSTransport

/// A running push service: gateway, provider API, feedback service, courier and control port.
///
/// Owns its threads: gateway, provider API and feedback share the configured number, the control port has one of its
/// own, so that it answers while the gateway is busy, and so has the courier. ``stop()`` is to be called before the
/// last reference goes.
public final class SandboxServer: Sendable {
    /// Ports on which it listens.
    public let ports: SandboxPorts

    private let providerThreads: MultiThreadedEventLoopGroup
    private let control: RunningPort
    private let courierThread: MultiThreadedEventLoopGroup
    private let recorder: AcceptedRecorder?

    private init(
        ports: SandboxPorts,
        providerThreads: MultiThreadedEventLoopGroup,
        control: RunningPort,
        courierThread: MultiThreadedEventLoopGroup,
        recorder: AcceptedRecorder?
    ) {
        self.recorder = recorder
        self.ports = ports
        self.providerThreads = providerThreads
        self.control = control
        self.courierThread = courierThread
    }

    /// Starts it; when this returns, all ports are open.
    ///
    /// - Throws: ``SandboxSetupError`` when the configuration cannot work, ``SandboxPortError`` when a port cannot be
    ///   had.
    public static func start(
        _ configuration: SandboxConfiguration,
        logger: Logger,
        clock: @escaping @Sendable () -> UInt32 = { UInt32(clamping: time(nil)) }
    ) async throws -> SandboxServer {
        try check(configuration)
        try configuration.checkFormats()
        let (trust, tokenKey) = try secrets(configuration, logger)
        let pki = DevelopmentPKI(directory: configuration.pkiDirectory)
        let refusingTLS = try refusingContext(pki)
        let keys = try ProviderKeyRing(file: pki.keyListFile, environment: configuration.environment, logger: logger)
        let service = PushService(configuration: configuration, tokenKey: tokenKey, clock: clock)
        let script = try configuration.faultScript.map { try FaultScriptRunner(file: $0, service: service) }
        // The last that can fail before the threads: it has one of its own, which has to be ended.
        let recorder = try configuration.ledger.acceptedLogFile.map { path in
            try AcceptedRecorder(path: path, service: service, logger: logger)
        }
        let providerThreads = MultiThreadedEventLoopGroup(numberOfThreads: configuration.threads)
        let courierThread = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        do {
            let door = ProviderDoor(service: service, trust: trust, refusingTLS: refusingTLS, logger: logger)
            let gateway = door.bootstrap(on: providerThreads, to: .gateway) { topic in
                GatewayHandler(service: service, topic: topic, logger: logger)
            }
            let feedback = door.bootstrap(on: providerThreads, to: .feedback) { topic in
                FeedbackHandler(service: service, topic: topic, logger: logger)
            }
            let api = APIDoor(service: service, trust: trust, keys: keys, refusingTLS: refusingTLS, logger: logger)
                .bootstrap(on: providerThreads)
            let courier = CourierDoor(service: service, trust: trust, logger: logger).bootstrap(on: courierThread)
            let host = configuration.listenHost
            let gatewayPort = try await bind(gateway, host, configuration.gatewayPort, "gateway-port")
            let feedbackPort = try await bind(feedback, host, configuration.feedbackPort, "feedback-port")
            let devicePort = try await bind(courier, host, configuration.devicePort, "device-port")
            let apiPort = try await bind(api, host, configuration.apiPort, "api-port")
            var channelsPort = configuration.channelsPort
            if let port = channelsPort { channelsPort = try await bind(api, host, port, "channels-port") }
            // The last that can fail: it ends its thread by itself.
            let control = try await openControl(configuration.controlPort, service)
            let ports = SandboxPorts(
                gateway: gatewayPort,
                feedback: feedbackPort,
                device: devicePort,
                api: apiPort,
                control: control.port,
                channels: channelsPort
            )
            let interval = TimeAmount.nanoseconds(Int64(configuration.ledger.powerSavingInterval * 1e9))
            Upkeep(service: service).start(on: control.eventLoop, powerSavingInterval: interval)
            script?.start(on: control.eventLoop)
            return SandboxServer(
                ports: ports,
                providerThreads: providerThreads,
                control: control,
                courierThread: courierThread,
                recorder: recorder
            )
        } catch {
            try await providerThreads.shutdownGracefully()
            try await courierThread.shutdownGracefully()
            try await recorder?.stop()
            throw error
        }
    }

    /// Closes all ports and connections and ends the threads. Idempotent.
    public func stop() async throws {
        try await providerThreads.shutdownGracefully()
        try await control.stop()
        // The last, since the others call devices over it.
        try await courierThread.shutdownGracefully()
        try await recorder?.stop()
    }

    private static func check(_ configuration: SandboxConfiguration) throws(SandboxSetupError) {
        guard !configuration.topics.isEmpty, !configuration.topics.contains("") else {
            throw SandboxSetupError(subject: "topics", problem: "at least one bundle ID is expected")
        }
        guard Set(configuration.topics).count == configuration.topics.count else {
            throw SandboxSetupError(subject: "topics", problem: "one bundle ID is there twice")
        }
        guard configuration.topics.allSatisfy({ $0.utf8.count <= SandboxLimits.topicBytes }) else {
            let limit = SandboxLimits.topicBytes
            throw SandboxSetupError(subject: "topics", problem: "a bundle ID has more than \(limit) bytes")
        }
        let devices = SandboxLimits.devices
        guard devices.contains(configuration.devices) else {
            let expected = "\(devices.lowerBound) to \(devices.upperBound) are possible"
            throw SandboxSetupError(subject: "devices", problem: "\(configuration.devices), \(expected)")
        }
        guard configuration.threads > 0 else {
            throw SandboxSetupError(subject: "threads", problem: "\(configuration.threads), at least 1 is expected")
        }
        try configuration.ledger.check()
    }

    private static func secrets(
        _ configuration: SandboxConfiguration,
        _ logger: Logger
    ) throws(SandboxSetupError) -> (trust: ProviderTrust, tokenKey: [UInt8]) {
        let pki = DevelopmentPKI(
            directory: configuration.pkiDirectory,
            environments: configuration.environment.ofCertificates
        )
        do {
            let trust = try ProviderTrust(
                serverFile: pki.serverFile,
                authorityFile: pki.authorityFile,
                revocations: configuration.revocationFile.map { .required($0) } ?? .optional(pki.revocationFile),
                logger: logger
            )
            return (trust, try pki.tokenKey())
        } catch {
            throw SandboxSetupError(error, missingFrom: pki)
        }
    }

    /// The TLS context for handshakes under `refuse-certificates`.
    private static func refusingContext(_ pki: DevelopmentPKI) throws(SandboxSetupError) -> TLSContext {
        do {
            let identity = try TLSIdentity(pemFile: pki.serverFile)
            return try TLSContext(refusingServer: identity, clientTrust: .file(pki.authorityFile))
        } catch {
            throw SandboxSetupError(error, missingFrom: pki)
        }
    }

    /// - Returns: the port, which the system picked if it was 0.
    private static func bind(
        _ bootstrap: ServerBootstrap,
        _ host: String,
        _ port: Int,
        _ option: String
    ) async throws -> Int {
        do {
            let channel = try await bootstrap.bind(host: host, port: port).get()
            guard let bound = channel.localAddress?.port else {
                preconditionFailure("a listening TCP socket has a port")
            }
            return bound
        } catch {
            throw SandboxPortError(host: host, port: port, option: option, cause: error)
        }
    }

    private static func openControl(_ port: Int, _ service: PushService) async throws -> RunningPort {
        let host = "127.0.0.1"
        do {
            return try await RunningPort.open(host: host, port: port) { loop in
                PagePort.channel(ControlSite(service: service, hub: EventHub(service: service, loop: loop)), on: loop)
            }
        } catch {
            throw SandboxPortError(host: host, port: port, option: "control-port", cause: error)
        }
    }
}

/// A port cannot be had: it is taken, needs privileges, or the address is not this machine's.
public struct SandboxPortError: Error, CustomStringConvertible {
    /// The address that was asked for.
    public let host: String
    /// The port that was asked for.
    public let port: Int
    /// The option that names another port.
    public let option: String
    /// The system's word.
    public let cause: any Error

    /// The address, why, and what helps.
    public var description: String {
        guard let reason = listeningProblem(cause) else { return "cannot listen on \(host):\(port): \(cause)" }
        let code = (cause as? IOError)?.errnoCode
        let isAboutPort = code != nil && code != EADDRNOTAVAIL
        let remedy = isAboutPort ? "\(option) names another port" : "listen names another address"
        return "cannot listen on \(host):\(port): \(reason); --\(remedy)"
    }
}
