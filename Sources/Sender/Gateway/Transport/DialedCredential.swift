import ProviderCredentials
import TLSTransport

/// The credential with which connections of one owner are opened, as it is now.
///
/// Bound to one event loop.
final class DialedCredential {
    private let credential: AppCredential
    private let environment: String
    private let credentials: AppCredentials
    private var generation: UInt64
    private var known: UInt64

    init(_ credential: AppCredential, environment: String, of credentials: AppCredentials) {
        self.credential = credential
        self.environment = environment
        self.credentials = credentials
        generation = credentials.certificates.generation
        known = credentials.edition(of: credential, environment: environment)
    }

    /// The context of a connection that is opened now; nil: the credential is not there.
    var context: TLSContext? { credentials.context(of: credential, environment: environment) }

    /// See ``GatewayConnecting/edition``. Looked up only when any credential has changed.
    var edition: UInt64 {
        let generation = credentials.certificates.generation
        if generation != self.generation {
            self.generation = generation
            known = credentials.edition(of: credential, environment: environment)
        }
        return known
    }
}
