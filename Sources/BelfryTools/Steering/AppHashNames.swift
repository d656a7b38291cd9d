import BelfrySupport
import KafkaClient
import PipelineCore
import ProviderCredentials
import PushSchemas
import PushTopics

/// Names the topics in the commit metadata of one partition, as far as certificates and configuration tell of their
/// bundles.
struct AppHashNames: Equatable, Sendable {
    /// A bundle, and the environment as its records spell it; empty: they name none.
    struct Name: Equatable, Sendable {
        var bundleID: String
        var environment: String

        var text: String { environment.isEmpty ? bundleID : "\(bundleID) in \(environment)" }
    }

    private var names: [AppHash: Name] = [:]

    init(_ known: [Name], salt: AppSalt) {
        for name in known {
            names[AppHash(bundleID: name.bundleID, environment: name.environment, salt: salt)] = name
        }
    }

    /// Bundles of the certificates and of `apps`. A directory that cannot be read names none.
    static func known(_ configuration: BelfryConfiguration) -> [Name] {
        let directory = try? CertificateDirectory(path: configuration.certificates.directory)
        let certified = directory?.bundleIDs ?? []
        return ([""] + configuration.environments.map(\.name)).flatMap { environment in
            certified.union(configuration.apps.keys).map { Name(bundleID: $0, environment: environment) }
        }
    }

    subscript(hash: AppHash) -> Name? { names[hash] }

    func text(of hash: AppHash) -> String {
        switch hash {
        case .refused: "(records that become dead letters)"
        case .others: "(further bundles without a certificate)"
        default: names[hash]?.text ?? "(hash \(Self.hex(hash)))"
        }
    }

    /// Ten hexadecimal digits.
    static func hex(_ hash: AppHash) -> String {
        let digits = String(hash.value, radix: 16)
        return String(repeating: "0", count: max(0, 10 - digits.utf8.count)) + digits
    }
}

extension AppHashNames.Name {
    /// The bundle and environment of a record of requests; nil: its key names no bundle. A value that cannot be
    /// read names no environment.
    init?(_ message: KafkaMessageView) {
        guard let key = try? RecordKey(parsing: message.key) else { return nil }
        bundleID = key.bundleID
        let request = try? RequestDecoding.decode(PushSendRequest.self, from: message.value, as: message.contentType)
        environment = request?.environment ?? ""
    }
}
