import BelfrySupport
import PipelineCore
import ProviderCredentials

/// Names the topics in commit metadata, as far as certificates and configuration tell of their bundles.
struct TopicHashNames: Equatable, Sendable {
    /// A bundle, and the environment as its records spell it; empty: they name none.
    struct Name: Equatable, Sendable {
        var bundleID: String
        var environment: String

        var text: String { environment.isEmpty ? bundleID : "\(bundleID) in \(environment)" }
    }

    private var names: [TopicHash: Name] = [:]

    init(bundleIDs: [String], environments: [String]) {
        for environment in [""] + environments {
            for bundleID in bundleIDs {
                let hash = TopicHash(bundleID: bundleID, environment: environment)
                names[hash] = Name(bundleID: bundleID, environment: environment)
            }
        }
    }

    /// Bundles of the certificates and of `topics`. A directory that cannot be read names none.
    init(_ configuration: BelfryConfiguration) {
        let directory = try? CertificateDirectory(path: configuration.certificates.directory)
        let certified = directory?.entries.compactMap(\.identity.certificate.topic) ?? []
        self.init(
            bundleIDs: certified + configuration.topics.keys,
            environments: configuration.environments.map(\.name)
        )
    }

    /// A topic that an operator typed need not be configured.
    mutating func add(_ name: Name) {
        names[TopicHash(bundleID: name.bundleID, environment: name.environment)] = name
    }

    subscript(hash: TopicHash) -> Name? { names[hash] }

    func text(of hash: TopicHash) -> String {
        switch hash {
        case .refused: "(records that become dead letters)"
        case .others: "(further bundles without a certificate)"
        default: names[hash]?.text ?? "(hash \(Self.hex(hash)))"
        }
    }

    /// Ten hexadecimal digits.
    static func hex(_ hash: TopicHash) -> String {
        let digits = String(hash.value, radix: 16)
        return String(repeating: "0", count: max(0, 10 - digits.utf8.count)) + digits
    }
}
