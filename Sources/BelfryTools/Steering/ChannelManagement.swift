import APNsProtocol
import BelfrySupport
import Foundation
import NIOCore
import NIOPosix
import PipelineCore
import ProviderCredentials
import SocketErrors
import TLSTransport

/// Carries out `belfry channels`: one request to the management of channels, with the credential that a worker would
/// use for the bundle. Says on standard error what it waits for.
public enum ChannelManagement {
    /// For connecting, and for the answer.
    private static let patience = TimeAmount.seconds(30)

    /// - Throws: `ToolError`, also when there is no credential or the service cannot be reached; errors of the
    ///   directories of certificates and keys.
    public static func carryOut(
        _ order: ChannelOrder,
        bundleID: String,
        environment: EnvironmentSettings,
        _ configuration: BelfryConfiguration
    ) async throws -> ChannelReport {
        try order.checked()
        let faults = PublishOrder.faults(bundleID: bundleID, spread: 1)
        guard faults.isEmpty else { throw ToolError.invalidInput(faults) }
        guard environment.transport == .http2 else {
            throw ToolError.configuration("environments.\(environment.name).transport is binary; channels need http2")
        }
        guard let host = environment.channelsHost else {
            throw ToolError.configuration(
                "environments.\(environment.name).channels is missing: the host:port that manages channels"
            )
        }
        let credentials = AppCredentials(
            configuration,
            certificates: try CertificateStore(configuration),
            keys: try ProviderKeyStore(configuration)
        )
        guard let credential = credentials.credential(bundleID: bundleID, environment: environment.name),
            let tls = credentials.context(of: credential, environment: environment.name)
        else {
            throw ToolError.notFound("\(bundleID) has neither a certificate nor a provider key in \(environment.name)")
        }
        let message = order.message(
            bundleID: bundleID,
            authority: host.description,
            authorization: try authorization(of: credential, credentials.keys)
        )
        let notice = WaitNotice("the management of channels at \(host)")
        defer { notice.end() }
        return try order.report(try await send(message, to: host, through: environment, tls))
    }

    private static func authorization(
        of credential: AppCredential,
        _ keys: ProviderKeyStore
    ) throws(ToolError) -> String? {
        guard case .key(let key) = credential else { return nil }
        let now = MonotonicTime(NIODeadline.now())
        let unixSeconds = Int64(Date().timeIntervalSince1970)
        switch ProviderTokens(keys: keys).authorization(key, now: now, unixSeconds: unixSeconds) {
        case .use(let authorization): return String(decoding: authorization.value, as: UTF8.self)
        case .wait, .keyMissing: throw .notFound("there is no provider key \(key.key) of team \(key.team)")
        case .failed(let reason): throw .refused("the provider key \(key.key) cannot sign: \(reason)")
        }
    }

    /// Sends a request on a connection of its own, through the proxy of the environment if it has one.
    static func send(
        _ message: LoneRequest.Message,
        to host: HostPort,
        through environment: EnvironmentSettings,
        _ tls: TLSContext
    ) async throws -> LoneRequest.Answer {
        let group = MultiThreadedEventLoopGroup.singleton
        let eventLoop = group.next()
        let answered = eventLoop.makePromise(of: LoneRequest.Answer.self)
        let deadline = eventLoop.scheduleTask(in: patience) {
            answered.fail(LoneRequest.Unanswered(reason: "no answer within \(patience.nanoseconds / 1_000_000_000) s"))
        }
        defer { deadline.cancel() }
        let connected = LoneConnection.open(
            to: host,
            through: environment.proxy,
            tls,
            patience: patience,
            staysHalfOpen: true,
            on: eventLoop
        ) { LoneRequest(message, answered: answered) }
        connected.whenFailure { answered.fail($0) }
        do {
            let answer = try await answered.futureResult.get()
            try? await connected.get().close()
            return answer
        } catch {
            connected.whenSuccess { $0.close(promise: nil) }
            let problem = connectionProblem(error)
            guard (error as? ProxyFailure)?.isLoginRefused != true else {
                throw ToolError.configuration("environments.\(environment.name).proxy: \(problem)")
            }
            throw ToolError.refused("\(host): \(problem)")
        }
    }
}
