import APNsProtocol
import BelfrySupport

/// The files of certificates, keys and roots that a configuration names, judged one by one.
package struct CredentialCheck: Sendable {
    /// A remark about one file, or about a directory.
    package struct Finding: Equatable, Sendable {
        /// The configuration's key that names the file, or the topic's that needs it.
        package let key: String
        /// The file and the reason.
        package let text: String
        /// False: it is good to know.
        package let isFault: Bool
    }

    /// Days before its end from which on a certificate is worth a word.
    private static let noticeDays: Int64 = 30

    /// In the order of the keys.
    package private(set) var findings: [Finding] = []

    /// Reads the files. Blocks.
    ///
    /// - Parameter now: UNIX seconds.
    package init(_ configuration: BelfryConfiguration, now: Int64) {
        for environment in configuration.environments { addTrust(of: environment) }
        let directory = addCertificates(of: configuration, now: now)
        let keys = addKeys(of: configuration)
        for (bundleID, topic) in configuration.apps.sorted(by: { $0.key < $1.key }) {
            addMissingKey(of: bundleID, topic, configuration.keys, keys)
        }
        for environment in configuration.environments {
            let hasCertificate = [false, true].contains { isVoIP in
                directory.map { !$0.bundleIDs(in: environment, isVoIP: isVoIP).isEmpty } ?? false
            }
            let hasKey = environment.transport == .http2 && !(keys ?? []).isEmpty
            guard !hasCertificate, !hasKey else { continue }
            add(
                "environments.\(environment.name)",
                "neither a certificate in \(configuration.certificates.directory) nor a provider key is for it"
            )
        }
    }

    private mutating func add(_ key: String, _ text: String, isFault: Bool = true) {
        findings.append(Finding(key: key, text: text, isFault: isFault))
    }

    private mutating func addTrust(of environment: EnvironmentSettings) {
        do throws(CertificateDirectoryError) {
            _ = try GatewayTrust(environment)
        } catch {
            let name = error.file == environment.revocationFile ? "gateway-crl" : "trust"
            add("environments.\(environment.name).\(name)", error.description)
        }
    }

    /// Returns the directory, or nil if it cannot be read.
    private mutating func addCertificates(of configuration: BelfryConfiguration, now: Int64) -> CertificateDirectory? {
        let key = "certificates.directory"
        do throws(CertificateDirectoryError) {
            let directory = try CertificateDirectory(configuration.certificates)
            for finding in CertificateCheck(directory, now: now).findings {
                if case .notUsable(let reason) = finding.verdict {
                    add(key, "\(finding.file): \(reason)")
                } else if let certificate = finding.certificate, certificate.daysLeft <= Self.noticeDays {
                    let days = counted(certificate.daysLeft, "day")
                    add(key, "\(finding.file): \(certificate.topic) ends in \(days)", isFault: false)
                }
            }
            for file in directory.exposed { add(key, "\(file): \(ExposedFile.remark)", isFault: false) }
            for file in directory.unused where file.kind == .spare {
                add(key, "\(file.file): \(file.reason)", isFault: false)
            }
            return directory
        } catch {
            add(key, error.description)
            return nil
        }
    }

    /// Returns the keys that can be used, or nil if the directory cannot be read.
    private mutating func addKeys(of configuration: BelfryConfiguration) -> [ProviderKeyID]? {
        guard let path = configuration.keys.directory else { return [] }
        let key = "keys.directory"
        do throws(ProviderKeyError) {
            let directory = try ProviderKeyDirectory(path: path, team: configuration.keys.team)
            for fault in directory.faults { add(key, fault.description) }
            for file in directory.exposed { add(key, "\(file): \(ExposedFile.remark)", isFault: false) }
            if directory.entries.isEmpty { add(key, "\(path): holds no provider key that can be used") }
            return directory.entries.map(\.id)
        } catch {
            add(key, error.description)
            return nil
        }
    }

    /// - Parameter keys: nil: they could not be read, which is told already.
    private mutating func addMissingKey(
        of bundleID: String,
        _ topic: AppOverrides,
        _ settings: KeySettings,
        _ keys: [ProviderKeyID]?
    ) {
        guard let keys, let team = topic.team ?? (topic.key == nil ? nil : settings.team) else { return }
        if let key = topic.key {
            guard !keys.contains(where: { $0.team == team && $0.key == key }) else { return }
            add("apps.\(bundleID).key", "there is no usable key \(key) of team \(team) in keys.directory")
        } else if !keys.contains(where: { $0.team == team }) {
            add("apps.\(bundleID).team", "there is no usable key of team \(team) in keys.directory")
        }
    }
}
