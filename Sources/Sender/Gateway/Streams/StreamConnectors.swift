import APNsProtocol
import ProviderCredentials

/// The source of a shard's connections over HTTP/2, and of the credentials with which they are opened.
protocol StreamConnectors: AnyObject {
    /// The credential with which connections for a push type of the bundle are opened now; nil: none may send it.
    func credential(environment: String, bundleID: String, for pushType: PushType) -> AppCredential?
    /// A connector for the connections with one credential.
    ///
    /// - Parameter turn: spreads credentials over the gateways.
    func streamConnector(environment: String, credential: AppCredential, turn: Int) -> any StreamConnecting
    /// The tokens of credentials that are keys; nil: no credential is one.
    var providerTokens: ProviderTokens? { get }
}

extension StreamConnectors {
    /// The push types that no credential of the bundle may send. Without any credential there are none: all waits.
    func unsendable(environment: String, bundleID: String) -> [PushType] {
        let unsendable = PushType.allCases.filter {
            credential(environment: environment, bundleID: bundleID, for: $0) == nil
        }
        return unsendable.count < PushType.allCases.count ? unsendable : []
    }
}
