import BelfrySupport
import PipelineCore
import ProviderCredentials
import PushTopics
import RequestLanes

/// The reason why a topic lags.
enum LagReason: Equatable, Sendable {
    /// An operator has paused the topic, or given it a pace.
    case lever(LeverLine)
    /// The configuration has neither a certificate nor a provider key for the topic.
    case credentialMissing(environment: String)
    /// Neither of them, as far as both are known: only the workers know more.
    case unknown(notLookedAt: [String])

    /// The reason's name in JSON.
    var name: String {
        switch self {
        case .lever(let line): line.lever == .pause ? "paused" : "paced"
        case .credentialMissing: "certificate-missing"
        case .unknown: "unknown"
        }
    }

    /// The reason in words, without the topic.
    var text: String {
        switch self {
        case .lever(let line):
            let since = line.setAt.map { " since \(UTCTimestamp.text(unixMilliseconds: $0))" } ?? ""
            let reason = line.reason.isEmpty ? "" : ": \(TerminalText.column(line.reason))"
            return "\(line.position) in \(line.name.environment)\(since)\(reason)"
        case .credentialMissing(let environment):
            return "this configuration has no certificate and no provider key for it in \(environment)"
        case .unknown(let others):
            let rest = others.isEmpty ? "" : "; not known here: \(others.joined(separator: ", "))"
            return "its gateway refuses or does not answer, or it catches up: see /status of the workers\(rest)"
        }
    }
}

/// Finds the reasons why topics lag, as far as push.controls and the configuration's credentials tell them. No worker
/// is asked.
struct LagReasons {
    /// Names of the configuration.
    private let environments: [String]
    /// The levers that are set; nil: push.controls cannot be read.
    private let levers: [LeverLine]?
    /// Nil: this machine has no credentials, and may not need any.
    private let hasCredential: ((_ bundleID: String, _ environment: String) -> Bool)?

    init(
        environments: [String],
        levers: [LeverLine]?,
        hasCredential: ((_ bundleID: String, _ environment: String) -> Bool)?
    ) {
        self.environments = environments
        self.levers = levers
        self.hasCredential = hasCredential
    }

    /// Reads push.controls and the credentials. Blocks.
    init(_ configuration: BelfryConfiguration) {
        var hasCredential: ((_ bundleID: String, _ environment: String) -> Bool)?
        if let credentials = Self.credentials(configuration) {
            hasCredential = { credentials.has(bundleID: $0, environment: $1) }
        }
        self.init(
            environments: configuration.environments.map(\.name),
            levers: (try? LeverCommands.read(configuration.kafka))?.lines,
            hasCredential: hasCredential
        )
    }

    /// The credentials by which workers with this configuration judge; nil: there are none, or they cannot be read.
    private static func credentials(_ configuration: BelfryConfiguration) -> AppCredentials? {
        guard let certificates = try? CertificateStore(configuration), let keys = try? ProviderKeyStore(configuration)
        else { return nil }
        let credentials = AppCredentials(configuration, certificates: certificates, keys: keys)
        do { try credentials.requireAny() } catch { return nil }
        return credentials
    }

    /// The reason why a topic lags in a lane, if it does. A pause counts before a missing credential, and that before a
    /// pace.
    func reason(of name: AppHashNames.Name, in lane: RequestLane) -> LagReason {
        let environment = environmentMeant(by: name)
        let set = levers?.filter {
            $0.name.bundleID == name.bundleID && (environment == nil || $0.name.environment == environment)
                && $0.holds(in: lane)
        }
        if let pause = set?.first(where: { $0.lever == .pause }) { return .lever(pause) }
        var notLookedAt = levers == nil ? ["levers"] : []
        if let hasCredential, let environment, environments.contains(environment) {
            guard hasCredential(name.bundleID, environment) else { return .credentialMissing(environment: environment) }
        } else {
            notLookedAt.append("credentials")
        }
        let paces = set?.filter { $0.lever == .pace } ?? []
        if let pace = paces.first(where: { $0.lane != nil }) ?? paces.first { return .lever(pace) }
        return .unknown(notLookedAt: notLookedAt)
    }

    /// The environment that a topic's records mean; nil: they name none, and the configuration has several or none.
    private func environmentMeant(by name: AppHashNames.Name) -> String? {
        guard name.environment.isEmpty else { return name.environment }
        return environments.count == 1 ? environments[0] : nil
    }
}
