import ProviderCredentials

/// The source of a shard's connections over HTTP/2, and of the credentials with which they are opened.
protocol StreamConnectors: AnyObject {
    /// The credential with which connections for the bundle are opened now; nil: there is none.
    func credential(environment: String, bundleID: String) -> AppCredential?
    /// A connector for the connections with one credential.
    ///
    /// - Parameter turn: spreads credentials over the gateways.
    func streamConnector(environment: String, credential: AppCredential, turn: Int) -> any StreamConnecting
    /// The tokens of credentials that are keys; nil: no credential is one.
    var providerTokens: ProviderTokens? { get }
}
