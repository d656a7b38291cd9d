import BelfrySupport
import ProviderCredentials

/// A bundle that the configuration gives no worker a right to send for: its ID may be spelled wrong.
public enum BundleDoubt {
    /// A line for standard error; nil: there is no doubt. The certificates' directory is read.
    public static func text(of bundleID: String, _ configuration: BelfryConfiguration) -> String? {
        let directory = try? CertificateDirectory(path: configuration.certificates.directory)
        let certified = directory?.bundleIDs ?? []
        return text(of: bundleID, configuration, certified: certified)
    }

    /// Provider keys serve any bundle, and where there are no certificates nothing is known of bundles at all.
    ///
    /// - Parameter certified: the bundles that there are certificates for.
    static func text(
        of bundleID: String,
        _ configuration: BelfryConfiguration,
        certified: Set<String>
    ) -> String? {
        guard configuration.keys.directory == nil, configuration.apps[bundleID] == nil, !certified.isEmpty,
            !certified.contains(bundleID)
        else { return nil }
        return "no certificate is for \(bundleID), and no entry under apps; look at the spelling"
    }
}
