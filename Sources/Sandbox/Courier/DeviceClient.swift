import Logging
import NIOCore
import NIOPosix
import SocketErrors
import TLSTransport

/// A virtual device with a real connection to the courier: presents its tokens, or registers its apps, and reports
/// what arrives.
public struct DeviceClient: Sendable {
    /// An action before receiving.
    public enum Errand: Sendable {
        /// Nothing but present or register.
        case receive
        /// The apps get other tokens, as after a restore onto this device [13].
        case restore
        /// The apps get other tokens, as after the device was wiped [13].
        case wipe
        /// The apps are uninstalled; then it is done.
        case unregister
    }

    /// The device, the address of the service, and the errand.
    public struct Settings: Sendable {
        /// Holds `ca.pem`, and `device-<i>.pem` or `ca.key` to make it.
        public var pkiDirectory: String
        /// The courier's name or address, which its certificate has to be for.
        public var host = "127.0.0.1"
        /// The courier's.
        public var port: Int
        /// The virtual device's number, from 0.
        public var device: UInt32
        /// Bundle IDs, 1 to 255 bytes each.
        public var topics: [String]
        /// Presented instead of registering; 1 to 100 bytes.
        public var token: [UInt8]?
        /// The action before receiving.
        public var errand = Errand.receive
        /// Ends after so many notifications, 0 as soon as the tokens are known; `nil` = never.
        public var count: Int?

        /// Registers the topics and receives.
        public init(pkiDirectory: String, port: Int, device: UInt32, topics: [String]) {
            self.pkiDirectory = pkiDirectory
            self.port = port
            self.device = device
            self.topics = topics
        }
    }

    /// The service refused the device, and connecting again does not help.
    public struct Refusal: Error, CustomStringConvertible {
        /// In the service's words.
        public let description: String
    }

    private enum Attempt {
        case ended(DeviceClientSession.End)
        case lost(reason: String)
    }

    /// Runs until the count is reached or the task is cancelled; a lost connection is made again after a while.
    ///
    /// - Parameter report: called on a thread of its own, in order; while it runs nothing more is read.
    /// - Throws: ``SandboxSetupError`` when certificates cannot be read or made, ``Refusal``.
    public static func run(
        _ settings: Settings,
        logger: Logger,
        report: @escaping @Sendable (DeviceReport) -> Void
    ) async throws {
        for topic in settings.topics where !(1...SandboxLimits.topicBytes).contains(topic.utf8.count) {
            throw SandboxSetupError(subject: "topic", problem: "\(topic.utf8.count) bytes, 1 to 255 are expected")
        }
        if let token = settings.token, !(1...SandboxLimits.presentedTokenBytes).contains(token.count) {
            let problem = "\(token.count) bytes, 1 to \(SandboxLimits.presentedTokenBytes) are expected"
            throw SandboxSetupError(subject: "token", problem: problem)
        }
        let tls = try context(DevelopmentPKI(directory: settings.pkiDirectory), settings.device)
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let result: Result<Void, any Error>
        do {
            result = .success(try await run(settings, tls, group, logger, report))
        } catch {
            result = .failure(error)
        }
        try await group.shutdownGracefully()
        try result.get()
    }

    private static func run(
        _ settings: Settings,
        _ tls: TLSContext,
        _ group: MultiThreadedEventLoopGroup,
        _ logger: Logger,
        _ report: @escaping @Sendable (DeviceReport) -> Void
    ) async throws {
        var session = DeviceClientSession(settings: settings)
        while !Task.isCancelled {
            let attempt: Attempt
            (attempt, session) = await connect(session, tls, group, report)
            switch attempt {
            case .ended(.done): return
            case .ended(.refused(let reason)): throw Refusal(description: reason)
            case .lost(let reason):
                guard !Task.isCancelled else { return }
                let wait = session.disconnected(random: .random(in: 0..<1))
                logger.warning("not connected", metadata: ["reason": "\(reason)", "next attempt in": "\(wait)"])
                // Ends early when the task is cancelled.
                try? await Task.sleep(for: wait)
            }
        }
    }

    private static func connect(
        _ session: DeviceClientSession,
        _ tls: TLSContext,
        _ group: MultiThreadedEventLoopGroup,
        _ report: @escaping @Sendable (DeviceReport) -> Void
    ) async -> (Attempt, DeviceClientSession) {
        let settings = session.settings
        let ended = group.next().makePromise(of: DeviceClientHandler.Ending.self)
        do {
            let channel = try await ClientBootstrap(group: group)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        let pipeline = channel.pipeline.syncOperations
                        try pipeline.addHandler(TLSHandler(context: tls, serverName: settings.host))
                        try pipeline.addHandler(DeviceClientHandler(session: session, report: report, ended: ended))
                    }
                }
                .connect(host: settings.host, port: settings.port).get()
            let ending = try await withTaskCancellationHandler {
                try await ended.futureResult.get()
            } onCancel: {
                channel.close(promise: nil)
            }
            return (ending.end.map(Attempt.ended) ?? .lost(reason: ending.reason), ending.session)
        } catch {
            // The connection's handler never ran, so no other part completes the promise.
            ended.fail(error)
            return (.lost(reason: connectionProblem(error)), session)
        }
    }

    private static func context(_ pki: DevelopmentPKI, _ device: UInt32) throws(SandboxSetupError) -> TLSContext {
        do {
            return try TLSContext(client: try pki.deviceIdentity(device), trust: .file(pki.authorityFile))
        } catch {
            throw SandboxSetupError(error, missingFrom: pki)
        }
    }
}
