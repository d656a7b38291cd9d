import BelfrySupport
import Logging

extension AppCredentials {
    /// Runs `body` and reads certificates and keys again at intervals meanwhile, on a thread for blocking work.
    package func readingAgain(logger: Logger, while body: () async throws -> Void) async rethrows {
        try await certificates.readingAgain(logger: logger) {
            try await keys.readingAgain(logger: logger, while: body)
        }
    }
}

extension Logger {
    /// Says what was wrong with the files at the start.
    package func reportFaults(of credentials: AppCredentials) {
        for fault in credentials.certificates.faults { report(fault) }
        report(unused: credentials.certificates.unused)
        report(exposedCertificates: credentials.certificates.exposed)
        for fault in credentials.keys.faults { report(fault) }
        report(exposedKeys: credentials.keys.exposed)
    }

    /// Says which credentials the environments have at the start.
    package func report(_ credentials: AppCredentials, in environments: [EnvironmentSettings]) {
        let (certificates, keys) = (credentials.certificates, credentials.keys)
        if keys.path != nil { info("provider keys loaded", metadata: ["keys": "\(keys.ids.text)"]) }
        for environment in environments {
            let bundles = certificates.certificates.filter { $0.environment == environment.name }.map(\.bundleID)
            info(
                "certificates loaded",
                metadata: ["environment": "\(environment.name)", "apps": "\(bundles.joined(separator: ","))"]
            )
            guard bundles.isEmpty, !credentials.hasKeys(environment: environment.name) else { continue }
            warning(
                "no certificate for this environment",
                metadata: ["environment": "\(environment.name)", "directory": "\(certificates.path)"]
            )
        }
    }
}
