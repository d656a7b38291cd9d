import APNsProtocol
import BelfrySupport
import TLSTransport

/// A topic's proof of its right to send, towards its gateway. Connections are kept apart by it.
package enum AppCredential: Hashable, Sendable {
    /// The client certificate of the bundle.
    case certificate(bundleID: String)
    /// The bundle's certificate of VoIP Services, for pushes of that type alone.
    case voipCertificate(bundleID: String)
    /// Provider tokens that the key signs.
    case key(ProviderKeyID)
}

/// The credentials of all topics as they are now: certificates and provider keys together.
///
/// | environment | credential for a push type of a bundle: the first that is there and may send it |
/// |---|---|
/// | binary | its certificate, for all push types |
/// | HTTP/2, `apps.<bundle>.team` or `.key` set | that key, nothing else |
/// | HTTP/2 | its certificate; the one of VoIP Services; the default key of `keys.team` |
///
/// A certificate comes first because it is known to be the bundle's; a default key is taken for the bundle of any team.
///
/// Any thread may ask.
package struct AppCredentials: Sendable {
    package let certificates: CertificateStore
    package let keys: ProviderKeyStore
    /// Names of the environments with HTTP/2.
    private let withHTTP2: Set<String>

    package init(_ configuration: BelfryConfiguration, certificates: CertificateStore, keys: ProviderKeyStore) {
        self.certificates = certificates
        self.keys = keys
        withHTTP2 = Set(configuration.environments.filter { $0.transport == .http2 }.map(\.name))
    }

    /// Rises whenever a topic may have another credential than before, or one more, or none. Cheap to ask.
    package var generation: UInt64 { certificates.generation + keys.generation }

    /// The credential with which a push type is sent; nil: none may send it.
    ///
    /// - Parameter pushType: what is for the app itself, like broadcasts and their channels, counts as an alert.
    package func credential(
        bundleID: String,
        environment: String,
        for pushType: PushType = .alert
    ) -> AppCredential? {
        guard withHTTP2.contains(environment) else {
            let isThere = certificates.has(bundleID: bundleID, environment: environment)
            return isThere ? .certificate(bundleID: bundleID) : nil
        }
        var key: AppCredential? { keys.keyID(bundleID: bundleID).map { .key($0) } }
        if keys.isNamed(bundleID: bundleID) { return key }
        func isCovered(isVoIP: Bool) -> Bool {
            certificates.covers(pushType, bundleID: bundleID, environment: environment, isVoIP: isVoIP)
        }
        if isCovered(isVoIP: false) { return .certificate(bundleID: bundleID) }
        return isCovered(isVoIP: true) ? .voipCertificate(bundleID: bundleID) : key
    }

    /// The topic has a credential, be it for some push types alone.
    package func has(bundleID: String, environment: String) -> Bool {
        // A certificate covers alerts or VoIP pushes, a key both.
        [PushType.alert, .voip].contains { credential(bundleID: bundleID, environment: environment, for: $0) != nil }
    }

    /// The context of connections to come with a credential; nil: it is not there, or not for this environment.
    package func context(of credential: AppCredential, environment: String) -> TLSContext? {
        switch credential {
        case .certificate(let bundleID): certificates.context(bundleID: bundleID, environment: environment)
        case .voipCertificate(let bundleID):
            certificates.context(bundleID: bundleID, environment: environment, isVoIP: true)
        case .key: certificates.contextWithoutCertificate(environment: environment)
        }
    }

    /// Rises whenever the context of connections to come with a credential is another one; 0: there was never one.
    package func edition(of credential: AppCredential, environment: String) -> UInt64 {
        switch credential {
        case .certificate(let bundleID): certificates.edition(bundleID: bundleID, environment: environment)
        case .voipCertificate(let bundleID):
            certificates.edition(bundleID: bundleID, environment: environment, isVoIP: true)
        case .key: certificates.editionWithoutCertificate(environment: environment)
        }
    }

    /// The environment takes provider tokens, and there is a key.
    package func hasKeys(environment: String) -> Bool { withHTTP2.contains(environment) && !keys.ids.isEmpty }

    /// Refuses a start without any credential, which leaves a worker nothing to do.
    ///
    /// - Throws: an error (exit code 78) that names directories and what to do.
    package func requireAny() throws {
        guard withHTTP2.isEmpty || keys.ids.isEmpty else { return }
        do throws(CertificateDirectoryError) {
            try certificates.requireCertificate()
        } catch {
            guard !withHTTP2.isEmpty, let path = keys.path else { throw error }
            let fault = keys.faults.first.map { "; the first fault is \($0)" } ?? ""
            throw ProviderKeyError(
                file: path,
                reason: "the directory holds no provider key that can be used: put AuthKey_<key ID>.p8 there, and set "
                    + "keys.team\(fault); or else a certificate is needed, and \(error)"
            )
        }
    }
}
