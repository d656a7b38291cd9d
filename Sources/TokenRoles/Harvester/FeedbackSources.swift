import BelfrySupport
import Logging
import ProviderCredentials

/// The feedback lists to read: one for each bundle with a certificate in an environment that has a feedback service.
///
/// Certificates, roots and revocations are read again while a harvester runs. Any thread may ask.
struct FeedbackSources: Sendable {
    private let certificates: CertificateStore
    private let environments: [EnvironmentSettings]

    /// - Throws: `CertificateDirectoryError` that names the directory, or the file of roots or revocations.
    init(_ configuration: BelfryConfiguration) throws(CertificateDirectoryError) {
        try self.init(CertificateDirectory(configuration.certificates), configuration.environments)
    }

    init(_ directory: CertificateDirectory, _ all: [EnvironmentSettings]) throws(CertificateDirectoryError) {
        environments = all.filter { $0.feedback != nil }.map { environment in
            // The feedback service speaks no HTTP/2, whatever the gateway does: only its own terms are taken over.
            var service = EnvironmentSettings(name: environment.name, gateways: [], transport: .binary)
            service.feedback = environment.feedback
            service.proxy = environment.proxy
            service.trustFile = environment.trustFile
            service.revocationFile = environment.revocationFile
            service.minimumTLS = environment.minimumTLS
            return service
        }
        certificates = try CertificateStore(directory, environments: environments)
    }

    /// Rises whenever there may be another list.
    var generation: UInt64 { certificates.generation }

    /// The lists as of now, by environment and bundle. A list that was there once stays.
    func lists() -> [FeedbackConnection.Source] {
        environments.flatMap { environment in
            certificates.contexts(environment: environment.name).sorted { $0.key < $1.key }.compactMap { bundle in
                guard let address = environment.feedback else { return nil }
                return FeedbackConnection.Source(
                    environment: environment.name,
                    bundleID: bundle.key,
                    address: address,
                    proxy: environment.proxy,
                    tls: { [certificates] in
                        certificates.context(bundleID: bundle.key, environment: environment.name) ?? bundle.value
                    }
                )
            }
        }
    }

    /// Says what of the directory cannot be used.
    func report(to logger: Logger) {
        for fault in certificates.faults { logger.report(fault) }
        logger.report(unused: certificates.unused)
        logger.report(exposedCertificates: certificates.exposed)
    }

    /// Reads the files again. Blocks.
    func reload() { certificates.reload() }

    /// Runs `body`, and reads the files again at intervals meanwhile.
    func readingAgain(logger: Logger, while body: () async throws -> Void) async rethrows {
        try await certificates.readingAgain(logger: logger, while: body)
    }
}
